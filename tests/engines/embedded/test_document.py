"""docs/embedded-engine.md says what the guard does: its builtins, its rules."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from aioc_opa.engines.rego_guard.builtins import builtins
from tests.engines.embedded.test_rego_guard import REFUSED

if TYPE_CHECKING:
    from pathlib import Path

    from aioc_opa.engines.rego_guard.builtins import AllowedBuiltin

KINDS = {
    "integer": "constant whole number",
    "whole": "seen to be whole",
    "text": "constant, non-empty text",
    "regex": "constant pattern of the common syntax",
}
TEXTS = {"astral": "text beyond U+FFFF denied", "case": "special letters denied"}


@pytest.fixture(scope="module")
def document(repository: Path) -> str:
    return (repository / "docs/embedded-engine.md").read_text()


def table(document: str, heading: str) -> list[list[str]]:
    section = document.partition(f"\n{heading}\n")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows]


def terms_of(terms: AllowedBuiltin) -> str:
    parts = [f"argument {index + 1}: {KINDS[kind]}" for index, kind in terms.constant.items()]
    parts += [f"in `{package}` only" for package in sorted(terms.only_in)]
    parts += [TEXTS[terms.text]] if terms.text else []
    return "; ".join(parts)


def test_it_prints_the_builtins_that_are_allowed(document: str) -> None:
    expected = [[f"`{name}`", terms_of(terms), terms.why] for name, terms in builtins().allowed.items()]
    printed = [
        [row[0], row[1] if len(row) == 3 else "", row[-1]]
        for row in table(document, "## Builtins that a policy may call")
    ]
    assert printed == expected
    assert f"Made for {builtins().engine} against OPA {builtins().opa}." in document


def test_it_prints_the_builtins_that_are_refused(document: str) -> None:
    printed = {
        name: row[0]
        for row in table(document, "## Builtins that are refused")
        for name in re.findall(r"`([^`]+)`", row[1])
    }
    assert printed == builtins().refused


def test_it_has_a_row_for_every_rule_of_the_guard(document: str) -> None:
    assert {row[0].strip("`") for row in table(document, "## What is refused at load")} == REFUSED.keys()
