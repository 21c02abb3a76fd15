"""What an annotation says about a value, as a graph of nodes. Everything else here is a function over it.

A node is compared by identity. A class has one node in one graph, so that recursive classes close the circle.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    import enum

ScalarKind: TypeAlias = Literal[
    "null", "boolean", "integer", "number", "string", "decimal", "uuid", "date", "time", "datetime"
]
JsonScalar: TypeAlias = "bool | int | float | str | None"


@dataclass(eq=False, slots=True)
class Scalar:
    """One exact scalar type. All from ``decimal`` on are written as strings."""

    kind: ScalarKind


@dataclass(eq=False, slots=True)
class AnyJson:
    """`Any` and `object`: whatever plain JSON holds (no tuple: it would be written like a list)."""


@dataclass(eq=False, slots=True)
class PlainLiteral:
    """`Literal` of plain values."""

    values: tuple[JsonScalar, ...]


@dataclass(eq=False, slots=True)
class EnumMembers:
    """Members of one Enum class, with the JSON value of each: all of them, or those that a `Literal` names."""

    cls: type[enum.Enum]
    members: tuple[tuple[enum.Enum, JsonScalar], ...]


@dataclass(eq=False, slots=True)
class ListOf:
    """A list."""

    item: Node


@dataclass(eq=False, slots=True)
class TupleOf:
    """A tuple of one length."""

    items: tuple[Node, ...]


@dataclass(eq=False, slots=True)
class TupleRest:
    """A tuple of any length."""

    item: Node


@dataclass(eq=False, slots=True)
class DictOf:
    """A dict with str keys."""

    value: Node


@dataclass(eq=False, slots=True)
class UnionOf:
    """Several possibilities, none of them a union."""

    members: tuple[Node, ...]


@dataclass(eq=False, slots=True)
class Alias:
    """A named alias (``type X = …``), which may mention itself. `target` is set when it has been read."""

    name: str
    target: Node | None = None


@dataclass(frozen=True, slots=True)
class RecordField:
    """One field of a record.

    Attributes:
        attribute: name in the Python object.
        name: name in the canonical value.
        node: what it holds.
        has_default: it may be left out of the input.
        always_written: false for a key that a TypedDict may lack.
    """

    attribute: str
    name: str
    node: Node
    has_default: bool = False
    always_written: bool = True


@dataclass(eq=False, slots=True)
class Record:
    """A class with named fields. `fields` and `extra` are set when they have been read.

    Attributes:
        cls: the class.
        style: where an instance keeps its fields: a model and a dataclass in ``__dict__``, a slotted
            dataclass in slots, a TypedDict in itself.
        extra: what the keys beyond the fields hold; None where there must be none.
    """

    cls: type[Any]
    style: Literal["model", "dataclass", "slotted", "typed_dict"]
    fields: list[RecordField] = field(default_factory=list)
    extra: Node | None = None


@dataclass(eq=False, slots=True)
class RootOf:
    """A RootModel: written as its root value, as pydantic reads it. `root` is set when it has been read."""

    cls: type[Any]
    root: Node | None = None


Concrete: TypeAlias = (
    Scalar | AnyJson | PlainLiteral | EnumMembers | ListOf | TupleOf | TupleRest | DictOf | UnionOf | Record | RootOf
)
Node: TypeAlias = "Concrete | Alias"


class UnreadNodeError(RuntimeError):
    """A node is used before its class was read: a mistake of this package."""


def followed(node: Node | None) -> Concrete:
    """`node`, or what an alias stands for.

    Raises:
        UnreadNodeError: the alias has not been read.
    """
    while isinstance(node, Alias):
        node = node.target
    if node is None:
        raise UnreadNodeError
    return node
