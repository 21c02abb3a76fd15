"""What a refused annotation is called, and what to write instead, in the words of the errors."""

from __future__ import annotations

import typing
from typing import TYPE_CHECKING, Any, Final, TypeVar

import typing_extensions

from aioc_opa.core.canonical_form.nodes import (
    Alias,
    AnyJson,
    DictOf,
    EnumMembers,
    ListOf,
    Node,
    PlainLiteral,
    Scalar,
    TupleOf,
    TupleRest,
    UnionOf,
)
from aioc_opa.core.canonical_form.scalar_types import CURES, GENERAL_CURE

if TYPE_CHECKING:
    from collections.abc import Mapping

V = TypeVar("V")

TYPE_ALIASES: Final = tuple(
    {typing_extensions.TypeAliasType, getattr(typing, "TypeAliasType", typing_extensions.TypeAliasType)}
)
"""What a `type` statement makes, here and in `typing_extensions`."""


def looked_up(table: Mapping[Any, V], annotation: object) -> V | None:
    """The entry of an annotation; `Annotated` with a dict or a list in its metadata has no hash."""
    try:
        return table.get(annotation)
    except TypeError:
        return None


def named(node: Node) -> str:
    """The type that `node` stands for, as an author would write it."""
    match node:
        case Scalar():
            return {"null": "None", "boolean": "bool", "integer": "int", "number": "float", "string": "str"}.get(
                node.kind, node.kind
            )
        case AnyJson():
            return "Any"
        case EnumMembers():
            return node.cls.__name__
        case PlainLiteral():
            return "a Literal"
        case ListOf() | TupleOf() | TupleRest() | DictOf() | UnionOf() | Alias():
            return f"a {type(node).__name__.removesuffix('Of').removesuffix('Rest').lower()}"
    return node.cls.__name__


def why_not(annotation: Any, origin: Any) -> str:
    """Why an annotation is refused, and the cure."""
    name = getattr(annotation, "__name__", None) or str(annotation)
    if isinstance(annotation, str | typing.ForwardRef):
        return (
            f"the name {annotation!s} is not resolved: import it where the class is defined, then call model_rebuild()"
        )
    if type(annotation).__name__ == "PydanticRecursiveRef":  # pydantic exports no name for it
        return "a generic model that mentions itself is not followed: write it out as a model without parameters"
    if isinstance(annotation, TypeVar):
        return f"the type variable {name} is open: name the concrete type"
    if origin in TYPE_ALIASES or isinstance(origin, TYPE_ALIASES):
        return f"the generic alias {annotation} is not followed: write out what it stands for"
    for known in (origin, *getattr(origin, "__mro__", ())):
        cure = looked_up(CURES, known)
        if cure is not None:
            return f"{name}: {cure}"
    if callable(annotation) and not isinstance(annotation, type):
        return f"{name} is a callable, and validating with it would run it: declare its arguments as a model"
    return f"{name}: {GENERAL_CURE}"
