"""Whether two members of a union can write equal JSON from values that are not equal (design 3.2).

Two relations over nodes, both conservative: a pair that the rules do not cover is refused.

- `disjoint(a, b)`: no value of `a` is ever written like a value of `b`.
- `faithful(a, b)`: if a value of `a` is written like one of `b`, the two are equal and of equal types (but
  for int and float).

Rules:

1. Different JSON kinds (null, boolean, number, string, array, object) are disjoint.
2. Plain JSON of one kind is faithful: the JSON is the value.
3. Decimal, UUID, date, time and datetime write strings of different shapes, so they are disjoint from each other,
   and from a `Literal` of strings that they never write; not from `str`.
4. Enum members and literals are disjoint if their JSON values are.
5. Two lists are faithful if their items are, two dicts if their values are, two tuples of a length if all their
   positions are. A list and a tuple are not: `[]` and `()`.
6. Two models or dataclasses are disjoint by a tag and by nothing else: a field of both that holds a `Literal`,
   with different values.
7. Recursive pairs are faithful unless something else says otherwise: equality has no other witness.
"""

from __future__ import annotations

import datetime as dt
import decimal
import itertools
import uuid
from typing import TYPE_CHECKING, Final, TypeGuard

from aioc_opa.core.canonical_form.nodes import (
    AnyJson,
    DictOf,
    EnumMembers,
    ListOf,
    Node,
    PlainLiteral,
    Record,
    RootOf,
    Scalar,
    TupleOf,
    TupleRest,
    UnionOf,
    followed,
)
from aioc_opa.core.canonical_json import canonical_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from aioc_opa.core.canonical_form.nodes import Concrete

_SCALAR_KIND: Final = {
    "null": "null", "boolean": "boolean", "integer": "number", "number": "number", "string": "string",
    "decimal": "string", "uuid": "string", "date": "string", "time": "string", "datetime": "string",
}  # fmt: skip
_ALL_KINDS: Final = frozenset({"null", "boolean", "number", "string", "array", "object"})

_WRITTEN_AS_STRING: Final[dict[str, Callable[[str], str]]] = {
    # Reads a text and writes it again; a text that does not come back is never written.
    "decimal": lambda text: str(decimal.Decimal(text)).upper(),
    "uuid": lambda text: str(uuid.UUID(text)),
    "date": lambda text: dt.date.fromisoformat(text).isoformat(),
    "time": lambda text: dt.time.fromisoformat(text).isoformat(),
    "datetime": lambda text: dt.datetime.fromisoformat(text).isoformat(),
}


def kinds(node: Node | None) -> frozenset[str]:
    """The JSON kinds that a value of `node` may be written as."""
    found: set[str] = set()
    for part in same_level(node):
        found |= _kinds(part)
    return frozenset(found)


def same_level(node: Node | None, *, roots: bool = True) -> Iterator[Concrete]:
    """`node` and what stands in its place: a union's members and, with `roots`, a RootModel's root. Each once."""
    seen: set[Node] = set()
    ahead = [node]
    while ahead:
        part = followed(ahead.pop())
        if part not in seen:
            seen.add(part)
            yield part
            if isinstance(part, UnionOf):
                ahead.extend(reversed(part.members))
            elif roots and isinstance(part, RootOf):
                ahead.append(part.root)


def alternatives(union: UnionOf) -> list[Concrete]:
    """The members of a union and of the unions among them, each once, in their order."""
    return [part for part in same_level(union, roots=False) if not isinstance(part, UnionOf)]


def _kinds(node: Concrete) -> frozenset[str]:
    match node:
        case Scalar():
            return frozenset({_SCALAR_KIND[node.kind]})
        case AnyJson():
            return _ALL_KINDS
        case PlainLiteral() | EnumMembers():
            return frozenset(_kind_of(text) for text in _finite(node) or ())
        case ListOf() | TupleOf() | TupleRest():
            return frozenset({"array"})
        case DictOf() | Record():
            return frozenset({"object"})
    return frozenset()  # of its members, or its root


