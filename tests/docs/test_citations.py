"""What comments cite lies in this repository: sections of the design, and documents by their names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.conftest import ROOT
from tests.docs.blocks import all_markdown

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FOLDERS = ("aioc_opa", "bench", "docs", "examples", "rego", "schemas", "scripts", "tests")
DESIGN = re.compile(r"\b[Dd]esign (\d(?:\.\d)?(?:(?:, | and | to )\d(?:\.\d)?)*)")
DOCUMENT = re.compile(r"(?<![\w./*<>{}-])[\w./-]*\w\.(?:md|txt)\b(?!\.\w)")
COMMENT = re.compile(r'# |"""')


def sources() -> Iterator[Path]:
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in {".py", ".rego", ".md", ".tmpl"} and "__pycache__" not in path.parts:
                yield path


def test_cited_sections_of_the_design_exist() -> None:
    headings = set(re.findall(r"^#+ (\d(?:\.\d)?)\.? ", (ROOT / "docs/design.md").read_text(), re.MULTILINE))
    assert {"1", "2", "3.1", "3.5", "9"} <= headings
    cited = 0
    for path in sources():
        for match in DESIGN.finditer(path.read_text(encoding="utf-8")):
            for section in re.findall(r"\d(?:\.\d)?", match[1]):
                cited += 1
                assert section in headings, f"{path.relative_to(ROOT)}: design {section}"
    assert cited > 50


def test_cited_documents_exist() -> None:
    there = [path.relative_to(ROOT).as_posix() for path in all_markdown()]
    there += [
        path.relative_to(ROOT).as_posix() for path in (*ROOT.glob("docs/rfc/*.txt"), *ROOT.glob("examples/*/*.md"))
    ]
    for path in sources():
        if path.suffix == ".md":
            continue  # their links are followed by `test_links`
        for line in path.read_text(encoding="utf-8").splitlines():
            test = path.is_relative_to(ROOT / "tests") or path.name.endswith("_test.rego")
            if test and not COMMENT.search(line):
                continue  # a file that a test makes, or a path that it judges
            for match in DOCUMENT.finditer(line):
                name = match[0].lstrip("./")
                assert any(f"/{file}".endswith(f"/{name}") for file in there), f"{path.relative_to(ROOT)}: {match[0]}"


def test_the_documents_that_it_implements_are_here_and_linked() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    contract = (ROOT / "docs/contract.md").read_text(encoding="utf-8")
    for file in ("rfc/rfc-0015-effective-tool-argument-authorization.txt", "rfc/tool-authorization-and-policy.txt"):
        assert (ROOT / "docs" / file).read_text(encoding="utf-8")
        assert f"(docs/{file})" in readme
    assert "(docs/design.md)" in readme
    assert "(design.md)" in contract
