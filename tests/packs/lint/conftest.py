"""The fixture of every lint test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from aioc_opa.packs.lint import linted
from tests.packs.lint.linter import PARSED, Linter

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path


@pytest.fixture(autouse=True)
def parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test lints nearly the same files: what `opa parse` says of one is kept."""
    run = linted.run_opa

    def kept(opa_binary: Path, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        if arguments[0] != "parse" or not opa_binary.is_file():
            return run(opa_binary, *arguments, cwd=cwd)
        key = (arguments, (cwd / arguments[-1]).read_text())
        if key not in PARSED:
            PARSED[key] = run(opa_binary, *arguments, cwd=cwd)
        return PARSED[key]

    monkeypatch.setattr(linted, "run_opa", kept)


@pytest.fixture
def lint(repository: Path, tmp_path: Path, opa_binary: Path) -> Linter:
    return Linter(repository, tmp_path / "policy", opa_binary)
