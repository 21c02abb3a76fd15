from __future__ import annotations

import pytest

from aioc_opa.packs.module_head import ModuleHeadError, package_of


@pytest.mark.parametrize(
    ("source", "package"),
    [
        ("package a", ("a",)),
        ("package a.b_c.D1 # why\n", ("a", "b_c", "D1")),
        ("# METADATA\n# title: x\n\n\tpackage \t a.b\n\nrule := 1\n", ("a", "b")),
        ("# x\r\npackage a.b\r\n", ("a", "b")),
    ],
)
def test_plain_package_clause(source: str, package: tuple[str, ...]) -> None:
    assert package_of(source) == package


@pytest.mark.parametrize(
    "source",
    [
        "",
        "# package a\n",
        "package",
        "package\na",
        'package a["b"]',
        "package a.",
        "package a.b; x := 1",
        "package a rule := 1",
        "import data.x\npackage a",
        "packagea",
        "package a.1b",
        "# hidden\rpackage a\npackage b",
    ],
)
def test_anything_else_is_refused(source: str) -> None:
    with pytest.raises(ModuleHeadError):
        package_of(source)
