"""The sentences of docs/rfc/tool-authorization-and-policy.txt, and the ones that a test of it names."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

DOCUMENT = ROOT / "docs/rfc/tool-authorization-and-policy.txt"


def straight(text: str) -> str:
    """`text` with plain apostrophes and single spaces."""
    return " ".join(text.replace("’", "'").split())


def sentence(text: str) -> None:
    """The sentence stands in the document."""
    assert straight(text) in straight(DOCUMENT.read_text(encoding="utf-8"))


def statements() -> list[str]:
    """Every clause that can hold or not: what stands between full stops and semicolons. Headings are none."""
    paragraphs = [straight(line) for line in DOCUMENT.read_text(encoding="utf-8").splitlines()]
    return [
        clause.rstrip(".")
        for paragraph in paragraphs
        if paragraph.endswith(".")
        for clause in re.split(r"(?<=\.) |; ", paragraph)
    ]


def named_by(files: Iterable[Path]) -> dict[str, set[str]]:
    """What the tests in `files` name: by the text, the tests."""
    found: dict[str, set[str]] = {}
    for file in files:
        for test in ast.parse(file.read_text(encoding="utf-8")).body:
            if not (isinstance(test, ast.FunctionDef | ast.AsyncFunctionDef) and test.name.startswith("test_")):
                continue
            for node in ast.walk(test):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "sentence":
                    found.setdefault(straight(ast.literal_eval(node.args[0])), set()).add(test.name)
    return found