class Overlap:
    """Both relations for one graph; remembers the pairs under way, so that recursion ends (rule 7)."""

    def __init__(self) -> None:
        self._faithful: set[tuple[Node, Node]] = set()
        self._disjoint: dict[tuple[Node, Node], bool | None] = {}
        self._assumed = 0

    def faithful(self, a: Node | None, b: Node | None) -> bool:
        """Equal JSON only from equal values."""
        a, b = followed(a), followed(b)
        if a is b or (a, b) in self._faithful:
            return True
        self._faithful.add((a, b))
        if isinstance(a, UnionOf):
            return all(self.faithful(member, b) for member in a.members)
        if isinstance(b, UnionOf):
            return all(self.faithful(a, member) for member in b.members)
        if self.disjoint(a, b):
            return True
        match a, b:
            case (Scalar(), Scalar()) if a.kind == b.kind:
                return True
            case (EnumMembers(), EnumMembers()):
                return a.cls is b.cls
            case (ListOf(), ListOf()):
                return self.faithful(a.item, b.item)
            case (TupleRest(), TupleRest()):
                return self.faithful(a.item, b.item)
            case (TupleOf(), TupleOf()):
                return all(itertools.starmap(self.faithful, zip(a.items, b.items, strict=True)))
            case (TupleOf(), TupleRest()):
                return all(self.faithful(item, b.item) for item in a.items)
            case (TupleRest(), TupleOf()):
                return self.faithful(b, a)
        if _is_plain_dict(a) and _is_plain_dict(b):
            return all(self.faithful(x, y) for x, y in _shared_entries(a, b))
        return self._plain(a) and self._plain(b)

    def disjoint(self, a: Node | None, b: Node | None) -> bool:
        """Never equal JSON."""
        a, b = followed(a), followed(b)
        if a is b:
            return False
        if (a, b) in self._disjoint:
            known = self._disjoint[a, b]
            self._assumed += known is None
            return bool(known)  # under way: not shown to be disjoint
        assumed = self._assumed
        self._disjoint[a, b] = None
        answer = self._disjoint_now(a, b)
        if answer or assumed == self._assumed:
            self._disjoint[a, b] = answer
        else:
            del self._disjoint[a, b]  # it may have hung on a pair under way
        return answer

    def _disjoint_now(self, a: Node, b: Node) -> bool:
        if isinstance(a, UnionOf):
            return all(self.disjoint(member, b) for member in a.members)
        if isinstance(b, UnionOf):
            return all(self.disjoint(a, member) for member in b.members)
        if not kinds(a) & kinds(b):
            return True
        if isinstance(a, RootOf):
            return self.disjoint(a.root, b)
        if isinstance(b, RootOf):
            return self.disjoint(a, b.root)
        texts_a, texts_b = _finite(a), _finite(b)
        if texts_a is not None and texts_b is not None:
            return not texts_a & texts_b
        match a, b:
            case (Scalar(), Scalar()):
                return a.kind != b.kind and a.kind in _WRITTEN_AS_STRING and b.kind in _WRITTEN_AS_STRING
            case (Scalar(), PlainLiteral() | EnumMembers()):
                return a.kind in _WRITTEN_AS_STRING and not any(_may_write(a.kind, value) for value in _values(b))
            case (PlainLiteral() | EnumMembers(), Scalar()):
                return self.disjoint(b, a)
            case (TupleOf(), TupleOf()):
                return len(a.items) != len(b.items) or any(
                    itertools.starmap(self.disjoint, zip(a.items, b.items, strict=True))
                )
            case (Record(), Record()):
                return _tagged_apart(a, b)
        return False

    def _plain(self, node: Node | None, seen: set[Node] | None = None) -> bool:
        """Every value of it is plain JSON already: the text says all there is (rule 2)."""
        node = followed(node)
        seen = set() if seen is None else seen
        if node in seen:
            return True  # looked at, or under way: one that is not plain ends the whole question
        seen.add(node)
        match node:
            case Scalar():
                return node.kind not in _WRITTEN_AS_STRING
            case AnyJson() | PlainLiteral():
                return True
            case ListOf():
                return self._plain(node.item, seen)
            case DictOf():
                return self._plain(node.value, seen)
            case UnionOf():
                return all(self._plain(member, seen) for member in node.members)
            case Record(style="typed_dict"):
                return all(self._plain(field.node, seen) for field in node.fields)
        return False


def _kind_of(text: str) -> str:
    return {"n": "null", "t": "boolean", "f": "boolean", '"': "string"}.get(text[0], "number")


def _values(node: PlainLiteral | EnumMembers) -> tuple[object, ...]:
    return node.values if isinstance(node, PlainLiteral) else tuple(value for _, value in node.members)


def _finite(node: Node) -> frozenset[str] | None:
    """The JSON texts of a node that has a list of them."""
    if isinstance(node, PlainLiteral | EnumMembers):
        return frozenset(canonical_text(value) for value in _values(node))
    return None


def _may_write(kind: str, value: object) -> bool:
    if not isinstance(value, str):
        return False
    try:
        return _WRITTEN_AS_STRING[kind](value) == value
    except (ValueError, ArithmeticError):
        return False


def _tagged_apart(a: Record, b: Record) -> bool:
    """Rule 6. The tag is looked up by the name that is written."""
    tags = {field.name: _tag(field.node) for field in b.fields if field.always_written}
    for field in a.fields:
        mine, theirs = _tag(field.node), tags.get(field.name)
        if field.always_written and mine is not None and theirs is not None and not mine & theirs:
            return True
    return False


def _tag(node: Node) -> frozenset[str] | None:
    node = followed(node)
    if not isinstance(node, UnionOf):
        return _finite(node)
    tags: set[str] = set()  # Literal["a", Kind.B] is read as a union of two
    for member in node.members:
        texts = _finite(followed(member))
        if texts is None:
            return None
        tags |= texts
    return frozenset(tags)


def _is_plain_dict(node: Node) -> TypeGuard[DictOf | Record]:
    return isinstance(node, DictOf) or (isinstance(node, Record) and node.style == "typed_dict")


def _shared_entries(a: DictOf | Record, b: DictOf | Record) -> list[tuple[Node, Node]]:
    """What may stand under one key in both: both objects are plain dicts, so only their entries can differ."""
    names = {field.name for node in (a, b) if isinstance(node, Record) for field in node.fields}
    pairs = [(_entry(a, name), _entry(b, name)) for name in (*names, None)]
    return [(x, y) for x, y in pairs if x is not None and y is not None]


def _entry(node: DictOf | Record, name: str | None) -> Node | None:
    if isinstance(node, DictOf):
        return node.value
    return next((field.node for field in node.fields if field.name == name), node.extra)
