"""Links between files hold, headings included; commands and targets that the text names exist."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pytest

from tests.conftest import ROOT
from tests.docs.blocks import all_markdown, blocks, documents, without_blocks

if TYPE_CHECKING:
    from pathlib import Path

LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")
CODE = re.compile(r"`[^`\n]*`")
HEADING = re.compile(r"^#+ +(?P<title>.+?) *$", re.MULTILINE)
TARGET = re.compile(r"^([a-z]+):", re.MULTILINE)
FILE = re.compile(r"`((?:aioc_opa|bench|docs|examples|rego|schemas|scripts|tests)/[A-Za-z0-9_./-]*)`")


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def anchors(path: Path) -> set[str]:
    """As GitHub makes them: lower case, blanks to hyphens, everything else but word characters left out."""
    titles = (match["title"] for match in HEADING.finditer(without_blocks(path.read_text(encoding="utf-8"))))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("path", all_markdown(), ids=name)
def test_links_lead_somewhere(path: Path) -> None:
    for match in LINK.finditer(CODE.sub("", without_blocks(path.read_text(encoding="utf-8")))):
        target = unquote(match["target"])
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        there = (path.parent / file).resolve() if file else path
        assert there.exists(), f"{name(path)}: {target}"
        assert there.is_relative_to(ROOT), f"{name(path)}: {target} leaves the repository"
        if anchor:
            assert anchor in anchors(there), f"{name(path)}: {target}"


@pytest.mark.parametrize("path", documents(), ids=name)
def test_files_and_make_targets_that_are_named_exist(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for match in FILE.finditer(text):
        assert (ROOT / match[1].partition("::")[0]).exists(), f"{name(path)}: {match[1]}"
    targets = set(TARGET.findall((ROOT / "Makefile").read_text()))
    spoken_of = re.findall(r"`make ([a-z]+)`", text)
    for block in blocks(path, "text") + blocks(path, "sh"):
        spoken_of += re.findall(r"^make ([a-z]+)", block.text, re.MULTILINE)
    assert set(spoken_of) <= targets, f"{name(path)}: {sorted(set(spoken_of) - targets)}"


def test_every_document_is_reached_from_the_readme() -> None:
    seen: set[Path] = set()
    waiting = [ROOT / "README.md"]
    while waiting:
        path = waiting.pop()
        if path in seen or path.suffix != ".md":
            continue
        seen.add(path)
        for match in LINK.finditer(without_blocks(path.read_text(encoding="utf-8"))):
            file = (path.parent / match["target"].partition("#")[0]).resolve()
            if file.is_file():
                waiting.append(file)
    assert {name(path) for path in documents()} <= {name(path) for path in seen}
