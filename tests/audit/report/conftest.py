"""One month's log, one report of it and one browser for all tests of the report."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.audit.logs import KEY
from tests.audit.report.browser import Browser
from tests.audit.report.month import month

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def chromium(repository: Path) -> Path:
    """The Chromium that `scripts/find-chromium` found or installed."""
    found = subprocess.run(
        [sys.executable, repository / "scripts" / "find-chromium"], capture_output=True, text=True, check=False
    )
    if found.returncode:
        pytest.fail(found.stderr, pytrace=False)
    return Path(found.stdout.strip())


@pytest.fixture(scope="session")
def browser(chromium: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(chromium, tmp_path_factory.mktemp("chromium")) as opened:
        yield opened


@pytest.fixture(scope="session")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A month, with hostile names."""
    return month().write(tmp_path_factory.mktemp("month") / "audit")


@pytest.fixture(scope="session")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("keys") / "writer.pub.json"
    KEY.save_public(path)
    return path
