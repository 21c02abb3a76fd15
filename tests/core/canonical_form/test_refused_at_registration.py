from __future__ import annotations

import collections
import collections.abc
import dataclasses
import datetime as dt
import enum
import pathlib
import re
import typing
from collections.abc import Callable, Generator, Iterable, Iterator
from ipaddress import IPv4Address
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

import pydantic
import pytest
from pydantic import BaseModel, ConfigDict, Field, HttpUrl, ImportString, PrivateAttr, RootModel, SecretBytes, SecretStr
from typing_extensions import TypeAliasType, TypedDict

from tests.core.canonical_form.forms import refused_registration

T = TypeVar("T")


class Perm(enum.Flag):
    READ = 1
    WRITE = 2


class TupleValued(enum.Enum):
    A = (1, 2)


class Huge(enum.Enum):
    A = 2**60


class Memberless(enum.Enum):
    pass


class Opaque:
    pass


class Pair(NamedTuple):
    a: int


def some_function(x: int) -> int:
    return x


class Private(BaseModel):
    x: int
    _y: int = PrivateAttr(default=1)


class PrivateRoot(RootModel[dict[str, int]]):
    _y: int = PrivateAttr(default=1)


class UsesEnumValues(BaseModel):
    model_config = ConfigDict(use_enum_values=True)
    x: int


class WithSlots(BaseModel):
    __slots__ = ("hidden",)
    x: int


class Open(BaseModel, typing.Generic[T]):
    x: T


class TypedExtras(BaseModel):
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, set[int]]


class UnknownExtras(BaseModel):
    model_config = ConfigDict(extra="allow")
    x: int


@dataclasses.dataclass
class WithInitVar:
    x: int
    y: dataclasses.InitVar[int] = 0


@dataclasses.dataclass
class FromDict(dict):  # type: ignore[type-arg] - a bare base is what is tested
    x: int


@dataclasses.dataclass
class MoreSlots:
    __slots__ = ("hidden", "x")
    x: int


@dataclasses.dataclass
class LacksSlot:
    __slots__ = ("x",)
    x: int
    y: int = 1


class SameValues(enum.Enum):
    A = "a"
    B = "b"


SameValues.B._value_ = "a"


class _SlottedBase:
    __slots__ = ("hidden",)


@dataclasses.dataclass
class SlottedMixin(_SlottedBase):
    x: int


@dataclasses.dataclass
class Unresolved:
    x: Missing  # type: ignore[name-defined] # noqa: F821 - what is tested


class UnresolvedModel(BaseModel):
    x: Missing  # type: ignore[name-defined] # noqa: F821 - what is tested


class UnresolvedDict(TypedDict):
    x: Missing  # type: ignore[name-defined] # noqa: F821 - what is tested


def own_list() -> list[int]:
    return []


DefaultInAlias = TypeAliasType("DefaultInAlias", Annotated[list[int], Field(default_factory=own_list)])


class GenericTree(BaseModel, typing.Generic[T]):
    value: T
    children: list[GenericTree[T]] = []


class DefaultedKey(TypedDict):
    x: Annotated[list[int], Field(default_factory=own_list)]


class DefaultedOptionalKey(TypedDict, total=False):
    x: DefaultInAlias


class Ring(RootModel["Ring | None"]):
    pass


class Loop(RootModel["Loop"]):
    pass


GenericAlias = TypeAliasType("GenericAlias", list[T], type_params=(T,))
Circular = TypeAliasType("Circular", "Circular")  # type: ignore[misc] - what is tested
SelfUnion = TypeAliasType("SelfUnion", "int | SelfUnion")  # type: ignore[misc] - what is tested
Dangling = TypeAliasType("Dangling", "list[Nowhere]")  # type: ignore[name-defined] # noqa: F821 - what is tested


