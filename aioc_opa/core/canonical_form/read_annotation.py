"""From an annotation to nodes; what cannot be written faithfully is refused here, with its place and a cure.

Only what is named here is accepted. A validator beside an annotation may do what it likes as long as what it
returns is what the annotation says: the walk checks every value.
"""

from __future__ import annotations

import collections.abc
import enum
import itertools
import types
import typing
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Union, get_args, get_origin

import pydantic
from pydantic.fields import FieldInfo

from aioc_opa.core.canonical_form.nodes import (
    Alias,
    AnyJson,
    DictOf,
    EnumMembers,
    ListOf,
    Node,
    PlainLiteral,
    RootOf,
    Scalar,
    TupleOf,
    TupleRest,
    UnionOf,
    followed,
)
from aioc_opa.core.canonical_form.overlap import Overlap, alternatives, same_level
from aioc_opa.core.canonical_form.read_class import Classes, resolved
from aioc_opa.core.canonical_form.refusal import AnnotationRefusedError
from aioc_opa.core.canonical_form.scalar_types import CURES, SCALARS
from aioc_opa.core.canonical_form.wording import TYPE_ALIASES, looked_up, named, why_not
from aioc_opa.core.canonical_json import NotCanonicalError, canonical_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from aioc_opa.core.canonical_form.nodes import JsonScalar

Place = tuple[str, ...]

_LISTS: Final = (list, collections.abc.Sequence, collections.abc.MutableSequence)  # pydantic makes a list of JSON
_DICTS: Final = (dict, collections.abc.Mapping, collections.abc.MutableMapping)  # and a dict


class AnnotationReader:
    """Reads one tool's annotations; classes and aliases are read once."""

    def __init__(self) -> None:
        self.classes = Classes(self.read)
        self._aliases: dict[int, tuple[object, Alias]] = {}
        self._unions: list[tuple[Place, UnionOf]] = []

    def read(self, annotation: Any, place: Place, *, open_extras: bool) -> Node:
        """The node of `annotation`.

        Args:
            annotation: resolved: no strings in it.
            place: where it stands, for the message.
            open_extras: whether the config around it lets extra keys in (pydantic hands it down to dataclasses
                and TypedDicts that have no config).

        Raises:
            AnnotationRefusedError: some of its values have no faithful canonical form.
        """
        scalar = looked_up(SCALARS, annotation)
        if scalar is not None:
            return Scalar(scalar)
        if annotation is Any or annotation is object or annotation is pydantic.JsonValue:
            return AnyJson()
        if isinstance(annotation, TYPE_ALIASES):
            return self._alias(annotation, place, open_extras=open_extras)
        if isinstance(annotation, typing.NewType):
            return self.read(annotation.__supertype__, place, open_extras=open_extras)
        origin, args = get_origin(annotation) or annotation, get_args(annotation)
        if origin is Annotated:
            refuse_metadata(args[1:], place)
            return self.read(args[0], place, open_extras=open_extras)
        if origin is Literal:
            return self._union(_read_literal(args, place), place)
        if origin is Union or origin is types.UnionType:
            members = [self.read(member, place, open_extras=open_extras) for member in args]
            return self._union(members, place)
        if origin in _LISTS:
            return ListOf(self.read(args[0] if args else Any, (*place, "[]"), open_extras=open_extras))
        if origin is tuple:
            return self._tuple(annotation, args, place, open_extras=open_extras)
        if origin in _DICTS:
            return self._dict(args or (Any, Any), place, open_extras=open_extras)
        if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
            return _read_enum(annotation, place)
        known = self.classes.read(annotation, place, open_extras=open_extras)
        if known is not None:
            return known
        raise AnnotationRefusedError(place, why_not(annotation, origin))

    def finish(self) -> None:
        """Check every union, now that every class has been read.

        Raises:
            AnnotationRefusedError: something stands for itself, or two members of a union can write equal JSON
                from values that are not equal.
        """
        single: list[tuple[Place, Node]] = [*self._unions, *self.classes.roots]
        for place, node in single:
            if _stands_for_itself(node):
                raise AnnotationRefusedError(place, f"{named(node)} stands for itself: put a field or a list between")
        overlap = Overlap()
        for place, union in self._unions:
            for a, b in itertools.combinations(alternatives(union), 2):
                if not overlap.faithful(a, b):
                    raise AnnotationRefusedError(
                        place,
                        f"a union of {named(a)} and {named(b)}, which can write equal JSON from different values: "
                        "declare one of them, or give each model a field of its own Literal (a tag)",
                    )

    def _union(self, members: list[Node], place: Place) -> Node:
        if len(members) == 1:
            return members[0]
        union = UnionOf(tuple(members))
        self._unions.append((place, union))
        return union

    def _alias(self, annotation: Any, place: Place, *, open_extras: bool) -> Node:
        known = self._aliases.get(id(annotation))
        if known is not None:
            return known[1]
        alias = Alias(annotation.__name__)
        self._aliases[id(annotation)] = (annotation, alias)  # the annotation is kept, so that its id stays its own
        value = resolved(annotation.__value__, annotation.__module__, f"the alias {alias.name}", place)
        alias.target = self.read(value, place, open_extras=open_extras)
        if alias.target is alias:
            raise AnnotationRefusedError(place, f"the alias {alias.name!r} stands for itself")
        return alias

    def _tuple(self, annotation: Any, args: tuple[Any, ...], place: Place, *, open_extras: bool) -> Node:
        if not args and annotation in (tuple, typing.Tuple):  # noqa: UP006 - the bare typing.Tuple is what is looked for
            return TupleRest(AnyJson())
        if len(args) == 2 and args[1] is Ellipsis:  # noqa: PLR2004 - tuple[X, ...]
            return TupleRest(self.read(args[0], (*place, "[]"), open_extras=open_extras))
        items = [self.read(arg, (*place, f"[{index}]"), open_extras=open_extras) for index, arg in enumerate(args)]
        return TupleOf(tuple(items))

    def _dict(self, args: tuple[Any, ...], place: Place, *, open_extras: bool) -> Node:
        key = AnyJson() if args[0] is Any else self.read(args[0], (*place, "{key}"), open_extras=open_extras)
        if not _is_str_key(key):
            raise AnnotationRefusedError(place, "a dict whose keys are not str: declare str keys, or a list of pairs")
        return DictOf(self.read(args[1], (*place, "[*]"), open_extras=open_extras))


