"""How often a validator may look at one value: a bound, so that no schema and no arguments can keep it busy.

Regular expressions are linear already (`regex`, the engine without backtracking). What is left is repetition:
``anyOf`` over ``anyOf``, a `$ref` used twice by a target that is used twice, and recursion whose branches all
descend into the same child, which doubles at every level of the arguments.

`evaluations` counts, for schemas without recursion, the ways from the root to a subschema: no value is looked at more
often. Where that times the number of values is much, and wherever there is recursion, `CostMeter.exceeds` bounds the
call, in one walk that adds up counts instead of repeating work.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aioc_opa.core.tool_schemas.json_schema_document import Place, SchemaDocument, refuse, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from aioc_opa.core.json_value import JsonValue

MAX_EVALUATIONS: Final = 10_000
"""Subschemas of one schema that may apply to one value, each counted once a way that leads to it."""

MAX_CALL_EVALUATIONS: Final = 10_000_000
"""Evaluations of one call: about a second of the validator's time (60 ns for a `const`, 120 for an `enum`)."""

_ANY: Final = "*"
"""Any item, and any property: a bound need not tell which patterns match."""

_UNEVALUATED: Final = ("unevaluatedProperties", "unevaluatedItems")


@dataclass(frozen=True, slots=True)
class _Entry:
    """A value meets a schema: how many subschemas apply to it, and which its children meet, how often.

    Attributes:
        children: `_ANY`, or ``.name`` of a property → places and counts.
    """

    evaluations: int
    children: dict[str, tuple[tuple[Place, int], ...]]

    def met_by(self, key: str) -> tuple[tuple[Place, int], ...]:
        """What a child meets: an item (`_ANY`), or the property ``.name``."""
        always = self.children.get(_ANY, ())
        return always if key == _ANY else always + self.children.get(key, ())


class CostMeter:
    """The bound for one document.

    Attributes:
        has_branches: whether the schema has `anyOf` or `oneOf`.
        recursive: whether the schema contains itself, so that the bound depends on the arguments.
        evaluations: without recursion, how many subschemas can apply to one value.

    Raises:
        ToolRegistrationError: a schema leads to itself for the same value, or `evaluations` is over the bound.
    """

    __slots__ = ("_children", "_document", "_entries", "_order", "_same", "evaluations", "has_branches", "recursive")

    def __init__(self, document: SchemaDocument) -> None:
        self._document = document
        self._same: dict[Place, list[Place]] = {}
        self._children: dict[Place, list[tuple[str, Place]]] = {}
        self._entries: dict[Place, _Entry] = {}
        self._collect()
        self.has_branches = any({"anyOf", "oneOf"} & set(place) for place in self._same)
        # Parents before children within one value; a cycle there never ends (draft 2020-12 core, 9.4.1).
        order = _topological({place: list(targets) for place, targets in self._same.items()})
        if order is None:
            raise refuse(
                document.tool_name,
                min(self._in_cycles(), key=text_of),
                "this $ref leads back to itself for the same value",
            )
        self._order: dict[Place, int] = {place: index for index, place in enumerate(order)}
        everything = {
            place: [*targets, *(sub for _, sub in self._children[place])] for place, targets in self._same.items()
        }
        whole = _topological(everything)
        self.recursive = whole is None
        self.evaluations = 0
        if whole is not None:
            ways: Counter[Place] = Counter({(): 1})
            for place in whole:
                for target in everything[place]:
                    ways[target] += ways[place] * self._weight(place)
            self.evaluations = sum(ways.values())
        if self.evaluations > MAX_EVALUATIONS:
            raise refuse(document.tool_name, (), f"more than {MAX_EVALUATIONS} subschemas apply at once; simplify it")

    def is_cheap(self, values: int) -> bool:
        """Whether arguments of at most so many `values` need no walk to say that they are within the bound."""
        return not self.recursive and self.evaluations * values <= MAX_CALL_EVALUATIONS

    def exceeds(self, value: JsonValue, limit: int = MAX_CALL_EVALUATIONS) -> bool:
        """Whether evaluating `value` could take more than `limit` evaluations."""
        total = 0
        queue: list[tuple[JsonValue, dict[Place, int]]] = [(value, {(): 1})]
        while queue:
            current, ways = queue.pop()
            entered = [(self._entry(place), count) for place, count in ways.items()]
            total += sum(entry.evaluations * count for entry, count in entered)
            if total > limit:
                return True
            for child, key in _children_of(current):
                below: dict[Place, int] = {}
                for entry, count in entered:
                    for target, weight in entry.met_by(key):
                        below[target] = below.get(target, 0) + count * weight
                if below:
                    queue.append((child, below))
                    if total + len(queue) > limit:  # each of them is one at least
                        return True
        return False

    def _entry(self, place: Place) -> _Entry:
        """What happens when a value meets the schema at `place`; worked out once, whichever thread comes first."""
        known = self._entries.get(place)
        if known is None:
            known = self._entries[place] = self._work_out(place)
        return known

    def _work_out(self, start: Place) -> _Entry:
        closure: set[Place] = set()
        queue = [start]
        while queue:
            place = queue.pop()
            if place not in closure:
                closure.add(place)
                queue.extend(self._same[place])
        ways: Counter[Place] = Counter({start: 1})
        children: dict[str, Counter[Place]] = {}
        for place in sorted(closure, key=self._order.__getitem__):
            count = ways[place] * self._weight(place)
            for target in self._same[place]:
                ways[target] += count
            for kind, target in self._children[place]:
                children.setdefault(kind, Counter())[target] += count
        return _Entry(
            evaluations=sum(ways.values()),
            children={kind: tuple(targets.items()) for kind, targets in children.items()},
        )

    def _weight(self, place: Place) -> int:
        """What is "unevaluated" is found by a second look at the subschemas beside the keyword."""
        schema = self._document.at(place)
        return 2 if type(schema) is dict and any(name in schema for name in _UNEVALUATED) else 1

    def _collect(self) -> None:
        queue: list[Place] = [()]
        while queue:
            place = queue.pop()
            if place in self._same:
                continue
            same, children = self._same.setdefault(place, []), self._children.setdefault(place, [])
            schema = self._document.at(place)
            if type(schema) is dict and "$ref" in schema:
                same.append(self._document.resolve(schema["$ref"], place))
            for keyword, sub in self._document.subschemas(place):
                if keyword.role in {"all", "some"}:
                    same.append(sub)
                else:
                    children.append((f".{sub[-1]}" if keyword.role == "property" else _ANY, sub))
            queue.extend([*same, *(sub for _, sub in children)])

    def _in_cycles(self) -> Iterator[Place]:
        """The schemas that lead to themselves for the same value."""
        for start in self._same:
            seen: set[Place] = set()
            queue = list(self._same[start])
            while queue:
                place = queue.pop()
                if place not in seen:
                    seen.add(place)
                    queue.extend(self._same[place])
            if start in seen:
                yield start


def _children_of(value: JsonValue) -> Iterator[tuple[JsonValue, str]]:
    if type(value) is dict:
        yield from ((item, f".{key}") for key, item in value.items())
    elif type(value) is list:
        yield from ((item, _ANY) for item in value)


def _topological(edges: Mapping[Place, list[Place]]) -> list[Place] | None:
    """The places, sources first; None when there is a cycle."""
    incoming = Counter(target for targets in edges.values() for target in targets)
    ready = [place for place in edges if not incoming[place]]
    order: list[Place] = []
    while ready:
        place = ready.pop()
        order.append(place)
        for target in edges[place]:
            incoming[target] -= 1
            if not incoming[target]:
                ready.append(target)
    return order if len(order) == len(edges) else None
