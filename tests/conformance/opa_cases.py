"""OPA's own evaluation suite: `v1/test/cases/testdata/v1` of its Go module, as Go left it in the module folder."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

_NOT_IMPORT = "import future.keywords.not"


class _Yaml12Loader(yaml.CSafeLoader):
    """Only `true` and `false` are booleans: OPA reads YAML 1.2, where a key `on` is a string."""


_Yaml12Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:bool"]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}
_Yaml12Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:true|false)$"), list("tf"))


class SuiteMissingError(Exception):
    """OPA's suite is not where `go install` leaves it."""


@dataclass(frozen=True, slots=True)
class OpaCase:
    """One case. `want` is a list of bindings, or None when OPA errs or only definedness is asked.

    Attributes:
        note: OPA's globally unique name of the case.
        wants_error: OPA must err, in its default or in its strict mode.
        wants_defined: set when only definedness is asked.
        sort_bindings: arrays in the result are sets, in no order.
    """

    note: str
    query: str
    modules: tuple[str, ...]
    data: Any
    input: Any
    has_input: bool
    raw_input_term: bool
    want: list[dict[str, Any]] | None
    wants_error: bool
    wants_defined: bool | None
    sort_bindings: bool


def suite_folder(version: str) -> Path:
    """Where the suite of OPA `version` lies. Raises `SuiteMissingError` with the cure."""
    cache = subprocess.run(["go", "env", "GOMODCACHE"], capture_output=True, text=True, check=True).stdout.strip()
    folder = Path(cache) / f"github.com/open-policy-agent/opa@v{version}" / "v1/test/cases/testdata/v1"
    if not folder.is_dir():
        raise SuiteMissingError(
            f"{folder} does not exist: run `go install github.com/open-policy-agent/opa@v{version}` "
            "(scripts/find-opa does) so that the module folder holds OPA's suite"
        )
    return folder


def load_cases(folder: Path) -> list[OpaCase]:
    """Every case below `folder`, sorted by note."""
    cases = [
        _case(raw)
        for path in sorted(folder.rglob("*.yaml"))
        for raw in (yaml.load(path.read_bytes(), Loader=_Yaml12Loader) or {}).get("cases") or []  # noqa: S506 - a CSafeLoader
    ]
    return sorted(cases, key=lambda case: case.note)


def with_not_import(module: str) -> str:
    """The module with `import future.keywords.not`: OPA runs its suite in this mode too, with equal expectations

    (`TestRegoWithNotBody` in v1/topdown/exported_test.go).
    """
    if _NOT_IMPORT in module:
        return module
    lines = module.split("\n")
    for number, line in enumerate(lines):
        if line.strip().startswith("package "):
            return "\n".join([*lines[: number + 1], _NOT_IMPORT, *lines[number + 1 :]])
    return module


def _case(raw: dict[str, Any]) -> OpaCase:
    return OpaCase(
        note=raw["note"],
        query=raw["query"],
        modules=tuple(raw.get("modules") or ()),
        data=raw.get("data"),
        input=raw.get("input"),
        has_input="input" in raw,
        raw_input_term="input_term" in raw,
        want=raw.get("want_result"),
        wants_error=bool(raw.get("want_error") or raw.get("want_error_code")),
        wants_defined=raw.get("want_defined"),
        sort_bindings=bool(raw.get("sort_bindings")),
    )
