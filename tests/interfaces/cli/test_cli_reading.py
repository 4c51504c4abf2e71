"""recall, get, list, recalls and stats."""

from pathlib import Path

import pytest

from support.command_line import CommandLine, short
from support.service import Service


def kept(cli: CommandLine, me: str, text: str, *options: str) -> str:
    return cli.json("remember", text, "--agent", me, *options)["memory"]["id"]


def test_recalling_shows_the_best_first_with_its_id(cli: CommandLine, me: str) -> None:
    kept(cli, me, "Kumquats are stored in the pantry.")
    wanted = kept(cli, me, "The kumquat order is due on Friday, says the kumquat calendar.")
    result = cli("recall", "when", "is", "the", "kumquat", "order", "due", "--agent", me)
    assert result.code == 0
    assert result.out.startswith("1. ")
    assert short(wanted) in result.out.partition("\n2. ")[0]


def test_the_retrieval_mode_is_printed_on_stderr(cli: CommandLine, me: str) -> None:
    kept(cli, me, "Tamarind is sour.")
    result = cli("recall", "tamarind", "--agent", me)
    assert result.err.startswith("1 memory found by keywords only: no embedding model is configured.")
    assert "keywords only" not in result.out


def test_each_hit_has_one_snippet_on_one_line(cli: CommandLine, me: str) -> None:
    kept(cli, me, "alpha\nbeta " * 200, "--name", "Zwieback")
    lines = cli("recall", "Zwieback beta", "--agent", me).out.splitlines()
    assert [line[:3] for line in lines] == ["1. ", "   ", "   "]
    assert len(lines[1]) <= 203


def test_the_headings_of_a_snippet_are_shown_before_it(cli: CommandLine, me: str) -> None:
    text = "# Pantry\n\n" + "Kumquats are yellow. " * 100 + "\n\n## Loquats\n\n" + "Loquats ripen in May. " * 100
    cli.json("remember", "-", "--name", "Fruit", "--agent", me, stdin=text.encode())
    lines = cli("recall", "loquats in May", "--all", "--agent", me).out.splitlines()
    assert lines[1] == "   # Pantry > ## Loquats"
    assert lines[2].startswith("   Loquats ripen in May.")


def test_a_search_of_all_projects_prefers_that_of_the_current_folder(cli: CommandLine, me: str) -> None:
    for project in ("here", "elsewhere"):
        kept(cli, me, f"Rambutan, {project}.", "--project", project)
    git = Path.cwd() / ".git"
    git.mkdir()
    for project in ("here", "elsewhere"):
        (git / "config").write_text(f'[remote "origin"]\n\turl = {project}\n')
        hits = cli.json("recall", "rambutan", "--project", "*", "--agent", me)["results"]
        assert len(hits) == 2
        assert (hits[0]["memory"]["project"], hits[0]["score"]["prior"], hits[1]["score"]["prior"]) == (
            project,
            0,
            -0.3,
        )


def test_the_json_of_a_recall_is_the_response_of_the_service(cli: CommandLine, me: str, service: Service) -> None:
    kept(cli, me, "Quinces ripen in October.")
    body = {"query": "quinces", "limit": 3, "now": "2100-01-01T00:00:00Z"}
    printed = cli.json("recall", "quinces", "--limit", "3", "--agent", me)
    answer = service.client(service.operator_key, me).call("POST", "/api/memory/search", body=body)
    assert printed.pop("recallId") != answer.pop("recallId")
    for hit in (*printed["results"], *answer["results"]):
        hit["score"] = None  # It ages.
    assert printed == answer


def test_the_recall_log_shows_queries_hits_and_scores(cli: CommandLine, me: str) -> None:
    memory = kept(cli, me, "Damsons make good jam.")
    asked = cli.json("recall", "damsons jam", "--agent", me)
    cli("recall", "salsify", "--only-fitting", "--agent", me)
    question, how, hit = cli("recalls", "--memory", memory, "--agent", me).out.splitlines()
    assert question == "damsons jam"
    assert how.split()[-5:] == ["keywords", "1", "of", "1", short(asked["recallId"])]
    assert hit.split()[:3] == ["1.", f"{asked['results'][0]['score']['total']:.2f}", short(memory)]
    assert "keyword" in hit
    assert [one["query"] for one in cli.json("recalls", "--agent", me)["recalls"]] == ["salsify", "damsons jam"]


