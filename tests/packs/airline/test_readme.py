"""The README's table of codes is the pack's: number, code and effect as the rules have them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.packs.airline.engines import PACK

if TYPE_CHECKING:
    from pathlib import Path

ROW = re.compile(r"^\| (\d\.\d) \| `(\w+)` \| (\w+) \|", re.MULTILINE)
RULE = re.compile(r"# title: (\d\.\d) (\w+).*\n(?:#.*\n)*(deny|require_approval) contains")
EFFECTS = {"deny": "deny", "require_approval": "approval_required"}


def test_the_table_of_codes_is_that_of_the_rules(repository: Path) -> None:
    pack = repository / PACK
    sources = [path.read_text() for path in pack.glob("*.rego") if not path.stem.endswith("_test")]
    rules = {(number, code, EFFECTS[effect]) for source in sources for number, code, effect in RULE.findall(source)}
    rows = ROW.findall((pack / "README.md").read_text())
    assert len(rows) == len(set(rows)) == 33
    assert set(rows) == rules


def test_every_file_of_rules_is_listed(repository: Path) -> None:
    pack = repository / PACK
    text = (pack / "README.md").read_text()
    for path in pack.glob("*.rego"):
        assert path.stem.endswith("_test") or f"({path.name})" in text
