"""Retractions: what a change of mind looks like in words and in work."""

import numpy as np
import pytest

from hivelore.sessions.lessons.retractions import change_of, describe_pairs
from hivelore.sessions.lessons.statements import statements_of
from hivelore.sessions.model import Speaker, Turn
from hivelore.sessions.transcripts import read_conversation
from support.sessions import ClaudeSession, CodexSession


def test_a_change_is_what_an_edit_replaces() -> None:
    session = ClaudeSession().user("Longer warm-up.")
    session.uses("Edit", file_path="conf/vit.yaml", old_string="warmup: 200", new_string="warmup: 2000")
    change = change_of(read_conversation("claude-code", session.lines).turns)
    assert (change.added, change.removed) == ({"2000"}, {"200"})
    assert "conf/vit.yaml" in change.named


def test_a_change_is_what_a_patch_replaces() -> None:
    patch = "*** Begin Patch\n*** Update File: vit.yaml\n@@\n-warmup: 200\n+warmup: 2000\n*** End Patch"
    change = change_of(read_conversation("codex", CodexSession().user("Go.").patches(patch).lines).turns)
    assert (change.added, change.removed, change.named) == ({"2000"}, {"200"}, {"vit.yaml"})


@pytest.mark.parametrize("command", ["sed -i 's/zstd:3/zstd:19/' dump.sh", "sed -i 's|zstd:3|zstd:19|g' dump.sh"])
def test_a_change_is_what_sed_replaces(command: str) -> None:
    change = change_of(read_conversation("claude-code", ClaudeSession().user("Go.").runs(command, "").lines).turns)
    assert (change.added, change.removed) == ({"zstd:19"}, {"zstd:3"})
    assert "dump.sh" in change.named


@pytest.mark.parametrize("command", ["grep -E '^\\s|" + '\\"' * 1_000, "s/" * 1_000, "s|" + "a" * 1_999])
def test_a_hostile_command_is_read_in_linear_time(command: str) -> None:
    turns = read_conversation("claude-code", ClaudeSession().user("Go.").runs(command, "").lines).turns
    assert change_of(turns).added == frozenset()


@pytest.mark.parametrize("command", ["git checkout app.py", "git revert HEAD", "rm cache.py"])
def test_a_command_undoes(command: str) -> None:
    turns = read_conversation("claude-code", ClaudeSession().user("Go.").runs(command, "").lines).turns
    assert change_of(turns).is_undoing


def test_a_pair_is_described_by_all_turns_around_it() -> None:
    said = ["Use 8080.", "Done.", "Hm no, 8081, 8080 is taken.", "Changed to 8081."]
    turns = [Turn(speaker=(Speaker.USER, Speaker.ASSISTANT)[place % 2], text=text) for place, text in enumerate(said)]
    statements = statements_of(turns)
    rows = describe_pairs(turns, statements, np.full(len(statements), 0.5, np.float32), [(2, 0), (1, 0)])
    assert rows.shape[0] == 2
    assert np.isfinite(rows).all()
    assert not np.array_equal(rows[0], rows[1])