def refuse_metadata(metadata: Iterable[object], place: Place) -> None:
    """Refuse what makes parsing itself an effect, and a default that is no field's.

    What pydantic does with the latter depends on how it is spelled; on a TypedDict's key it is one object for all
    calls, and nothing in the dict tells that it was not given.

    Raises:
        AnnotationRefusedError: `pydantic.ImportString` is among them, or a `Field` with a default.
    """
    for item in metadata:
        if item is pydantic.ImportString or isinstance(item, pydantic.ImportString):
            raise AnnotationRefusedError(place, f"ImportString: {CURES[pydantic.ImportString]}")
        if isinstance(item, FieldInfo) and not item.is_required():
            raise AnnotationRefusedError(
                place,
                "a default that is not a field's own (on a TypedDict's key, in an alias, in a container): give it to "
                "the field of a model or dataclass, or make the key NotRequired",
            )


def _is_str_key(key: Node) -> bool:
    if isinstance(key, PlainLiteral):
        return all(type(value) is str for value in key.values)
    return isinstance(key, AnyJson) or (isinstance(key, Scalar) and key.kind == "string")


def _read_literal(args: tuple[Any, ...], place: Place) -> list[Node]:
    plain: list[JsonScalar] = []
    by_class: dict[type[enum.Enum], list[enum.Enum]] = {}
    for value in args:
        if isinstance(value, enum.Enum):
            by_class.setdefault(type(value), []).append(value)
        elif value is None or type(value) in (str, int, bool):
            plain.append(value)
        else:
            raise AnnotationRefusedError(
                place, f"a Literal of {type(value).__name__}: use str, int, bool, None or an Enum"
            )
    nodes: list[Node] = [PlainLiteral(tuple(plain))] if plain else []
    for value in plain:
        _check_scalar(value, place, "a Literal")
    for cls, members in by_class.items():
        nodes.append(_read_enum(cls, place, members))
    return nodes


def _read_enum(cls: type[enum.Enum], place: Place, members: list[enum.Enum] | None = None) -> EnumMembers:
    if issubclass(cls, enum.Flag):
        raise AnnotationRefusedError(
            place, f"{cls.__name__} is a Flag, whose sums are no members: declare a list of an Enum"
        )
    pairs: dict[str, tuple[enum.Enum, JsonScalar]] = {}
    for member in cls if members is None else members:
        value = member._value_  # `value` may be overridden; this is what pydantic looks up
        text = _check_scalar(value, place, f"{cls.__name__}.{member.name}")
        if text in pairs:
            raise AnnotationRefusedError(
                place, f"two members of {cls.__name__} have the same JSON value: give each its own"
            )
        pairs[text] = (member, int(value) if type(value) is float and value.is_integer() else value)
    if not pairs:
        raise AnnotationRefusedError(place, f"{cls.__name__} has no members")
    return EnumMembers(cls, tuple(pairs.values()))


def _check_scalar(value: object, place: Place, what: str) -> str:
    if value is not None and type(value) not in (str, int, bool, float):
        raise AnnotationRefusedError(
            place, f"{what} is a {type(value).__name__}, not a JSON scalar: give it a str value"
        )
    try:
        return canonical_text(value)
    except NotCanonicalError as error:
        raise AnnotationRefusedError(place, f"{what}: {error.problem}") from None


def _stands_for_itself(node: Node) -> bool:
    """Whether a union or root leads back to itself with no level of JSON between."""
    return any(followed(part) is node for inner in same_level(node) for part in _directly(inner))


def _directly(node: Node) -> tuple[Node | None, ...]:
    if isinstance(node, UnionOf):
        return node.members
    return (node.root,) if isinstance(node, RootOf) else ()
