"""After the parse every field counts as set, and two calls share no mutable node."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

import pydantic.dataclasses
import pytest
from pydantic import BaseModel, ConfigDict, Field, RootModel
from typing_extensions import TypedDict

from aioc_opa.core.canonical_form import compile_form
from aioc_opa.core.canonical_json import NotCanonicalError
from aioc_opa.core.tool_schemas.protocol import SchemaRejectionError
from aioc_opa.core.tool_schemas.pydantic_schema import PydanticSchema

SHARED: list[int] = [1]


class Frozen(BaseModel, frozen=True):
    values: list[int] = Field(default_factory=lambda: SHARED)


@dataclasses.dataclass(frozen=True)
class FrozenData:
    values: list[int] = dataclasses.field(default_factory=lambda: SHARED)


@dataclasses.dataclass(frozen=True, slots=True)
class SlottedData:
    values: list[int] = dataclasses.field(default_factory=lambda: SHARED)
    inner: FrozenData = FrozenData()


@pydantic.dataclasses.dataclass
class CheckedData:
    values: list[int] = Field(default_factory=lambda: SHARED)


class Part(TypedDict):
    frozen: Frozen


class Root(RootModel[dict[str, list[int]]]):
    root: dict[str, list[int]] = {"a": SHARED}


class Everything(BaseModel):
    plain: list[int] = SHARED
    empty: list[int] = []
    nothing: dict[str, int] = {}
    frozen: Frozen = Frozen()
    factory: list[int] = Field(default_factory=lambda: SHARED)
    any: Any = SHARED
    in_tuple: tuple[list[int], int] = (SHARED, 1)
    in_tuples: tuple[Frozen, ...] = (Frozen(),)
    either: Frozen | int | None = Frozen()
    data: FrozenData = FrozenData()
    slotted: SlottedData = SlottedData()
    checked: CheckedData = Field(default_factory=CheckedData)
    mapping: dict[str, Frozen] = {"a": Frozen()}
    root: Root = Field(default_factory=Root)
    listed: list[Frozen] = Field(default_factory=lambda: [Frozen()])
    text: str = "immutable"
    numbers: tuple[int, ...] = (1, 2)


class Given(BaseModel):
    """Everything nested is given as an empty object, and defaulted inside."""

    part: Part
    pair: tuple[Frozen, FrozenData]
    many: tuple[Frozen, ...]
    each: dict[str, Root]
    either: Frozen | int


def mutable_nodes(value: object, found: dict[int, object]) -> dict[int, object]:
    if isinstance(value, list | dict | BaseModel) or dataclasses.is_dataclass(value):
        found[id(value)] = value
    if isinstance(value, list | tuple):
        for item in value:
            mutable_nodes(item, found)
    elif isinstance(value, dict):
        for item in value.values():
            mutable_nodes(item, found)
    elif isinstance(value, BaseModel):
        mutable_nodes(list(value.__dict__.values()), found)
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            mutable_nodes(getattr(value, field.name), found)
    return found


@pytest.mark.parametrize(
    ("cls", "raw"),
    [
        (Everything, "{}"),
        (Given, '{"part":{"frozen":{}},"pair":[{},{}],"many":[{}],"each":{"a":{}},"either":{}}'),
        (FrozenData, "{}"),
        (SlottedData, "{}"),
        (CheckedData, "{}"),
    ],
)
def test_two_calls_share_no_mutable_node(cls: type, raw: str) -> None:
    schema = PydanticSchema(cls, tool_name="tool")
    first, second = schema.parse(raw), schema.parse(raw)
    mine, theirs = mutable_nodes(first, {}), mutable_nodes(second, {})
    assert len(mine) == len(theirs) > 1
    assert mine.keys().isdisjoint(theirs)
    assert id(SHARED) not in mine
    assert schema.canonical_text(first) == schema.canonical_text(second)


def test_a_given_value_is_not_copied() -> None:
    class Seen(BaseModel):
        values: list[int] = SHARED

        @pydantic.field_validator("values")
        @classmethod
        def _keep(cls, value: list[int]) -> list[int]:
            kept.append(value)
            return value

    kept: list[object] = []
    parsed = PydanticSchema(Seen, tool_name="tool").parse('{"values":[5]}')
    assert isinstance(parsed, Seen)
    assert parsed.values is kept[0]


def test_every_field_counts_as_set_at_every_depth() -> None:
    schema = PydanticSchema(Everything, tool_name="tool")
    parsed = schema.parse("{}")
    models = [node for node in mutable_nodes(parsed, {}).values() if isinstance(node, BaseModel)]
    assert len(models) > 6
    for model in models:
        assert model.model_fields_set == set(type(model).model_fields)


def test_extras_stay_set_beside_the_fields() -> None:
    class Open(BaseModel):
        model_config = ConfigDict(extra="allow")
        a: int = 1
        b: int = 2

    parsed = PydanticSchema(Open, tool_name="tool").parse('{"z":1,"y":2}')
    assert isinstance(parsed, Open)
    assert parsed.model_fields_set == {"a", "b", "y", "z"}


def test_a_default_that_cannot_be_copied_rejects_the_call() -> None:
    class Uncopyable:
        def __deepcopy__(self, _memo: object) -> Uncopyable:
            raise ZeroDivisionError

    class Odd(BaseModel):
        x: Any = Field(default_factory=Uncopyable)

    with pytest.raises(SchemaRejectionError) as caught:
        PydanticSchema(Odd, tool_name="tool").parse("{}")
    assert caught.value.issues[0].code == "validator_error"


class Tree(BaseModel):
    children: list[Tree] = []
    by_name: dict[str, Tree] = {}
    pair: tuple[Tree, Tree] | None = None
    more: tuple[Tree, ...] = ()


@dataclasses.dataclass
class DataTree:
    child: DataTree | None = None


def test_settling_ends_on_cycles() -> None:
    tree, ring = Tree(), DataTree()
    tree.children.append(tree)
    tree.by_name["a"] = tree
    ring.child = ring
    for value in (tree, ring):
        with pytest.raises(NotCanonicalError, match="contains itself"):
            compile_form(type(value), tool_name="tool").settle(value)


def test_a_parse_that_contains_itself_is_rejected_as_not_canonical() -> None:
    class Knot(BaseModel):
        next: Knot | None = None

        @pydantic.model_validator(mode="after")
        def _tie(self) -> Knot:
            self.next = self
            return self

    with pytest.raises(SchemaRejectionError) as caught:
        PydanticSchema(Knot, tool_name="tool").parse("{}")
    assert caught.value.issues[0].code == "not_canonical"


def test_settling_leaves_what_was_not_declared_to_the_walk() -> None:
    form = compile_form(Tree, tool_name="tool")
    odd = Tree()
    odd.__dict__.update(children="abc", by_name=[1], pair=(Tree(),), more=[Tree()])
    partial = Tree.model_construct()
    partial.__dict__.clear()
    for value in (odd, partial, "something else", {}):
        form.settle(value)
        with pytest.raises(NotCanonicalError):
            form.text(value)
    compile_form(DataTree, tool_name="tool").settle("something else")


def test_members_of_a_union_are_settled_each_by_its_class() -> None:
    class Dog(BaseModel):
        kind: Literal["dog"] = "dog"
        age: int = 1

    class Home(BaseModel):
        pet: Frozen | None
        dogs: list[Dog | int]

    parsed = PydanticSchema(Home, tool_name="tool").parse('{"pet":null,"dogs":[1,{}]}')
    assert isinstance(parsed, Home)
    dog = parsed.dogs[1]
    assert isinstance(dog, Dog)
    assert dog.model_fields_set == {"kind", "age"}


def test_many_copies_of_a_large_default_are_counted() -> None:
    large = list(range(1000))
    keyed = {str(index): index for index in large}

    class Item(BaseModel):
        listed: list[int] = Field(default_factory=lambda: large)

    class KeyedItem(BaseModel):
        keyed: dict[str, int] = Field(default_factory=lambda: keyed)

    for item in (Item, KeyedItem):
        schema = PydanticSchema(pydantic.create_model("M", items=(list[item], ...)), tool_name="tool")  # type: ignore[valid-type]
        with pytest.raises(SchemaRejectionError) as caught:
            schema.parse('{"items":[' + ",".join(["{}"] * 2000) + "]}")
        assert caught.value.issues[0].message == "it has more than 1000000 values"
