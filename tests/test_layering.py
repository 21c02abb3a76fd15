"""A line of code knows its room (design 6): imports, exports and file sizes are asserted, not hoped for."""

from __future__ import annotations

import ast
import statistics
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import aioc_opa
from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PACKAGE = ROOT / "aioc_opa"
FILES = sorted(PACKAGE.rglob("*.py"))

# What core may import beside itself: values and pure functions, no I/O, clock, environment, randomness or logging.
CORE_MAY_IMPORT = {
    "__future__", "abc", "annotationlib", "ast", "base64", "bisect", "collections", "contextlib", "copy", "dataclasses",
    "datetime", "decimal", "enum", "fractions", "functools", "hashlib", "hmac", "inspect", "ipaddress", "itertools", "json", "keyword", "math",
    "operator", "pathlib", "re", "string", "struct", "sys", "types", "typing", "typing_extensions", "unicodedata", "uuid", "warnings", "weakref",
    "annotated_types", "jsonschema_rs", "pydantic", "pydantic_core", "rfc8785", "typing_inspection",
}  # fmt: skip

# Each room, and the rooms of this package that it may import.
MAY_IMPORT = {
    "core": {"core", "errors", "models"},
    "models": {"core", "models", "permit"},
    "storage": {"errors", "storage"},
    "approvals": {"approvals", "core", "errors", "models", "storage"},
    # An audit log has the approvals' signatures, key files and webhooks in common with them, and none of their stores.
    "audit": {"approvals", "audit", "core", "errors", "models", "storage"},
    "access": {"access", "core", "engines", "errors", "models", "storage"},
    "telemetry": {"core", "errors", "telemetry"},
    "engines": {"core", "engines", "errors", "packs"},
    "packs": {"core", "errors", "models", "packs"},
}


def imports(path: Path) -> Iterator[tuple[str, bool]]:
    """Imported modules, and whether only for the type checker."""
    tree = ast.parse(path.read_text())
    typing_only = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and isinstance(block.test, ast.Name) and block.test.id == "TYPE_CHECKING"
        for node in ast.walk(block)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, id(node) in typing_only) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module, id(node) in typing_only


def in_room(room: str) -> list[Path]:
    return sorted((PACKAGE / room).rglob("*.py"))


@pytest.mark.parametrize("path", in_room("core"), ids=lambda path: path.name)
def test_core_is_pure(path: Path) -> None:
    for module, typing_only in imports(path):
        root = module.partition(".")[0]
        if root != "aioc_opa" and module != "urllib.parse" and not typing_only:
            assert root in CORE_MAY_IMPORT, f"{path.name} imports {module}"
    source = path.read_text()
    tree = ast.parse(source)
    called = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    assert called.isdisjoint({"open", "print", "input", "datetime.now", "datetime.utcnow", "uuid.uuid4", "date.today"})


@pytest.mark.parametrize("room", sorted(MAY_IMPORT))
def test_rooms_import_only_what_lies_below_them(room: str) -> None:
    for path in in_room(room):
        for module, typing_only in imports(path):
            parts = module.split(".")
            if parts[0] == "aioc_opa" and len(parts) > 1 and not typing_only:
                assert parts[1] in MAY_IMPORT[room], f"{path.relative_to(PACKAGE)} imports {module}"


def test_no_file_is_over_300_lines_and_the_median_is_under_120() -> None:
    sizes = {path: len(path.read_text().splitlines()) for path in FILES}
    assert {str(path): size for path, size in sizes.items() if size > 300} == {}
    assert statistics.median(sizes.values()) < 120
    folders = ("tests/**/*.py", "bench/**/*.py", "rego/**/*.rego")
    others = [
        path for folder in folders for path in PACKAGE.parent.glob(folder) if path.name != "routes.rego"
    ]  # generated
    assert len(others) > 300
    assert [str(path) for path in others if len(path.read_text().splitlines()) > 300] == []


def test_the_package_has_no_assert_and_no_print() -> None:
    for path in FILES:
        tree = ast.parse(path.read_text())
        assert not any(isinstance(node, ast.Assert) for node in ast.walk(tree)), path


def test_the_top_level_exports_names_and_nothing_else() -> None:
    assert sorted(aioc_opa.__all__) == aioc_opa.__all__
    assert set(aioc_opa.__all__) <= set(dir(aioc_opa))
    for name in aioc_opa.__all__:
        assert hasattr(aioc_opa, name)
    assert not hasattr(aioc_opa, "no_such_name")
    body = ast.parse((PACKAGE / "__init__.py").read_text()).body
    allowed = (ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.Expr)
    others = [ast.unparse(node).partition("\n")[0] for node in body if not isinstance(node, allowed)]
    assert others == ["if TYPE_CHECKING:", "def __getattr__(name: str) -> Any:", "def __dir__() -> list[str]:"]


def test_type_checkers_see_the_names_that_are_imported_late_where_they_are() -> None:
    (block,) = [node for node in ast.parse((PACKAGE / "__init__.py").read_text()).body if isinstance(node, ast.If)]
    seen = {alias.name: node.module for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert seen == aioc_opa._LAZY
    assert set(seen) < set(aioc_opa.__all__)


def test_every_name_can_be_imported_without_an_optional_dependency() -> None:
    hidden = "regorus", "sqlalchemy", "psycopg", "cryptography", "opentelemetry"
    code = (
        f"import sys\nfor name in {hidden}: sys.modules[name] = None\nfrom aioc_opa import *\nprint(AccessGate, dir())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "ApprovalBroker" in done.stdout


def test_every_module_and_public_name_says_what_it_is() -> None:
    for path in FILES:
        tree = ast.parse(path.read_text())
        assert ast.get_docstring(tree), path


@pytest.mark.parametrize(
    "module", ["regorus", "yaml", "trustme", "sqlalchemy", "psycopg", "cryptography", "opentelemetry"]
)
def test_importing_the_package_loads_no_optional_dependency(module: str) -> None:
    code = f"import sys, aioc_opa; sys.exit({module!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
