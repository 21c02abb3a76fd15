"""What is done to a fresh parse, once, before it is judged (design 2 and 3.2).

1. Every field of every model counts as set: given and defaulted are no difference, to the tool neither.
2. A default that can hold something mutable is copied, so that two calls share no mutable node: a factory may return
   one list for ever, and a frozen model that holds a list is shared by whoever has it as a default. Models know which
   fields were defaulted; dataclasses do not, so there each such field is copied.

A value that is not what was declared is left alone: the walk refuses it. What is too deep or too large for the walk is
refused here already, so that a cycle ends.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from aioc_opa.core.canonical_form.nodes import (
    AnyJson,
    DictOf,
    ListOf,
    Node,
    Record,
    RootOf,
    TupleOf,
    TupleRest,
    UnionOf,
    followed,
)
from aioc_opa.core.canonical_form.overlap import alternatives
from aioc_opa.core.canonical_form.tags import tag_checks
from aioc_opa.core.canonical_form.write_state import WriteState

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from aioc_opa.core.canonical_form.nodes import Concrete
    from aioc_opa.core.canonical_form.tags import MayBe

Settler: TypeAlias = Callable[[Any, WriteState, int], None]
"""``(value, state, depth)``; raises `ValueRefusedError` for what the walk would find too deep or too large."""

_Field: TypeAlias = tuple[str, "Settler | None", bool]
"""Attribute, what settles its value, and whether its default has to be copied."""


class SettleCompiler:
    """Compiles each node once; None where there is nothing to settle."""

    def __init__(self) -> None:
        self._done: dict[Node, Settler] = {}

    def settler(self, node: Node | None) -> Settler | None:
        """What settles a value of `node`."""
        node = followed(node)
        if not _has_records(node):
            return None
        if node not in self._done:
            done = self._done

            def settle_recursive(value: Any, state: WriteState, depth: int) -> None:
                done[node](value, state, depth)

            self._done[node] = settle_recursive  # replaced below; whoever asks meanwhile gets the late one
            self._done[node] = self._compiled(node)
        return self._done[node]

    def _compiled(self, node: Node) -> Settler:
        match node:
            case ListOf():
                return _sequence_settler(list, self._sure(node.item))
            case TupleRest():
                return _sequence_settler(tuple, self._sure(node.item))
            case TupleOf():
                return _tuple_settler([self.settler(item) for item in node.items])
            case DictOf():
                return _dict_settler({}, self.settler(node.value))
            case UnionOf():
                members = alternatives(node)
                checked = zip(members, tag_checks(members), strict=True)
                return _union_settler([(self._sure(one), may_be) for one, may_be in checked if _has_records(one)])
            case RootOf():
                return _model_settler(node.cls, [("root", self.settler(node.root), may_be_mutable(node.root))])
            case Record(style="typed_dict"):
                return _dict_settler({field.name: self.settler(field.node) for field in node.fields}, None)
            case Record():
                fields = [
                    (field.attribute, self.settler(field.node), field.has_default and may_be_mutable(field.node))
                    for field in node.fields
                ]
                return _model_settler(node.cls, fields) if node.style == "model" else _plain_settler(node.cls, fields)
        return _nothing

    def _sure(self, node: Node) -> Settler:
        return self.settler(node) or _nothing


def _nothing(_value: Any, _state: WriteState, _depth: int) -> None:
    pass


def _sequence_settler(cls: type[Any], settle_item: Settler) -> Settler:
    def settle_sequence(value: Any, state: WriteState, depth: int) -> None:
        if type(value) is cls:
            state.enter(len(value), depth)
            for item in value:
                settle_item(item, state, depth + 1)

    return settle_sequence


def _tuple_settler(settlers: Sequence[Settler | None]) -> Settler:
    def settle_tuple(value: Any, state: WriteState, depth: int) -> None:
        if type(value) is tuple:
            state.enter(len(value), depth)
            for item, settle in zip(value, settlers, strict=False):  # a wrong length is the walk's to refuse
                if settle is not None:
                    settle(item, state, depth + 1)

    return settle_tuple


def _dict_settler(known: dict[str, Settler | None], other: Settler | None) -> Settler:
    def settle_dict(value: Any, state: WriteState, depth: int) -> None:
        if type(value) is dict:
            state.enter(len(value), depth)
            for key, item in value.items():
                settle = known.get(key, other)
                if settle is not None:
                    settle(item, state, depth + 1)

    return settle_dict


def _union_settler(settlers: Sequence[tuple[Settler, MayBe | None]]) -> Settler:
    def settle_union(value: Any, state: WriteState, depth: int) -> None:
        for settle, may_be in settlers:  # each looks at the type first, and for TypedDicts the tags are the type
            if may_be is None or may_be(value):
                settle(value, state, depth)

    return settle_union


def _model_settler(cls: type[Any], fields: Sequence[_Field]) -> Settler:
    names = frozenset(attribute for attribute, _, _ in fields)
    defaulted = [attribute for attribute, _, copied in fields if copied]
    inner = [(attribute, settle) for attribute, settle, _ in fields if settle is not None]

    def settle_model(value: Any, state: WriteState, depth: int) -> None:
        if type(value) is not cls:
            return
        given = value.__pydantic_fields_set__
        if given != names and not names <= given:
            held = value.__dict__
            for attribute in defaulted:
                if attribute not in given and attribute in held:
                    held[attribute] = _private_copy(held[attribute], state)
            given.update(names)
        if inner:
            state.enter(len(inner), depth)
            held = value.__dict__
            for attribute, settle in inner:
                if attribute in held:
                    settle(held[attribute], state, depth + 1)

    return settle_model


def _plain_settler(cls: type[Any], fields: Sequence[_Field]) -> Settler:
    def settle_dataclass(value: Any, state: WriteState, depth: int) -> None:
        if type(value) is not cls:
            return
        state.enter(len(fields), depth)
        for attribute, settle, copied in fields:
            held = getattr(value, attribute, None)
            if copied and held is not None:
                held = _private_copy(held, state)
                object.__setattr__(value, attribute, held)  # frozen or not
            if settle is not None:
                settle(held, state, depth + 1)

    return settle_dataclass


_IMMUTABLE: Final = frozenset({NoneType, bool, int, float, str})


def _private_copy(value: Any, state: WriteState) -> Any:
    """A copy that shares nothing that can be changed; what many copies of a large default hold is counted."""
    if type(value) is list and not value:
        return []
    if type(value) is dict and not value:
        return {}
    if type(value) is list and _IMMUTABLE.issuperset(map(type, value)):
        state.enter(len(value), 1)
        return value.copy()
    if (
        type(value) is dict
        and _IMMUTABLE.issuperset(map(type, value))
        and _IMMUTABLE.issuperset(map(type, value.values()))
    ):
        state.enter(2 * len(value), 1)
        return value.copy()
    return copy.deepcopy(value)


def _has_records(node: Node | None) -> bool:
    return any(isinstance(part, Record | RootOf) for part in _with_parts(node))


def may_be_mutable(node: Node | None) -> bool:
    """Whether a value of `node` has a part that can be changed in place."""
    return any(isinstance(part, AnyJson | ListOf | DictOf | Record | RootOf) for part in _with_parts(node))


def _with_parts(node: Node | None) -> Iterator[Concrete]:
    """`node` and its parts, each once, down to the first records."""
    seen: set[Node] = set()
    ahead = [node]
    while ahead:
        part = followed(ahead.pop())
        if part not in seen:
            seen.add(part)
            yield part
            ahead.extend(_parts(part))


def _parts(node: Node) -> tuple[Node, ...]:
    match node:
        case ListOf() | TupleRest():
            return (node.item,)
        case TupleOf():
            return node.items
        case DictOf():
            return (node.value,)
        case UnionOf():
            return node.members
    return ()
