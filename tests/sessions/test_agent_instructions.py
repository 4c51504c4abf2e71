"""What agents are taught: made from the tools and folders there are, and short."""

from collections.abc import Collection
from itertools import combinations

import pytest

from hivelore.core.token_count import estimate
from hivelore.sessions import agent_instructions
from hivelore.sessions.agent_instructions import DELETE, GET, SEARCH, STORE
from hivelore.sessions.model import Transcript
from hivelore.sessions.model_summarizer import build_prompt
from support.fences import NONCE

ALL = (SEARCH, GET, STORE, DELETE)
WORKSPACE = "/home/somebody/with-a-rather-long-name/.local/share/hivelore/workspace"


@pytest.mark.parametrize("tools", [some for count in range(5) for some in combinations(ALL, count)])
@pytest.mark.parametrize("where", [None, agent_instructions.format_path(WORKSPACE)])
def test_it_names_the_tools_and_folders_there_are_and_no_others(tools: Collection[str], where: str | None) -> None:
    text = agent_instructions.skill_file(tools, where)
    assert {tool for tool in ALL if tool in text} <= set(tools)
    assert (SEARCH in text, STORE in text, DELETE in text) == (SEARCH in tools, STORE in tools, DELETE in tools)
    assert ("personal/memory/" in text) is ("shared/memory/" in text) is (where is not None)
    assert estimate(text) <= 500


@pytest.mark.parametrize("tools", [some for count in range(5) for some in combinations(ALL, count)])
@pytest.mark.parametrize("where", [None, agent_instructions.format_path(WORKSPACE)])
def test_in_three_lines_it_names_what_there_is_too(tools: Collection[str], where: str | None) -> None:
    text = agent_instructions.instruction_lines(tools, where)
    assert len(text.splitlines()) == (SEARCH in tools) + 2 * (where is not None or STORE in tools)
    assert {tool for tool in ALL if tool in text} <= set(tools)
    assert ("personal/memory/" in text) is ("shared/memory/" in text) is (where is not None)


def test_it_says_who_finds_what_is_in_which_folder() -> None:
    text = agent_instructions.instructions_page(ALL, agent_instructions.format_path(WORKSPACE))
    assert f"`{WORKSPACE}`: only you find what is in `personal/memory/`, every agent finds what is in" in text


def test_it_says_when_to_write_and_what_to_leave() -> None:
    text = agent_instructions.instructions_page(ALL, None)
    assert len(agent_instructions.OCCASIONS) == 5
    assert all(
        one in text
        for one in (*agent_instructions.OCCASIONS, agent_instructions.EXCLUSIONS, *agent_instructions.EXAMPLE)
    )


def test_what_is_to_be_left_is_the_same_for_agents_in_short_and_for_who_summarises() -> None:
    assert agent_instructions.EXCLUSIONS in agent_instructions.short_instructions()
    assert estimate(agent_instructions.short_instructions()) <= 150
    assert agent_instructions.EXCLUSIONS in build_prompt(Transcript(()), None, NONCE)


@pytest.mark.parametrize("path", ["/a\nb", "/a`b", "/a\u2028b"])
def test_a_path_that_would_break_the_text_is_quoted(path: str) -> None:
    assert agent_instructions.format_path(path).startswith('"/a')
    assert len(agent_instructions.format_path(path).splitlines()) == 1
