"""The documents, and the fenced blocks in them. Every block has a language that says how it is tested:

==========  ==========================================================================================
`sh`        run by bash, in order, in one workspace for each document (`workspace.py`)
`python`    executed, in order and in one namespace for each document; type-checked with mypy --strict
`rego`      `opa check --strict` over the library; a file of its own when it names a package
`json`      strict JSON; ``json NAME`` is also validated against schemas/NAME.json
`text`      shown only: pictures, and what needs a machine that is not here; ``text output`` is compared with what
            the command or example before it wrote
`mermaid`   shown only
==========  ==========================================================================================
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LANGUAGES: Final = ("sh", "python", "rego", "json", "text", "mermaid")
_FENCE: Final = re.compile(r"^(?P<indent> *)```(?P<info>.*)$")


def documents() -> list[Path]:
    """What users read: examples in it are run."""
    return [
        ROOT / "README.md",
        ROOT / "SECURITY.md",
        ROOT / "rego" / "README.md",
        *sorted((ROOT / "docs").rglob("*.md")),
        *sorted((ROOT / "examples").glob("*/README.md")),
    ]


def all_markdown() -> list[Path]:
    """Everything with links in it."""
    others = [*ROOT.glob("*.md"), *(ROOT / "rego").rglob("*.md"), *(ROOT / "tests").rglob("*.md")]
    return sorted({*documents(), *others})


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block. `line` is that of its first line of text, from 1."""

    path: Path
    line: int
    language: str
    argument: str
    text: str

    @property
    def place(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}"


def blocks(path: Path, language: str | None = None) -> list[Block]:
    return [block for block in _all(path) if language in {None, block.language}]


def without_blocks(text: str) -> str:
    """Prose only: what is in a fence is no link, no heading and no table."""
    kept: list[str] = []
    inside = False
    for line in text.splitlines():
        if _FENCE.match(line):
            inside = not inside
        elif not inside:
            kept.append(line)
    return "\n".join(kept)


def _all(path: Path) -> Iterator[Block]:
    opened: re.Match[str] | None = None
    start = 0
    collected: list[str] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        fence = _FENCE.match(line)
        if opened is None:
            if fence is not None:
                opened, start, collected = fence, number + 1, []
        elif fence is not None and not fence["info"].strip():
            language, _, argument = opened["info"].strip().partition(" ")
            yield Block(path, start, language, argument, "\n".join(collected) + "\n")
            opened = None
        else:
            collected.append(line.removeprefix(opened["indent"]))
    assert opened is None, f"{path.relative_to(ROOT)}:{start}: the fence is not closed"
