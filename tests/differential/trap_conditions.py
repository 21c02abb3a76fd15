"""Conditions that a load check refuses, by the number of the difference they show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tests.differential.values import Trap

if TYPE_CHECKING:
    from tests.differential.values import Values

_A: Final = "input.parsedArguments"
_C: Final = "input.runContext.context"

_CONDITIONS: Final[dict[Trap, tuple[str, ...]]] = {
    Trap.NOT_IMPORT: (f'not startswith({_A}.code, "a")', f"not count({_A}.tags) > 1", f'not lower({_A}.name) == "a"'),
    Trap.FRACTIONS: (
        f"{_A}.amount + {_C}.limit == 0.3",
        f"abs({_A}.amount - {_C}.limit) > 0.005",
        f"ceil({_A}.amount * 100) == 110",
        f"{_A}.amount * 3 == {_C}.limit",
        f"{_A}.amount + 0.1 > {_C}.limit",
    ),
    Trap.LARGE_NUMBERS: (
        f"{_A}.amount * {_C}.limit > {_A}.amount",
        f"{_A}.amount + 1 == {_C}.limit",
        f"{_A}.amount - {_C}.limit == 0",
        f"{_A}.amount * 1000 == {_C}.limit * 1000",
        f"{_A}.amount + 1 > {_A}.amount",
    ),
    Trap.REGEX: (
        f"regex.match(`^\\d{{4}}$`, {_A}.code)",
        f"regex.match(`^\\w+$`, {_A}.name)",
        f"regex.match(`[a&&b]`, {_A}.code)",
        f"not regex.match(`^\\d+$`, {_A}.code)",
    ),
    Trap.STRINGS: (
        f"count({_A}.code) == 1",
        f'upper({_A}.name) == "SS"',
        f'lower({_A}.name) == "ας"',
        f'indexof({_A}.code, "") == 0',
        f'replace({_A}.code, "", "x") == {_A}.code',
    ),
    Trap.VALUE_WHERE_OPA_ERRS: (
        f'to_number(concat("", [" ", {_A}.code])) == 1',
        f'indexof({_A}.name, "") == 0',
        'time.parse_rfc3339_ns("2024-01-01T00:00:00z") > 0',
        f"array.slice({_A}.tags, 0.5, 1)",
    ),
    Trap.ANOTHER_VALUE: (
        "time.add_date(1706659200000000000, 0, 1, 0) > 1709251200000000000",
        f'sprintf("%v", [{_A}.amount]) == "2.25"',
        f'json.marshal({_A}.code) == ""',
        'semver.is_valid("v1.0.0")',
        f"floor({_A}.amount) == 0",
        f'sprintf("%d", [{_A}.code]) == ""',
    ),
    Trap.OBJECT_PATTERN: (
        f'{{"gold": _}} = {_A}.options',
        f'some {{"sku": _}} in {_A}.items',
        f'[{{"status": _, "sku": _}}, _] = {_A}.items',
    ),
    Trap.PANIC: ('time.parse_duration_ns(concat("", ["1", "."])) > 0', f'strings.count({_A}.name, "") > 0'),
}


def trap_conditions(values: Values) -> list[str]:
    """The conditions of every trap that is on."""
    return [condition for trap in sorted(values.traps) for condition in _CONDITIONS.get(trap, ())]
