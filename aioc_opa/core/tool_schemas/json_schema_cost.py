"""How often a validator may look at one value: a bound, so that no schema and no arguments can keep it busy.

Regular expressions are linear already (`regex`, the engine without backtracking). What is left is repetition:
``anyOf`` over ``anyOf``, a `$ref` used twice by a target that is used twice, and recursion whose branches all
descend into the same child, which doubles at every level of the arguments.

`evaluations` counts, for schemas without recursion, the ways from the root to a subschema: no value is looked at more
often. With recursion the count depends on the arguments, and `CostMeter.exceeds` bounds it per call, in one walk that
adds up counts instead of repeating work.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from aioc_opa.core.tool_schemas.json_schema_document import Place, SchemaDocument, refuse, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from aioc_opa.core.json_value import JsonValue

MAX_EVALUATIONS: Final = 10_000
"""Subschemas of one schema that may apply to one value, each counted once a way that leads to it."""

MAX_CALL_EVALUATIONS: Final = 1_000_000
"""Evaluations of one call under a recursive schema: about a second of the validator's time at the very worst."""

_UNEVALUATED: Final = ("unevaluatedProperties", "unevaluatedItems")


class CostMeter:
    """The bound for one document.

    Attributes:
        has_branches: whether the schema has `anyOf` or `oneOf`.
        recursive: whether the schema contains itself, so that the bound depends on the arguments.
        evaluations: without recursion, how many subschemas can apply to one value.

    Raises:
        ToolRegistrationError: a schema leads to itself for the same value, or `evaluations` is over the bound.
    """

    __slots__ = ("_children", "_document", "_order", "_same", "evaluations", "has_branches", "recursive")

    def __init__(self, document: SchemaDocument) -> None:
        self._document = document
        self._same: dict[Place, list[Place]] = {}
        self._children: dict[Place, list[tuple[str, Place]]] = {}
        self._collect()
        self.has_branches = any({"anyOf", "oneOf"} & set(place) for place in self._same)
        # Parents before children within one value; a cycle there never ends (draft 2020-12 core, 9.4.1).
        order = _topological({place: list(targets) for place, targets in self._same.items()})
        if order is None:
            raise refuse(document.tool_name, self._first_cycle(), "this $ref leads back to itself for the same value")
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

    def exceeds(self, value: JsonValue, limit: int = MAX_CALL_EVALUATIONS) -> bool:
        """Whether evaluating `value` could take more than `limit` evaluations."""
        total = 0
        queue: list[tuple[JsonValue, Counter[Place]]] = [(value, Counter({(): 1}))]
        while queue:
            current, ways = queue.pop()
            self._spread(ways)
            total += sum(ways.values())
            if total > limit:
                return True
            for child, key in _children_of(current):
                below: Counter[Place] = Counter()
                for place, count in ways.items():
                    for kind, target in self._children[place]:
                        if kind in ("*", key):
                            below[target] += count * self._weight(place)
                if below:
                    queue.append((child, below))
                    if total + len(queue) > limit:  # each of them is one at least
                        return True
        return False

    def _spread(self, ways: Counter[Place]) -> None:
        """Add what applies to the same value."""
        waiting = sorted(ways, key=self._order.__getitem__, reverse=True)
        seen = set(waiting)
        while waiting:
            place = waiting.pop()
            for target in self._same[place]:
                ways[target] += ways[place] * self._weight(place)
                if target not in seen:
                    seen.add(target)
                    waiting.append(target)
            waiting.sort(key=self._order.__getitem__, reverse=True)

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
                    children.append((f".{sub[-1]}" if keyword.role == "property" else "*", sub))
            queue.extend([*same, *(sub for _, sub in children)])

    def _first_cycle(self) -> Place:
        """A schema that leads to itself for the same value."""
        for start in sorted(self._same, key=text_of):
            seen: set[Place] = set()
            queue = list(self._same[start])
            while queue:
                place = queue.pop()
                if place == start:
                    return start
                if place not in seen:
                    seen.add(place)
                    queue.extend(self._same[place])
        return ()


def _children_of(value: JsonValue) -> Iterator[tuple[JsonValue, str]]:
    if type(value) is dict:
        yield from ((item, f".{key}") for key, item in value.items())
    elif type(value) is list:
        yield from ((item, "*") for item in value)


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
