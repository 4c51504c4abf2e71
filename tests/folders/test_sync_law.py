"""Memory folders: memories match their files after any changes in any order."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from hivelore.memories.model import Scope
from support.clocks import SteppingClock
from support.desk import Desk
from support.laws import examples
from support.reference.keywords import ReferenceKeywords
from support.reference.store import ReferenceStore
from support.stores import law
from support.world import World

names = st.sampled_from([f"{folder}/{name}.md" for folder in ("personal/memory", "shared/memory") for name in "abc"])
happenings = st.one_of(
    st.tuples(st.just("write"), names, st.sampled_from(["One.", "Two.", "Three."])),
    st.tuples(st.just("move"), names, names),
    st.tuples(st.just("delete"), names, st.just("")),
    st.tuples(st.sampled_from(["look", "restart"]), st.just(""), st.just("")),
)


@settings(law, max_examples=examples(100))
@given(script=st.lists(happenings, max_size=25))
def test_memories_match_their_files_after_any_changes(
    script: list[tuple[str, str, str]],
) -> None:
    clock = SteppingClock()
    with TemporaryDirectory() as folder:
        desk = Desk(World(ReferenceStore(clock), ReferenceKeywords(), clock), Path(folder) / "workspace")
        for time, (what, path, more) in enumerate(script, start=1):
            file = desk.root / path
            if what == "write":
                desk.write(path, more)
                os.utime(file, (time, time))  # No two in one tick of the clock of files.
            elif what == "move" and file.exists():
                file.rename(desk.root / more)
            elif what == "delete":
                file.unlink(missing_ok=True)
            elif what == "look":
                desk.service.scan()
            elif what == "restart":
                desk.restart()
        desk.look()
        desk.look()
        files = {str(file.relative_to(desk.root)): file.read_text() for file in desk.root.rglob("*.md")}
        now = clock.now()
        live = {str(one.source_path): one for one in desk.all() if one.is_live(now)}
        assert {path: one.content for path, one in live.items()} == {
            f"{desk.root}/{path}": text for path, text in files.items()
        }
        private = {path for path, one in live.items() if one.scope is Scope.AGENT}
        assert private == {f"{desk.root}/{path}" for path in files if path.startswith("personal")}
