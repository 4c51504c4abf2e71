"""The page on troubleshooting describes each finding of ``hivelore doctor``."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
FINDING = re.compile(r'\b(?:ok|warning|error|Finding)\(\s*"([a-z -]+)"')


def test_every_finding_has_a_section() -> None:
    package = ROOT / "src" / "hivelore"
    texts = [file.read_text(encoding="utf-8") for name in ("cli", "health") for file in (package / name).rglob("*.py")]
    names = {name for text in texts for name in FINDING.findall(text)}
    page = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    assert len(names) > 15
    assert names <= set(re.findall(r"^### (.+)$", page, re.MULTILINE))