def test_the_log_says_if_it_is_empty_or_continues(cli: CommandLine, me: str) -> None:
    assert cli("recalls", "--agent", me).err == "The log has no searches that you may see.\n"
    for word in ("rowan", "sloe"):
        cli("recall", word, "--agent", me)
    first = cli.json("recalls", "-n", "1", "--agent", me)
    assert "There are more" in cli("recalls", "-n", "1", "--agent", me).err
    (rest,) = cli.json("recalls", "--after", first["next"], "--agent", me)["recalls"]
    assert rest["query"] == "rowan"
    assert cli.json("recalls", "--owner", "nobody", "--agent", me)["recalls"] == []


def test_explaining_shows_every_part_of_every_score(cli: CommandLine, me: str) -> None:
    for number in range(2):
        kept(cli, me, f"Medlar number {number}.")
    evidence, scores = cli("recall", "medlar", "--explain", "--agent", me).out.split("\n\n")[1:]
    assert evidence.splitlines()[0].split() == ["cosine", "covered", "identifier", "read"]
    assert [len(row.split()) for row in evidence.splitlines()[1:]] == [3, 3]  # No vectors, and not read.
    table = scores.splitlines()
    assert table[0].split() == [
        *("keyword", "vector", "similarity", "prior", "recency", "access", "update"),
        *("confidence", "usefulness", "total"),
    ]
    assert [len(row.split()) for row in table[1:]] == [11, 11]


def test_only_fitting_without_a_match_shows_nothing(cli: CommandLine, me: str) -> None:
    kept(cli, me, "Loquats are peeled before they are eaten.")
    assert cli("recall", "loquats of the royal court of Siam", "--all", "--agent", me).out
    result = cli("recall", "loquats of the royal court of Siam", "--only-fitting", "--agent", me)
    assert (result.code, result.out) == (0, "")
    assert result.err.startswith("Nothing fits well enough.")
    assert cli.json("recall", "loquats peeled", "--only-fitting", "--agent", me)["fits"] is True


def test_similar_hits_are_shown_once_with_a_count(cli: CommandLine, me: str) -> None:
    for name in ("one", "two", "three"):
        kept(cli, me, "Rambutans have hair.", "--name", name)
    result = cli("recall", "rambutans hair", "--agent", me)
    assert result.out.startswith("1. ")
    assert "\n2. " not in result.out
    assert "  and 2 similar\n" in result.out


def test_a_budget_and_diversity_reach_the_service(cli: CommandLine, me: str) -> None:
    for number in range(6):
        kept(
            cli, me, f"Sapodilla {number} " + "grows slowly in the garden of the old house. " * 5, "--name", str(number)
        )
    found = cli.json("recall", "sapodilla", "--budget", "100", "--diversity", "0.5", "--agent", me)["results"]
    assert 1 <= len(found) < 6


def test_a_limit_is_respected(cli: CommandLine, me: str) -> None:
    for number in range(4):
        kept(cli, me, f"Persimmon number {number}.")
    assert len(cli.json("recall", "persimmon", "-n", "3", "--agent", me)["results"]) == 3


def test_a_project_narrows_and_a_star_widens(cli: CommandLine, me: str) -> None:
    for project in ("shop", "blog"):
        kept(cli, me, f"Durian, in the {project}.", "--project", project)
    assert len(cli.json("recall", "durian", "--project", "shop", "--agent", me)["results"]) == 1
    assert len(cli.json("recall", "durian", "--project", "*", "--agent", me)["results"]) == 2
    assert len(cli.json("list", "--project", "blog", "--scope", "agent", "--agent", me)["memories"]) == 1


