"""Declared defaults, filled in before the one validation.

The rules, which decide the same for every call because they are applied at registration:

1. A default counts where it stands on the schema of a property: directly, through `allOf`, or through a local `$ref`.
   `properties`, `items`, `prefixItems`, `allOf` and `$ref` are followed to find such properties.
2. A default anywhere else that the validator can reach (below `anyOf`, `if`, `patternProperties`, `contains`, …, on an
   item, or at the top) is refused: whether it applies would depend on the value, or nothing can be missing there.
3. A default never satisfies `required`: a property that is required is not filled. One that only a condition
   requires (`anyOf`, `dependentRequired`, …) is refused, for filling it would decide the condition.
4. Two different defaults for one property are refused; so is one whose filling never ends.
5. Defaults are canonical JSON. Every fill is a copy of its own (`json_schema_fill`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from aioc_opa.core.canonical_json import canonical_text
from aioc_opa.core.tool_schemas.json_schema_document import Place, SchemaDocument, refuse, text_of
from aioc_opa.core.tool_schemas.json_schema_fill import Budget, Fill, FilledTooMuchError, with_something_to_fill
from aioc_opa.core.tool_schemas.protocol import NotCanonicalError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from aioc_opa.core.json_value import JsonObject, JsonValue
    from aioc_opa.errors import ToolRegistrationError

MAX_DEFAULT_NODES: Final = 10_000
"""Nodes of one default with the defaults inside it filled in."""

MAX_DEFAULT_NESTING: Final = 64
"""Defaults inside defaults."""

MAX_STATES: Final = 10_000
"""Distinct combinations of schemas that can apply to one value."""

MAX_STEPS: Final = 200_000
"""Schemas put into combinations, all in all: about a second. A tool list of a stranger must not hold up a start."""


@dataclass(frozen=True, slots=True)
class _State:
    """The schemas that apply to one value: always, and under some condition. Closed under the same-value keywords."""

    always: frozenset[Place]
    sometimes: frozenset[Place]


@dataclass(frozen=True, slots=True)
class UsedDefault:
    """A default that can be filled in.

    Attributes:
        place: of the `default` keyword.
        schemas: places of the schemas that the value must satisfy.
        value: as it is filled in.
    """

    place: Place
    schemas: frozenset[Place]
    value: JsonValue


@dataclass(slots=True)
class DefaultsCompiler:
    """Applies the rules to one document. `compile` gives the plan, or None when there is nothing to fill.

    Attributes:
        used: after `compile`: every default that can be filled in, for the caller to validate.
    """

    document: SchemaDocument
    used: list[UsedDefault] = field(default_factory=list)
    _plans: dict[_State, Fill] = field(default_factory=dict)
    _owed: dict[int, dict[str, tuple[_State, Place]]] = field(default_factory=dict)  # by id() of the plan
    _queue: list[_State] = field(default_factory=list)
    _same: dict[Place, list[tuple[Place, bool]]] = field(default_factory=dict)
    _steps: int = 0

    def compile(self) -> Fill | None:
        """The plan for the whole arguments object.

        Raises:
            ToolRegistrationError: a rule does not hold.
        """
        root = self._close({()}, set())
        self._refuse_defaults(root.always, "nothing can be missing at the top level")
        plan = self._plan(root)
        while self._queue:
            self._fill_in(self._queue.pop())
        for owner in self._plans.values():
            for name, (state, place) in self._owed.get(id(owner), {}).items():
                owner.missing[name] = self._expand(state, place, [])
                self.used.append(UsedDefault(place, state.always, owner.missing[name]))
        keep = with_something_to_fill(self._plans.values())
        for owner in self._plans.values():
            owner.children = {name: child for name, child in owner.children.items() if id(child) in keep}
        return plan if id(plan) in keep else None

    # -- which schemas apply to one value

    def _close(self, always: Iterable[Place], sometimes: Iterable[Place]) -> _State:
        certain, possible = set(always), set(sometimes)
        queue = [(place, True) for place in certain] + [(place, False) for place in possible]
        while queue:
            place, is_certain = queue.pop()
            self._steps += 1
            if self._steps > MAX_STEPS:
                raise self._too_many()
            if place not in self._same:
                self._same[place] = list(self._same_value(place))
            for target, unconditional in self._same[place]:
                found = certain if is_certain and unconditional else possible
                if target not in found:
                    found.add(target)
                    queue.append((target, found is certain))
        return _State(frozenset(certain), frozenset(possible))

    def _same_value(self, place: Place) -> Iterable[tuple[Place, bool]]:
        schema = self.document.at(place)
        if type(schema) is dict and "$ref" in schema:
            yield self.document.resolve(schema["$ref"], place), True
        for keyword, sub in self.document.subschemas(place):
            if keyword.role in {"all", "some"}:
                yield sub, keyword.role == "all"

    # -- the plan

    def _plan(self, state: _State) -> Fill:
        known = self._plans.get(state)
        if known is not None:
            return known
        if len(self._plans) >= MAX_STATES:
            raise self._too_many()
        self._plans[state] = Fill()
        self._queue.append(state)
        return self._plans[state]

    def _too_many(self) -> ToolRegistrationError:
        return refuse(self.document.tool_name, (), "too many combinations of schemas; simplify its references")

    def _fill_in(self, state: _State) -> None:
        plan = self._plans[state]
        self._refuse_defaults(state.sometimes, "it would apply under a condition only; move it to `properties`")
        self._plan_properties(state, plan)
        self._plan_items(state, plan)

    def _plan_properties(self, state: _State, plan: Fill) -> None:
        always, sometimes = self._properties(state.always), self._properties(state.sometimes)
        others = self._children(state.always | state.sometimes, {"some_property"})
        if others:
            self._plan(self._close((), others))
        required, demanded = self._required(state)
        for name in sorted({*always, *sometimes}):
            child = self._close(always.get(name, ()), {*sometimes.get(name, ()), *others})
            plan.children[name] = self._plan(child)
            place = self._default_place(child)
            if place is None or name in required:
                continue
            if name in demanded:
                raise refuse(
                    self.document.tool_name,
                    place,
                    f"a default for {name!r}, which {text_of(demanded[name])} requires under a condition, "
                    "would decide that condition",
                )
            self._owed.setdefault(id(plan), {})[name] = (child, place)

    def _plan_items(self, state: _State, plan: Fill) -> None:
        prefixes: dict[int, set[Place]] = {}
        rest: dict[Place, int] = {}
        for place in state.always:
            held = [sub for keyword, sub in self.document.subschemas(place) if keyword.role == "item"]
            ordered = [sub for sub in held if type(sub[-1]) is int]
            for index, sub in enumerate(ordered):
                prefixes.setdefault(index, set()).add(sub)
            rest.update({sub: len(ordered) for sub in held if sub not in ordered})
        possible = self._children(state.always | state.sometimes, {"some_item"})
        possible |= self._children(state.sometimes, {"item"})
        for index in range(max([*prefixes, *(start - 1 for start in rest.values()), -1]) + 1):
            covering = {sub for sub, start in rest.items() if index >= start}
            plan.prefix.append(self._item(prefixes.get(index, set()) | covering, possible))
        if rest or possible:
            plan.rest = self._item(set(rest), possible)

    def _item(self, always: set[Place], sometimes: set[Place]) -> Fill:
        state = self._close(always, sometimes)
        self._refuse_defaults(state.always, "an item is there or not; only a property can be missing")
        return self._plan(state)

    def _properties(self, places: Iterable[Place]) -> dict[str, set[Place]]:
        found: dict[str, set[Place]] = {}
        for sub in self._children(places, {"property"}):
            found.setdefault(str(sub[-1]), set()).add(sub)
        return found

    def _children(self, places: Iterable[Place], roles: set[str]) -> set[Place]:
        return {sub for place in places for keyword, sub in self.document.subschemas(place) if keyword.role in roles}

    # -- required (rule 3)

    def _required(self, state: _State) -> tuple[set[str], dict[str, Place]]:
        required: set[str] = set()
        demanded: dict[str, Place] = {}
        for place in sorted(state.always | state.sometimes, key=text_of):
            schema = self._keywords(place)
            names = schema.get("required")
            for name in names if type(names) is list else ():
                if place in state.always:
                    required.add(str(name))
                else:
                    demanded[str(name)] = (*place, "required")
            for keyword in ("dependentRequired", "dependencies"):
                held = schema.get(keyword)
                for names in held.values() if type(held) is dict else ():
                    demanded.update({str(name): (*place, keyword) for name in (names if type(names) is list else ())})
        return required, demanded

    def _keywords(self, place: Place) -> JsonObject:
        schema = self.document.at(place)
        return schema if type(schema) is dict and not self.document.reference_hides_siblings(schema) else {}

    # -- the defaults themselves (rules 2, 4, 5)

    def _refuse_defaults(self, places: Iterable[Place], why: str) -> None:
        for place in sorted(places, key=text_of):
            schema = self.document.at(place)
            if type(schema) is dict and "default" in schema:
                raise refuse(self.document.tool_name, (*place, "default"), f"a default here is not filled in: {why}")

    def _default_place(self, state: _State) -> Place | None:
        found: dict[str, Place] = {}
        for place in sorted(state.always, key=text_of):
            schema = self.document.at(place)
            if type(schema) is not dict or "default" not in schema:
                continue
            here = (*place, "default")
            if self.document.reference_hides_siblings(schema):
                raise refuse(self.document.tool_name, here, "this draft ignores what stands beside $ref; use allOf")
            try:
                found.setdefault(canonical_text(schema["default"]), here)
            except NotCanonicalError as error:
                inner = (*here, *error.path)
                raise refuse(self.document.tool_name, inner, f"no canonical JSON: {error.problem}") from None
        if len(found) > 1:
            first, second = list(found.values())[:2]
            raise refuse(self.document.tool_name, first, f"another default stands at {text_of(second)}")
        return next(iter(found.values()), None)

    def _expand(self, state: _State, place: Place, stack: list[_State]) -> JsonValue:
        """The default with the defaults inside it filled in."""
        if state in stack or len(stack) >= MAX_DEFAULT_NESTING:
            raise refuse(self.document.tool_name, place, "this default contains itself without end")
        budget = Budget(MAX_DEFAULT_NODES)
        try:
            value = budget.copy(self.document.at(place))
            self._fill_default(self._plans[state], value, budget, [*stack, state])
        except FilledTooMuchError:
            raise refuse(
                self.document.tool_name, place, f"filled in, this default has more than {MAX_DEFAULT_NODES} values"
            ) from None
        return value

    def _fill_default(self, plan: Fill, value: JsonValue, budget: Budget, stack: list[_State]) -> None:
        if type(value) is dict:
            owed = self._owed.get(id(plan), {})
            for name, child in plan.children.items():
                if name in value:
                    self._fill_default(child, value[name], budget, stack)
                elif name in owed:
                    value[name] = budget.copy(self._expand(*owed[name], stack))
        elif type(value) is list:
            for index, item in enumerate(value):
                below = plan.prefix[index] if index < len(plan.prefix) else plan.rest
                if below is not None:
                    self._fill_default(below, item, budget, stack)
