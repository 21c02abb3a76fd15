"""The walk that bounds one call's work: which subschemas meet each value, and how often, added up.

Values that meet the same subschemas equally often share one `_Meeting`, so that a step of the walk is one value. The
walk itself is bounded too: it is Python, and slower than what it bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aioc_opa.core.tool_schemas.json_schema_weight import MAX_CALL_UNITS, Weight

if TYPE_CHECKING:
    from collections.abc import Callable

    from aioc_opa.core.json_value import JsonValue
    from aioc_opa.core.tool_schemas.json_schema_document import Place

MAX_STEPS: Final = 500_000
"""Of one walk: about half a second. A step is a value, or a subschema that is put into a meeting."""

ANY: Final = "*"
"""Any item, and any property: a bound need not tell which patterns match."""

NAMES: Final = "names"
"""The name of any property; a property itself is ``.name``."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A value meets a schema: what that costs, and which schemas its children meet, how often.

    Attributes:
        weight: of the schema and all that apply to the same value.
        children: `ANY`, `NAMES`, or ``.name`` of a property → places and counts.
    """

    weight: Weight
    children: dict[str, tuple[tuple[Place, int], ...]]

    def met_by(self, kind: str) -> tuple[tuple[Place, int], ...]:
        """What a child of that kind meets."""
        always = self.children.get(ANY, ()) if kind != NAMES else ()
        return always if kind == ANY else always + self.children.get(kind, ())


class _Meeting:
    """A value meets some schemas, each so many times.

    Attributes:
        weight: of all of them.
        known: by kind of child, what it meets, once asked for; None for nothing.
        named: the kinds of children that are told apart.
    """

    __slots__ = ("entries", "known", "named", "weight")

    def __init__(self, entries: list[tuple[Entry, int]]) -> None:
        self.entries = entries
        self.known: dict[str, _Meeting | None] = {}
        self.named = {kind for entry, _ in entries for kind in entry.children}
        self.weight = Weight()
        for entry, count in entries:
            self.weight.add(entry.weight, count)


class Walk:
    """One walk; `entry` gives the entry for a schema."""

    __slots__ = ("_entry", "_meetings", "_steps")

    def __init__(self, entry: Callable[[Place], Entry]) -> None:
        self._entry = entry
        self._meetings: dict[frozenset[tuple[Place, int]], _Meeting] = {}
        self._steps = 0

    def exceeds(self, value: JsonValue, looks: int | None) -> bool:
        """Whether evaluating `value` by the root could be over `MAX_CALL_UNITS`, or over so many `looks`.

        Also true when the walk itself is over `MAX_STEPS`.
        """
        allowed = MAX_CALL_UNITS if looks is None else looks  # a look is one unit at least
        units = looked = 0
        ahead: list[tuple[JsonValue, _Meeting]] = [(value, self._meeting({(): 1}))]
        while ahead:
            current, meeting = ahead.pop()
            self._steps += 1
            looked += meeting.weight.looks
            units += meeting.weight.on(current)
            if type(current) is dict:
                names = self._child(meeting, NAMES)
                for key, item in current.items():
                    if names is not None:
                        looked += names.weight.looks
                        units += names.weight.on(key)
                    child = self._child(meeting, f".{key}")
                    if child is not None:
                        ahead.append((item, child))
                    if self._steps > MAX_STEPS:
                        return True
            elif type(current) is list and (child := self._child(meeting, ANY)) is not None:
                ahead.extend((item, child) for item in current)
            # Whatever is ahead takes one look at least.
            if units > MAX_CALL_UNITS or looked + len(ahead) > allowed or self._steps > MAX_STEPS:
                return True
        return False

    def _child(self, meeting: _Meeting, kind: str) -> _Meeting | None:
        if kind not in meeting.named:
            if kind == NAMES:
                return None
            kind = ANY
        if kind not in meeting.known:
            ways: dict[Place, int] = {}
            for entry, count in meeting.entries:
                for target, times in entry.met_by(kind):
                    ways[target] = ways.get(target, 0) + count * times
                    self._steps += 1
            meeting.known[kind] = self._meeting(ways) if ways else None
        return meeting.known[kind]

    def _meeting(self, ways: dict[Place, int]) -> _Meeting:
        key = frozenset(ways.items())
        known = self._meetings.get(key)
        if known is None:
            entries = [(self._entry(place), count) for place, count in ways.items()]
            self._steps += len(ways) + sum(len(entry.children) for entry, _ in entries)
            known = self._meetings[key] = _Meeting(entries)
        return known
