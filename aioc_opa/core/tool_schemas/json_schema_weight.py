"""What one look of one subschema at one value costs the validator, in units of about 100 ns.

Not every look is alike. Measured with jsonschema-rs 0.61 on two cores: a pattern takes up to 40 ns a position and byte
(`json_schema_pattern`); an enumeration that is not of strings is compared one by one, 10 ns a node, but a number that
is no integer is compared as an exact fraction, 2 µs each, and 45 µs where it is as small as 1e-300;
`patternProperties` tries every pattern on every key. A weight is an upper bound, and generous.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aioc_opa.core.limits import HARD_MAX_DEPTH, MAX_SAFE_INTEGER
from aioc_opa.core.tool_schemas.json_schema_pattern import positions, utf8_length

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aioc_opa.core.json_value import JsonObject, JsonValue

MAX_CALL_UNITS: Final = 10_000_000
"""Of one call: about a second of the validator's time."""

_COMPARED_WITH_A_NUMBER: Final = frozenset({
    "maximum", "minimum", "exclusiveMaximum", "exclusiveMinimum", "multipleOf",
})  # fmt: skip
_SLOW_FORMATS: Final = frozenset({"idn-email", "idn-hostname"})
_TRIES_PATTERNS_AGAIN: Final = ("additionalProperties", "unevaluatedProperties")

_BYTES_A_UNIT: Final = 1024
"""Compared, counted or skipped."""

_POSITION_BYTES_A_UNIT: Final = 4
_TEXT_POSITIONS: Final = 4
"""A format, or an encoding: as a pattern of so many positions."""

_UNIQUE_UNITS: Final = 16
"""For each node below a `uniqueItems`: hashed, and compared a few times."""

_FRACTION, _HUGE, _TINY = 40, 150, 500
"""A number that is no small integer, as an exact fraction."""


@dataclass(slots=True)
class Weight:
    """A sum of looks.

    Attributes:
        looks: how many.
        units: whatever the value is.
        numbers: comparisons with a number.
        positions: of patterns that run over a text.
        key_tries: patterns that are tried on each key of an object.
        key_positions: the positions of those.
        unique: looks of `uniqueItems`.
    """

    looks: int = 0
    units: int = 0
    numbers: int = 0
    positions: int = 0
    key_tries: int = 0
    key_positions: int = 0
    unique: int = 0

    def add(self, other: Weight, times: int) -> None:
        """Add `other`, `times` over."""
        self.looks += other.looks * times
        self.units += other.units * times
        self.numbers += other.numbers * times
        self.positions += other.positions * times
        self.key_tries += other.key_tries * times
        self.key_positions += other.key_positions * times
        self.unique += other.unique * times

    def on(self, value: JsonValue) -> int:
        """Units for these looks at `value`, not at what is in it."""
        kind = type(value)
        if kind is str:
            size = utf8_length(value)  # type: ignore[arg-type] # narrowed by exact type
            return self.units * (1 + size // _BYTES_A_UNIT) + self.positions * size // _POSITION_BYTES_A_UNIT
        if kind is int or kind is float:
            return self.units + (self.numbers and self.numbers * number_units(value))  # type: ignore[arg-type] # as above
        if kind is dict and self.key_tries:
            keys = sum(map(utf8_length, value))  # type: ignore[arg-type] # as above
            tries = self.key_tries * len(value)  # type: ignore[arg-type] # as above
            return self.units + tries + self.key_positions * keys // _POSITION_BYTES_A_UNIT
        if kind is list and self.unique:
            return self.units + self.unique * _UNIQUE_UNITS * sum(1 for _ in _nodes(value))
        return self.units

    def at_most(self, *, values: int, text: int) -> int:
        """Units for these looks at each of so many values and keys, with so many bytes of text in all."""
        each = self.units + self.numbers * _TINY + self.key_tries + self.unique * _UNIQUE_UNITS * HARD_MAX_DEPTH
        return (
            each * values
            + self.units * text // _BYTES_A_UNIT
            + (self.positions + self.key_positions) * text // _POSITION_BYTES_A_UNIT
        )


def weight_of(schema: JsonObject) -> Weight:
    """The weight of one look of `schema`, its subschemas left out. What no draft takes weighs nothing."""
    weight = Weight(looks=1, units=1)
    for name in _COMPARED_WITH_A_NUMBER & schema.keys():
        bound = schema[name]
        if type(bound) is int or type(bound) is float:
            weight.numbers += 1
            weight.units += number_units(bound)
    weight.units += _names(schema.get("required")) // 4
    for keyword in ("dependentRequired", "dependencies", "dependentSchemas"):
        held = schema.get(keyword)
        if type(held) is dict:
            weight.units += sum(1 + _names(names) // 4 for names in held.values())
    _weigh_choices(schema, weight)
    _weigh_text(schema, weight)
    weight.unique += schema.get("uniqueItems") is True
    return weight


def _weigh_text(schema: JsonObject, weight: Weight) -> None:
    pattern, named, keys = schema.get("pattern"), schema.get("format"), schema.get("patternProperties")
    if type(pattern) is str:
        weight.positions += positions(pattern)
    if type(named) is str:
        weight.units += 80 if named in _SLOW_FORMATS else 16
        weight.positions += _TEXT_POSITIONS
    if "contentEncoding" in schema or "contentMediaType" in schema:
        weight.positions += _TEXT_POSITIONS
    if type(keys) is dict and keys:
        again = 1 + sum(keyword in schema for keyword in _TRIES_PATTERNS_AGAIN)
        weight.key_tries += 5 * len(keys) * again
        weight.key_positions += sum(map(positions, keys)) * again


def _weigh_choices(schema: JsonObject, weight: Weight) -> None:
    choices = schema.get("enum")
    allowed = list(choices) if type(choices) is list else []
    if all(type(choice) is str for choice in allowed):
        allowed = []  # one look into a hash table
    elif all(type(choice) is int and not number_units(choice) for choice in allowed):
        weight.numbers += len(allowed)  # the same, but a fraction is compared with each
        allowed = []
    if "const" in schema:
        allowed.append(schema["const"])
    for choice in allowed:
        if type(choice) is int or type(choice) is float:
            weight.numbers += 1
            weight.units += number_units(choice)
        elif type(choice) is dict or type(choice) is list:
            weight.units += sum(map(_inner_units, _nodes(choice)))
    weight.units += len(allowed) // 4


def _inner_units(node: JsonValue) -> int:
    if type(node) is str:
        return 1 + len(node) // _BYTES_A_UNIT
    return _TINY if type(node) is int or type(node) is float else 1  # it may meet the smallest fraction


def number_units(number: float) -> int:
    """For comparing `number` with one that is no small integer."""
    if type(number) is int:
        return 0 if abs(number) <= MAX_SAFE_INTEGER else _HUGE
    size = abs(number)
    if size >= 1e-20:  # noqa: PLR2004 - from here up, the denominator fits a machine word or nearly
        return _FRACTION if size <= MAX_SAFE_INTEGER else _HUGE
    return _TINY if size else 1


def _names(value: JsonValue) -> int:
    return len(value) if type(value) is list else 0


def _nodes(value: JsonValue) -> Iterator[JsonValue]:
    """`value`, its keys, and all that is in it."""
    ahead = [value]
    while ahead:
        current = ahead.pop()
        yield current
        if type(current) is dict:
            ahead.extend(current)
            ahead.extend(current.values())
        elif type(current) is list:
            ahead.extend(current)