def test_a_recall_can_be_narrowed(cli: CommandLine, service: Service, me: str) -> None:
    drafts = [
        {"content": "Soursop one.", "createdAt": "2026-01-30T23:59:00Z", "tags": ["x"]},
        {"content": "Soursop two.", "createdAt": "2026-01-31T23:59:00Z", "category": "fix", "source": "file_index"},
    ]
    client = service.client(service.operator_key, me)
    done = client.call("POST", "/api/memory/batch", body={"memories": drafts})["results"]
    first, second = ({one["memory"]["id"]} for one in done)

    def found(*words: str) -> set[str]:
        hits = cli.json("recall", "soursop", *words, "--scope", "agent", "--agent", me)["results"]
        return {hit["memory"]["id"] for hit in hits}

    assert found("--tag", "x") == found("--until", "2026-01-31") == first
    assert found("--category", "fix") == found("--source", "file_index") == found("--since", "2026-01-31") == second
    assert found("--since", "2026-01-30T23:59Z", "--until", "2026-01-31T23:59Z") == first
    assert found("--since", "1h") == found("--tag", "x", "--category", "fix") == set()


def test_a_query_is_read_from_stdin(cli: CommandLine, me: str) -> None:
    kept(cli, me, "Розы цветут летом.")
    found = cli.json("recall", "-", "--agent", me, stdin="когда цветут розы?\n".encode())
    assert [hit["memory"]["content"] for hit in found["results"]] == ["Розы цветут летом."]


@pytest.mark.parametrize(
    ("words", "stdin", "reason"),
    [
        ((), b"", "Say what you want to know"),
        ((" ",), b"", "query"),
        (("",), b"", "query"),
        (("x", "--limit", "0"), b"", "limit"),
        (("x", "--limit", "51"), b"", "limit"),
        (("x", "--limit", "many"), b"", "--limit"),
        (("x", "--budget", "49"), b"", "budget"),
        (("x", "--diversity", "1.5"), b"", "diversity"),
        (("x", "--diversity", "nan"), b"", "diversity"),
        (("x", "--diversity", "much"), b"", "--diversity"),
        (("x", "--scope", "mine"), b"", 'Choose from: "all", "agent", "swarm"'),
        (("x", "--source", "dream"), b"", "--source"),
        (("x", "--since", "soon"), b"", "Invalid time 'soon'"),
        (("x", "--since", "1h", "--until", "2h"), b"", "(--until) must be later"),
        (("x", "--tag", "a\0"), b"", "NUL"),
        (("-",), b"a\0b", "NUL"),
        (("-",), b"x" * 5_000_000, "at most 100,000"),
        (("lone \udc80",), b"", "not valid Unicode"),
    ],
)
def test_an_invalid_query_is_refused(
    cli: CommandLine, me: str, words: tuple[str, ...], stdin: bytes, reason: str
) -> None:
    result = cli("recall", *words, "--agent", me, stdin=stdin)
    assert (result.code, result.out) == (2, "")
    assert reason in result.err, result.err
    assert result.err.count("\n") == 1


def test_getting_shows_the_whole_memory(cli: CommandLine, me: str) -> None:
    memory = kept(cli, me, "First line.\n\nLast line.", "--name", "Lines", "--tag", "a", "--tag", "b")
    shown = cli("get", memory, "--agent", me).out
    assert shown.startswith("Lines\n")
    assert shown.endswith("\nFirst line.\n\nLast line.\n")
    assert "tags          a, b\n" in shown
    assert f"id            {memory}\n" in shown


def test_getting_shows_an_expired_memory(cli: CommandLine, service: Service, me: str) -> None:
    memory = service.remember_expired(me, "Long gone.")
    assert cli.json("recall", "gone", "--scope", "agent", "--agent", me)["results"] == []
    assert cli.json("get", memory, "--agent", me)["content"] == "Long gone."


def test_chunks_are_shown_in_order_with_their_headings(cli: CommandLine, me: str) -> None:
    text = "# Guide\n\n## Setup\n\n" + "Install it. " * 150 + "\n\n## Use\n\n" + "Call it. " * 200
    memory = cli.json("remember", "-", "--agent", me, stdin=text.encode())["memory"]["id"]
    chunks = cli.json("get", memory, "--chunks", "--agent", me)["chunks"]
    assert len(chunks) > 1
    shown = cli("get", memory, "--chunks", "--agent", me).out
    assert [f"[{number}/{len(chunks)}]" in shown for number in (1, len(chunks))] == [True, True]
    assert "# Guide > ## Use" in shown


