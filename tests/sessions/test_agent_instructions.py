"""Instructions for agents: built from the available tools and folders, and short."""

from collections.abc import Collection
from itertools import combinations

import pytest

from hivelore.core.token_count import estimate
from hivelore.observations.markers import CATEGORIES, MarkerReader, ObservationMarker
from hivelore.sessions import agent_instructions
from hivelore.sessions.agent_instructions import DELETE, EDIT, GET, RATE, SEARCH, STORE
from hivelore.sessions.model import Transcript
from hivelore.sessions.model_summarizer import build_prompt
from support.fences import NONCE

ALL = (SEARCH, GET, STORE, EDIT, DELETE, RATE)
WORKSPACE = "/home/somebody/with-a-rather-long-name/.local/share/hivelore/workspace"


@pytest.mark.parametrize("tools", [some for count in range(len(ALL) + 1) for some in combinations(ALL, count)])
@pytest.mark.parametrize("where", [None, agent_instructions.format_path(WORKSPACE)])
def test_the_instructions_name_exactly_the_available_tools_and_folders(
    tools: Collection[str], where: str | None
) -> None:
    text = agent_instructions.skill_file(tools, where)
    assert {tool for tool in ALL if tool in text} <= set(tools)
    told = (SEARCH, STORE, EDIT, DELETE)
    assert [tool in text for tool in told] == [tool in tools for tool in told]
    assert ("personal/memory/" in text) is ("shared/memory/" in text) is (where is not None)
    assert estimate(text) <= 500


@pytest.mark.parametrize("tools", [some for count in range(len(ALL) + 1) for some in combinations(ALL, count)])
@pytest.mark.parametrize("where", [None, agent_instructions.format_path(WORKSPACE)])
def test_the_three_lines_name_exactly_the_available_tools_and_folders(
    tools: Collection[str], where: str | None
) -> None:
    text = agent_instructions.instruction_lines(tools, where)
    assert len(text.splitlines()) == (SEARCH in tools) + 2 * (where is not None or STORE in tools)
    assert {tool for tool in ALL if tool in text} <= set(tools)
    assert ("personal/memory/" in text) is ("shared/memory/" in text) is (where is not None)


def test_the_instructions_say_who_can_find_files_in_which_folder() -> None:
    text = agent_instructions.instructions_page(ALL, agent_instructions.format_path(WORKSPACE))
    assert f"a file in `{WORKSPACE}`: `personal/memory/` for yourself, `shared/memory/` for every agent" in text


def test_the_instructions_say_when_to_write_and_what_to_leave_out() -> None:
    text = agent_instructions.instructions_page(ALL, None)
    assert len(agent_instructions.OCCASIONS) == 5
    assert all(
        one in text
        for one in (*agent_instructions.OCCASIONS, agent_instructions.EXCLUSIONS, *agent_instructions.EXAMPLE)
    )


def test_the_instructions_teach_subjects_replacements_and_the_five_categories_of_markers() -> None:
    text = agent_instructions.instructions_page(ALL, None)
    assert "gets a `subject`: thing and property, like `db.port`" in text
    assert "`supersedes`" in text
    (marker,) = [*MarkerReader().read(text.replace("`", "") + "\n")]
    assert isinstance(marker, ObservationMarker)
    assert all(category in text for category in CATEGORIES)
    assert "`subject`" not in agent_instructions.instructions_page((SEARCH, EDIT), None)


def test_the_exclusions_are_the_same_for_agents_and_the_summarizer() -> None:
    assert agent_instructions.EXCLUSIONS in agent_instructions.short_instructions()
    assert estimate(agent_instructions.short_instructions()) <= 150
    assert agent_instructions.EXCLUSIONS in build_prompt(Transcript(()), None, NONCE)


@pytest.mark.parametrize("path", ["/a\nb", "/a`b", "/a\u2028b"])
def test_a_path_that_would_break_the_text_is_quoted(path: str) -> None:
    assert agent_instructions.format_path(path).startswith('"/a')
    assert len(agent_instructions.format_path(path).splitlines()) == 1
