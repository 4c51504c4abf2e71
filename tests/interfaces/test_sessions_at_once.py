"""Sessions through the hook client: what many of them teach at the same time is kept, what teaches nothing is not."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from support.hook_home import ASKED, KNOWN, Home, opened
from support.hooks import Said
from support.sessions import ClaudeSession

SUBJECTS = (
    *("checkout", "billing", "search", "invoice", "catalog", "login", "mail", "stock"),
    *("refund", "loyalty", "shipping", "report", "audit", "chat", "image", "export"),
)
NOTHING_TAUGHT = (
    [("Hello!", "Hello! How can I help you today?")],
    [("What is 96 times 30?", "Yes, 96 per day x 30 days = 2880."), ("Thanks!", "You are welcome.")],
    [("Rename tmp to intensity in plot.py.", "Renamed `tmp` to `intensity`.")],
    [("Tell me a joke about databases.", "A query walks up to two tables in a bar and asks: may I join you?")],
    [("What does idempotent mean?", "Doing something twice has the same effect as doing it once.")],
    [("Freut mich, schönen Abend!", "Schönen Abend!")],
    [("When does the export run?", "The problem was probably noon."), ("ok", "Shall I look at the schedule?")],
    [("Show me the last commits.", "The last commits are a1b2c3, d4e5f6 and 0a1b2c.")],
    [("Is the test suite green?", "All 41 tests passed."), ("great, bye", "See you tomorrow!")],
    [("Can you push to main for me?", "I am sorry, I may not push to main without your confirmation.")],
)


@dataclass
class Talk:
    """One session of Claude Code; ``said`` are the answers to its hooks."""

    home: Home
    session: str
    transcript: ClaudeSession = field(default_factory=ClaudeSession)
    said: list[Said] = field(default_factory=list[Said])

    def hook(self, event: str, *, wait: str = "", **fields: Any) -> Said:
        file = self.home.transcripts / f"{self.session}.jsonl"
        file.write_text("\n".join(self.transcript.lines), encoding="utf-8")
        environ = {**self.home.environ, "HIVELORE_HOOK_WAIT": wait}
        fields = {"session_id": self.session, "transcript_path": str(file), **fields}
        said = self.home.hook(event, environ=environ, **fields)
        assert (said.code, said.err) == (0, b"")
        return said

    def begin(self) -> None:
        self.said.append(self.hook("SessionStart", source="startup"))

    def turn(self, prompt: str, answer: str, command: str = "") -> None:
        self.transcript.user(prompt)
        self.said.append(self.hook("UserPromptSubmit", prompt=prompt))
        if command:
            self.transcript.runs(command, "ok")
        self.transcript.says(answer)
        self.hook("Stop", stop_hook_active=False, last_assistant_message=answer)

    def end(self) -> None:
        self.hook("SessionEnd", reason="other")


def correction(subject: str) -> str:
    return (
        f"No, we never copy {subject} builds by hand. "
        f"Always deploy with the Ansible playbook ops/{subject}.yml, otherwise the audit log has a gap."
    )


def teach(talk: Talk) -> None:
    name = talk.session
    talk.begin()
    copied = f"I copied the {name} build to the staging host with scp and restarted nginx."
    talk.turn(f"Please deploy the new {name} build to staging.", copied, "scp build.tar staging:/srv")
    deployed = f"Deployed with `ops/{name}.yml`, the audit log has the entry."
    talk.turn(correction(name), deployed, f"ansible-playbook ops/{name}.yml")
    talk.turn("Thanks!", "You are welcome.")
    talk.end()


def contents(home: Home) -> Sequence[str]:
    with closing(home.client()) as client:
        return [one["content"] for one in client.call("GET", "/api/memory", query={"limit": 500})["memories"]]


@pytest.mark.timeout(300)
def test_nothing_is_lost_with_16_sessions_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each answer of the service is printed in time, or counted as missed and delivered with a later event."""
    with opened(tmp_path, monkeypatch) as home, ThreadPoolExecutor(len(SUBJECTS)) as pool:
        home.remember(KNOWN)
        talks = [Talk(home, subject) for subject in SUBJECTS]
        list(pool.map(teach, talks))
        home.settle()
        stored = contents(home)
        missed = home.status()["missedAnswers"]
        later = [talk.hook("UserPromptSubmit", wait="60", prompt=ASKED) for talk in talks]
    assert {talk.session: sum(correction(talk.session) in one for one in stored) for talk in talks} == dict.fromkeys(
        SUBJECTS, 1
    )
    told = {
        talk.session: sum(KNOWN in said.context for said in (*talk.said, last))
        for talk, last in zip(talks, later, strict=True)
    }
    assert told == dict.fromkeys(SUBJECTS, 1)
    # An answer with nothing to say is empty, too, but not the first one of a session.
    counted = sum(one["late"] + one["down"] + one["refused"] for one in missed)
    empty = [[not said.out for said in talk.said] for talk in talks]
    assert sum(answers[0] for answers in empty) <= counted <= sum(map(sum, empty))


@pytest.mark.timeout(300)
def test_ten_sessions_that_teach_nothing_leave_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(tmp_path, monkeypatch) as home:
        for number, turns in enumerate(NOTHING_TAUGHT):
            talk = Talk(home, f"s{number}")
            talk.begin()
            for prompt, answer in turns:
                talk.turn(prompt, answer, "ls")
            talk.end()
        home.settle()
        assert contents(home) == []
