"""Data documents: numbers and characters that the engine must not meet, and data where rules stand.

OPA refuses data at or above a rule's path (`conflicting rule for data path`); regorus merges the two silently.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aioc_opa.core.limits import MAX_SAFE_INTEGER
from aioc_opa.errors import PolicyLoadError

if TYPE_CHECKING:
    import re

    from aioc_opa.core.json_value import JsonObject, JsonValue
    from aioc_opa.engines.rego_guard.scope import Scope


def check(scope: Scope, data: JsonObject, refused: re.Pattern[str] | None) -> None:
    """Raise `PolicyLoadError` for data that the engines would see differently."""
    for package, names in scope.rules.items():
        for name in sorted(names):
            _check_place(data, (*package[1:], name))
    stack: list[tuple[str, JsonValue]] = [("data", data)]
    while stack:
        place, value = stack.pop()
        _check_value(place, value, refused)
        if isinstance(value, dict):
            for key, item in value.items():
                _check_value(f"a key of {place}", key, refused)
                stack.append((f"{place}.{key}", item))
        elif isinstance(value, list):
            stack.extend((f"{place}[{index}]", item) for index, item in enumerate(value))


def _check_place(data: JsonObject, path: tuple[str, ...]) -> None:
    node: JsonValue = data
    for depth, segment in enumerate(path):
        if not isinstance(node, dict):
            raise PolicyLoadError(
                f"data.{'.'.join(path[:depth])} in the data is no object, "
                f"but package data.{'.'.join(path[:-1])} lies below it"
            )
        if segment not in node:
            return
        node = node[segment]
    raise PolicyLoadError(f"data.{'.'.join(path)} is both a rule and a value in the data: rename one")


def _check_value(place: str, value: JsonValue, refused: re.Pattern[str] | None) -> None:
    if type(value) in {int, float} and abs(value) > MAX_SAFE_INTEGER:  # type: ignore[arg-type] # the type is tested
        raise PolicyLoadError(f"{place}: a number beyond 2^53-1 overflows or loses a unit on the embedded engine")
    if refused is not None and isinstance(value, str) and refused.search(value):
        raise PolicyLoadError(
            f"{place}: has a character that count(…) or lower(…) here treats differently on the embedded engine"
        )