@pytest.mark.parametrize(
    ("annotation", "said"),
    [
        (set[int], "a set has no order"),
        (frozenset[int], "a set has no order"),
        (collections.abc.Set[int], "a set has no order"),
        (bytes, "bytes are not JSON"),
        (bytearray, "bytes are not JSON"),
        (SecretStr, "a secret prints as stars"),
        (SecretBytes, "a secret prints as stars"),
        (pydantic.Secret[int], "a secret prints as stars"),
        (ImportString, "imports code"),
        (ImportString[Any], "imports code"),
        (Annotated[Any, ImportString()], "imports code"),
        (Iterable[int], "declare a list"),
        (Iterator[int], "declare a list"),
        (Generator[int, None, None], "declare a list"),
        (Callable[[int], int], "it is code"),
        (type[int], "it is code"),
        (some_function, "is a callable, and validating with it would run it"),
        (collections.deque[int], "declare a list"),
        (collections.OrderedDict[str, int], "declare a dict"),
        (collections.defaultdict[str, int], "declare a dict"),
        (collections.Counter[str], "declare a dict"),
        (dt.timedelta, "number of seconds"),
        (pathlib.Path, "declare a str"),
        (pathlib.PurePosixPath, "declare a plain JSON type"),
        (complex, "two parts as floats"),
        (re.Pattern[str], "declare a str"),
        (HttpUrl, "declare a plain JSON type"),
        (IPv4Address, "declare a plain JSON type"),
        (pydantic.ByteSize, "declare an int"),
        (BaseModel, "declare the concrete model"),
        (Opaque, "Opaque: declare a plain JSON type"),
        (Pair, "Pair is a named tuple"),
        (T, "the type variable T is open"),
        (Open, "the type variable T is open"),
        (dict[int, str], "a dict whose keys are not str"),
        (dict[Literal["a", 1], str], "a dict whose keys are not str"),
        (dict[Perm, str], "Perm is a Flag"),
        (Perm, "Perm is a Flag"),
        (TupleValued, "TupleValued.A is a tuple"),
        (Huge, "beyond ±(2^53-1)"),
        (Memberless, "Memberless has no members"),
        (Literal[b"x"], "a Literal of bytes"),
        (Literal[2**60], "beyond ±(2^53-1)"),
        (Private, "Private has private attributes"),
        (PrivateRoot, "PrivateRoot has private attributes"),
        (UsesEnumValues, "use_enum_values"),
        (WithSlots, "WithSlots has the slot 'hidden'"),
        (TypedExtras, "a set has no order"),
        (WithInitVar, "an InitVar is gone after the parse"),
        (FromDict, "FromDict derives from dict"),
        (MoreSlots, "MoreSlots has the slot 'hidden'"),
        (LacksSlot, "LacksSlot has fields that are no slots"),
        (SameValues, "two members of SameValues have the same JSON value"),
        (SlottedMixin, "SlottedMixin has the slot 'hidden'"),
        (Unresolved, "not resolved (Missing)"),
        (UnresolvedModel, "not resolved"),
        (UnresolvedDict, "not resolved (Missing)"),
        ("Missing", "is not resolved"),
        (GenericAlias[int], "the generic alias"),
        (Circular, "stands for itself"),
        (SelfUnion, "stands for itself"),
        (Ring, "stands for itself"),
        (Loop, "Loop stands for itself"),
        (Dangling, "not resolved (Nowhere)"),
        (GenericTree[int], "x.children[]: a generic model that mentions itself is not followed: write it out"),
        (DefaultedKey, "x.x: a default that is not a field's own"),
        (DefaultedOptionalKey, "x.x: a default that is not a field's own"),
        (DefaultInAlias, "a default that is not a field's own"),
        (list[Annotated[int, Field(default=1)]], "x[]: a default that is not a field's own"),
    ],
)
def test_what_annotations_show_is_refused_with_tool_place_and_cure(annotation: Any, said: str) -> None:
    class Holder(BaseModel):
        model_config = ConfigDict(arbitrary_types_allowed=True)
        x: Any

    # Set after the class statement: pydantic itself refuses some of these, and the reader has to do it alone.
    Holder.__pydantic_fields__["x"].annotation = annotation
    message = refused_registration(Holder, whole=True)
    assert said in message
    assert message.startswith("tool 'tool': x")


def test_the_place_names_the_way_through_containers() -> None:
    class Inner(BaseModel):
        price: set[int]

    class Outer(BaseModel):
        lines: list[Inner]
        pairs: tuple[int, dict[str, set[int]]] = (1, {})

    assert "lines[].price: " in refused_registration(Outer, whole=True)
    del Outer.__pydantic_fields__["lines"]
    assert "pairs[1][*]: " in refused_registration(Outer, whole=True)
