"""A bound on the validator's work, so that no schema and no arguments can keep it busy.

Two things multiply. What one look at one value costs is in `json_schema_weight`. How often a value is looked at is
counted here: ``anyOf`` over ``anyOf``, a `$ref` used twice by a target that is used twice, and recursion whose branches
all descend into the same child, which doubles at every level of the arguments.

`evaluations` counts, for schemas without recursion, the ways from the root to a subschema: no value is looked at more
often. Where that could be much work for arguments of their size, and wherever there is recursion, `CostMeter.exceeds`
bounds the call, in one walk that adds up counts instead of repeating work (`json_schema_walk`).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from aioc_opa.core.tool_schemas.json_schema_document import Place, SchemaDocument, refuse, text_of
from aioc_opa.core.tool_schemas.json_schema_pattern import MAX_POSITIONS, positions
from aioc_opa.core.tool_schemas.json_schema_walk import ANY, NAMES, Entry, Walk
from aioc_opa.core.tool_schemas.json_schema_weight import MAX_CALL_UNITS, Weight, weight_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from aioc_opa.core.json_value import JsonValue

MAX_EVALUATIONS: Final = 10_000
"""Subschemas of one schema that may apply to one value, each counted once a way that leads to it."""

MAX_ALL_POSITIONS: Final = 50_000
"""Of all patterns of one schema: each takes up to 3 kB when it is compiled."""

_UNEVALUATED: Final = ("unevaluatedProperties", "unevaluatedItems")


class CostMeter:
    """The bound for one document.

    Attributes:
        has_branches: whether the schema has `anyOf` or `oneOf`.
        recursive: whether the schema contains itself, so that the bound depends on the arguments.
        evaluations: without recursion, how many subschemas can apply to one value.

    Raises:
        ToolRegistrationError: a schema leads to itself for the same value, `evaluations` is over the bound, or a
            pattern has too many positions.
    """

    __slots__ = (
        "_children",
        "_document",
        "_entries",
        "_order",
        "_same",
        "_weights",
        "_whole",
        "evaluations",
        "has_branches",
        "recursive",
    )

    def __init__(self, document: SchemaDocument) -> None:
        self._document = document
        self._same: dict[Place, list[Place]] = {}
        self._children: dict[Place, list[tuple[str, Place]]] = {}
        self._weights: dict[Place, Weight] = {}
        self._entries: dict[Place, Entry] = {}
        self._collect()
        self._check_patterns()
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
        self._whole = Weight()
        if whole is not None:
            ways: Counter[Place] = Counter({(): 1})
            for place in whole:
                for target in everything[place]:
                    ways[target] += ways[place] * self._times(place)
                self._whole.add(self._weights[place], ways[place] * self._times(place))
            self.evaluations = sum(ways.values())
        if self.evaluations > MAX_EVALUATIONS:
            raise refuse(document.tool_name, (), f"more than {MAX_EVALUATIONS} subschemas apply at once; simplify it")

    def is_cheap(self, *, values: int, text: int) -> bool:
        """Whether arguments of at most so many `values` and keys, and bytes of `text`, need no walk to be allowed."""
        return not self.recursive and self._whole.at_most(values=values, text=text) <= MAX_CALL_UNITS

    def exceeds(self, value: JsonValue, looks: int | None = None) -> bool:
        """Whether evaluating `value` could be too much work, or take more than so many `looks`."""
        return Walk(self._entry).exceeds(value, looks)

    def _entry(self, place: Place) -> Entry:
        """What happens when a value meets the schema at `place`; worked out once, whichever thread comes first."""
        known = self._entries.get(place)
        if known is None:
            known = self._entries[place] = self._work_out(place)
        return known

    def _work_out(self, start: Place) -> Entry:
        closure: set[Place] = set()
        queue = [start]
        while queue:
            place = queue.pop()
            if place not in closure:
                closure.add(place)
                queue.extend(self._same[place])
        ways: Counter[Place] = Counter({start: 1})
        children: dict[str, Counter[Place]] = {}
        weight = Weight()
        for place in sorted(closure, key=self._order.__getitem__):
            count = ways[place] * self._times(place)
            weight.add(self._weights[place], count)
            for target in self._same[place]:
                ways[target] += count
            for kind, target in self._children[place]:
                children.setdefault(kind, Counter())[target] += count
        weight.looks = sum(ways.values())
        return Entry(weight, {kind: tuple(targets.items()) for kind, targets in children.items()})

    def _times(self, place: Place) -> int:
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
            hidden = type(schema) is dict and self._document.reference_hides_siblings(schema)
            self._weights[place] = (
                weight_of(schema) if type(schema) is dict and not hidden else Weight(looks=1, units=1)
            )
            if type(schema) is dict and "$ref" in schema:
                same.append(self._document.resolve(schema["$ref"], place))
            for keyword, sub in self._document.subschemas(place):
                if keyword.role in {"all", "some"}:
                    same.append(sub)
                else:
                    kind = NAMES if keyword.name == "propertyNames" else ANY
                    children.append((f".{sub[-1]}" if keyword.role == "property" else kind, sub))
            queue.extend([*same, *(sub for _, sub in children)])

    def _check_patterns(self) -> None:
        total = 0
        for place in self._same:
            schema = self._document.at(place)
            if type(schema) is not dict:
                continue
            keys = schema.get("patternProperties")
            found = [((*place, "patternProperties", key), key) for key in (keys if type(keys) is dict else ())]
            for at, pattern in [((*place, "pattern"), schema.get("pattern")), *found]:
                count = positions(pattern) if type(pattern) is str else 0
                total += count
                if count > MAX_POSITIONS or total > MAX_ALL_POSITIONS:
                    raise refuse(
                        self._document.tool_name,
                        at,
                        f"this pattern repeats too much ({MAX_POSITIONS} positions for one, {MAX_ALL_POSITIONS} for "
                        "all of a schema): bound the length by maxLength, and repeat with * or +",
                    )

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
