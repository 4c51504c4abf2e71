"""Data directories of earlier releases open, and answer as they answered then."""

from pathlib import Path

import pytest

from support.data_directories import FIXTURES, differences, keys_of, read_answers, served, settings_of, unpack
from support.postgres import DATABASES

RELEASES = sorted(one.name for one in FIXTURES.iterdir())


@pytest.mark.parametrize("kind", DATABASES)
@pytest.mark.parametrize("release", RELEASES)
def test_a_data_directory_of_a_release_gives_the_same_answers(release: str, kind: str, tmp_path: Path) -> None:
    at, answers = read_answers(FIXTURES / release / f"{kind}.json.xz")
    unpack(FIXTURES / release / f"{kind}.tar.xz", tmp_path)
    with served(tmp_path, keys_of(tmp_path), at, **settings_of(tmp_path)) as (callers, _):
        found = [(kept, differences(kept, callers.send(kept.request), at)) for kept in answers]
    assert len(answers) > 100
    assert [(kept.request, different) for kept, different in found if different] == []
