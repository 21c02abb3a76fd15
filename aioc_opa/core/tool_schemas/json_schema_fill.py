"""Filling declared defaults into one call's arguments, by the plan that `json_schema_defaults` compiled."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from aioc_opa.core.json_value import JsonValue


CHARACTERS_A_VALUE: Final = 32
"""Text is paid for too: a string, or a key, is one value for each so many characters begun."""


class FilledTooMuchError(ValueError):
    """The defaults of one call would make more values than its limit."""


@dataclass(slots=True)
class Fill:
    """What to fill below one value.

    Attributes:
        missing: property → its default, with the defaults inside already filled in.
        children: property → what to fill below it when it is there.
        prefix: what to fill below the first items.
        rest: what to fill below every other item.
    """

    missing: dict[str, JsonValue] = field(default_factory=dict)
    children: dict[str, Fill] = field(default_factory=dict)
    prefix: list[Fill] = field(default_factory=list)
    rest: Fill | None = None


@dataclass(slots=True)
class Budget:
    """Values that may still be made for one call."""

    left: int

    def copy(self, value: JsonValue) -> JsonValue:
        """A copy of `value` that shares nothing mutable with it, paid for."""
        self._pay(value)
        if type(value) is dict:
            for key in value:
                self._pay(key)
            return {key: self.copy(item) for key, item in value.items()}
        if type(value) is list:
            return [self.copy(item) for item in value]
        return value

    def _pay(self, value: JsonValue) -> None:
        self.left -= 1 + len(value) // CHARACTERS_A_VALUE if type(value) is str else 1
        if self.left < 0:
            raise FilledTooMuchError


def fill(plan: Fill, value: JsonValue, budget: Budget) -> None:
    """Fill `value` in place by `plan`. Recursion is bounded by the depth of `value`.

    Raises:
        FilledTooMuchError: the budget does not suffice.
    """
    if type(value) is dict:
        for name, child in plan.children.items():
            if name in value:
                fill(child, value[name], budget)
        for name, default in plan.missing.items():
            if name not in value:
                value[name] = budget.copy(default)
    elif type(value) is list:
        for index, item in enumerate(value):
            below = plan.prefix[index] if index < len(plan.prefix) else plan.rest
            if below is not None:
                fill(below, item, budget)


def with_something_to_fill(plans: Iterable[Fill]) -> set[int]:
    """Ids of the plans that fill something, at once or further down."""
    parents: dict[int, list[int]] = {}
    queue: list[int] = []
    for plan in plans:
        if plan.missing:
            queue.append(id(plan))
        below = [*plan.children.values(), *plan.prefix, *([] if plan.rest is None else [plan.rest])]
        for child in below:
            parents.setdefault(id(child), []).append(id(plan))
    keep: set[int] = set()
    while queue:
        current = queue.pop()
        if current not in keep:
            keep.add(current)
            queue.extend(parents.get(current, ()))
    return keep