def test_chunks_are_those_of_the_current_version(cli: CommandLine, me: str) -> None:
    result = cli("get", "x", "--chunks", "--as-of", "7d", "--agent", me)
    assert (result.code, "Choose one" in result.err) == (2, True)


def test_a_list_is_newest_first_and_says_if_it_continues(cli: CommandLine, me: str) -> None:
    memories = [kept(cli, me, f"Fig {number}.") for number in range(4)]
    result = cli("list", "--limit", "3", "--scope", "agent", "--agent", me)
    assert [line.split()[0] for line in result.out.splitlines()] == ["id", *map(short, reversed(memories[1:]))]
    assert result.err == "There are more: --all shows them.\n"


def test_a_list_continues_after_a_page(cli: CommandLine, me: str) -> None:
    memories = [kept(cli, me, f"Date {number}.") for number in range(5)]
    first = cli.json("list", "--limit", "3", "--scope", "agent", "--agent", me)
    rest = cli.json("list", "--after", first["next"], "--scope", "agent", "--agent", me)
    listed = [one["id"] for one in (*first["memories"], *rest["memories"])]
    assert (listed, rest["next"]) == (list(reversed(memories)), None)


def test_all_pages_can_be_listed_at_once(cli: CommandLine, me: str, service: Service) -> None:
    body = {"memories": [{"content": f"Olive {number}"} for number in range(700)]}
    service.client(service.operator_key, me).call("POST", "/api/memory/batch", body=body)
    page = cli.json("list", "--all", "--scope", "agent", "--agent", me)
    assert (len(page["memories"]), page["next"]) == (700, None)


def test_a_list_can_be_filtered(cli: CommandLine, service: Service, me: str) -> None:
    old = service.remember_expired(me, "Old.", tags=["x"])
    new = kept(cli, me, "New.", "--category", "fix", "--session", "s", "--source", "task_completion")

    def listed(*words: str) -> list[str]:
        page = cli.json("list", *words, "--scope", "agent", "--agent", me)
        return [one["id"] for one in page["memories"]]

    assert listed("--status", "expired") == listed("--tag", "x") == [old]
    marked = [line.split()[0] for line in cli("list", "--agent", me).out.splitlines() if " expired " in line]
    assert marked == [short(old)]
    assert listed("--status", "live") == listed("--category", "fix") == listed("--session", "s") == [new]
    assert listed("--source", "task_completion") == [new]
    assert listed("--since", "1h") == listed("--owner", me) == [new, old]
    assert listed("--until", "1h") == listed("--until", "2020-01-01T00:00Z") == []


@pytest.mark.parametrize(
    "words",
    [("--limit", "0"), ("--limit", "501"), ("--after", "x"), ("--status", "dead"), ("--since", "x"), ("--tag", "a\0")],
)
def test_an_invalid_list_is_refused(cli: CommandLine, me: str, words: tuple[str, ...]) -> None:
    result = cli("list", *words, "--agent", me)
    assert (result.code, result.out) == (2, "")


def test_a_name_cannot_break_a_table(cli: CommandLine, me: str) -> None:
    kept(cli, me, "x", "--name", "two\nlines\tand a tab")
    assert cli("list", "--scope", "agent", "--agent", me).out.splitlines()[-1].endswith("two lines and a tab")


def test_stats_count_visible_memories(cli: CommandLine, service: Service, me: str) -> None:
    kept(cli, me, "One.")
    service.remember_expired(me, "Gone.")
    counts = cli.json("stats", "--agent", me)
    assert (counts["byScope"]["agent"], counts["expired"]) == (2, 1)
    rows = dict(line.rsplit(maxsplit=1) for line in cli("stats", "--agent", me).out.splitlines())
    assert (rows["scope agent"], rows["expired"]) == ("2", "1")
    assert int(rows["memories"].replace(",", "")) == counts["total"]


def test_a_deleted_working_folder_is_accepted(cli: CommandLine, me: str, tmp_path: Path) -> None:
    (tmp_path / "work").rmdir()
    assert cli("remember", "Nowhere.", "--agent", me).code == 0
