from __future__ import annotations

import dataclasses
from typing import Annotated, Any, Generic, NotRequired, Required, TypeVar

import pydantic.dataclasses
import pytest
from pydantic import (
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    RootModel,
    computed_field,
    field_serializer,
    field_validator,
    model_serializer,
)
from typing_extensions import TypeAliasType, TypedDict

from tests.core.canonical_form.forms import text_of, whole_text

T = TypeVar("T")


class Child(BaseModel):
    b: int
    a: str = "x"


class Plain(BaseModel):
    amount: Annotated[int, Field(alias="theAmount")]
    hidden: str = Field(default="h", exclude=True)
    child: Child
    other: int = Field(default=1, validation_alias=AliasChoices("o", "p"), serialization_alias="q")

    @computed_field  # type: ignore[prop-decorator] - mypy does not support it on a property
    @property
    def twice(self) -> int:
        return self.amount * 2

    @field_serializer("amount")
    def _amount(self, value: int) -> str:
        return "always the same"


def test_fields_by_python_name_excluded_ones_too_no_computed_no_serializer() -> None:
    text = whole_text(Plain, '{"theAmount":1,"child":{"b":2},"o":5}')
    assert text == '{"amount":1,"child":{"a":"x","b":2},"hidden":"h","other":5}'


def test_a_model_serializer_is_not_asked() -> None:
    class Loud(BaseModel):
        x: int

        @model_serializer
        def _all(self) -> dict[str, Any]:
            raise AssertionError

    assert whole_text(Loud, '{"x":1}') == '{"x":1}'


def test_validators_transform_what_is_written() -> None:
    class Stripped(BaseModel):
        model_config = ConfigDict(str_strip_whitespace=True)
        name: str
        tags: list[str]

        @field_validator("tags")
        @classmethod
        def _sorted(cls, value: list[str]) -> list[str]:
            return sorted(value)

    assert whole_text(Stripped, '{"name":"  a ","tags":["b","a"]}') == '{"name":"a","tags":["a","b"]}'


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: int = Field(alias="A")


class OpenInts(BaseModel):
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, int]
    a: int


def test_extras_are_written() -> None:
    assert whole_text(Open, '{"A":1,"z":[null],"\\u00e9":2,"Z":{}}') == '{"Z":{},"a":1,"z":[null],"é":2}'
    assert whole_text(Open, '{"A":1}') == '{"a":1}'
    assert whole_text(OpenInts, '{"a":1,"z":"3"}') == '{"a":1,"z":3}'


def test_astral_keys_are_ordered_by_utf_16_units() -> None:
    assert whole_text(dict[str, int], '{"\\ufb33":1,"\\ud83d\\ude02":2}') == '{"\U0001f602":2,"\ufb33":1}'


def test_names_that_are_not_ascii_are_ordered_by_utf_16_units() -> None:
    fields: dict[str, Any] = {"\uffdc": (int, ...), "\U00010280": (int, ...), "a": (int, ...)}
    model = pydantic.create_model("M", **fields)
    assert whole_text(model, '{"\uffdc":1,"\U00010280":2,"a":3}') == '{"a":3,"\U00010280":2,"\uffdc":1}'


@dataclasses.dataclass
class Point:
    x: int
    y: float = 0.5
    names: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True, slots=True)
class Slotted:
    x: int
    y: str = "s"


@pydantic.dataclasses.dataclass
class Checked:
    x: Annotated[int, Field(alias="X", exclude=True)]
    y: int = Field(default=2, repr=False)


@pydantic.dataclasses.dataclass(config=ConfigDict(extra="allow"))
class OpenDataclass:
    x: int


@dataclasses.dataclass
class WithFieldDefault:
    x: int = Field(default=3, ge=1)
    y: list[int] = Field(default_factory=list)  # noqa: RUF009 - likewise


@dataclasses.dataclass
class LateField:
    x: int
    y: int = dataclasses.field(init=False, default=9)


@pytest.mark.parametrize(
    ("cls", "raw", "text"),
    [
        (Point, '{"x":1}', '{"names":[],"x":1,"y":0.5}'),
        (Slotted, '{"x":1}', '{"x":1,"y":"s"}'),
        (Checked, '{"X":1}', '{"x":1,"y":2}'),
        (OpenDataclass, '{"x":1,"z":{"k":2}}', '{"x":1,"z":{"k":2}}'),
        (WithFieldDefault, "{}", '{"x":3,"y":[]}'),
        (LateField, '{"x":1}', '{"x":1,"y":9}'),
    ],
)
def test_dataclasses_of_both_kinds_give_every_field(cls: type, raw: str, text: str) -> None:
    assert whole_text(cls, raw) == text


class Movie(TypedDict, total=False):
    title: Required[str]
    year: int
    tag: Annotated[NotRequired[str], Field(max_length=3)]


class OpenDict(TypedDict):
    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc] - pydantic's way
    a: int


def test_typed_dicts_give_the_keys_that_are_there() -> None:
    assert whole_text(Movie, '{"title":"t"}') == '{"title":"t"}'
    assert whole_text(Movie, '{"year":1,"title":"t","more":1}') == '{"title":"t","year":1}'
    assert whole_text(OpenDict, '{"a":1,"more":[1]}') == '{"a":1,"more":[1]}'


def test_extras_reach_the_typed_dict_of_an_open_model_as_pydantic_does_it() -> None:
    class Holder(BaseModel):
        model_config = ConfigDict(extra="allow")
        movie: Movie
        point: Point

    text = whole_text(Holder, '{"movie":{"title":"t","more":1},"point":{"x":1,"more":2}}')
    assert text == '{"movie":{"more":1,"title":"t"},"point":{"more":2,"names":[],"x":1,"y":0.5}}'


class Words(RootModel[dict[str, list[str]]]):
    pass


class Holder(BaseModel):
    words: Words


def test_a_root_model_is_written_as_its_root() -> None:
    assert whole_text(Words, '{"a":["b"]}') == '{"a":["b"]}'
    assert whole_text(Holder, '{"words":{"a":[]}}') == '{"words":{"a":[]}}'


class Tree(BaseModel):
    value: int
    left: Tree | None = None
    children: list[Tree] = []


Json = TypeAliasType("Json", "int | str | list[Json] | dict[str, Json] | None")  # type: ignore[misc] - mypy: recursive


class Box(BaseModel, Generic[T]):
    item: T


@pydantic.dataclasses.dataclass
class Early:
    later: Later


@dataclasses.dataclass
class Later:
    x: int


def test_a_pydantic_dataclass_that_names_a_later_class_is_completed() -> None:
    assert whole_text(Early, '{"later":{"x":1}}') == '{"later":{"x":1}}'


def test_recursive_models_and_aliases_work() -> None:
    raw = '{"value":1,"left":{"value":2},"children":[{"value":3,"children":[{"value":4}]}]}'
    assert whole_text(Tree, raw) == (
        '{"children":[{"children":[{"children":[],"left":null,"value":4}],"left":null,"value":3}],'
        '"left":{"children":[],"left":null,"value":2},"value":1}'
    )
    assert text_of(Json, '{"a":[1,null,{"b":"c"}]}') == '{"a":[1,null,{"b":"c"}]}'


def test_a_generic_model_with_a_concrete_type_works() -> None:
    assert whole_text(Box[list[int]], '{"item":[1]}') == '{"item":[1]}'


@pytest.mark.parametrize(
    ("annotation", "raw", "text"),
    [
        (list, "[1]", "[1]"),
        (list[list[int]], "[[1],[]]", "[[1],[]]"),
        (tuple, "[1]", "[1]"),
        (tuple[()], "[]", "[]"),
        (tuple[int, str], '[1,"a"]', '[1,"a"]'),
        (tuple[int, ...], "[1,2]", "[1,2]"),
        (dict, '{"a":1}', '{"a":1}'),
        (dict[str, float], '{"b":1.0,"a":2}', '{"a":2,"b":1}'),
    ],
)
def test_containers(annotation: Any, raw: str, text: str) -> None:
    assert text_of(annotation, raw) == text


def test_a_model_without_fields_is_an_empty_object() -> None:
    class Nothing(BaseModel):
        pass

    assert whole_text(Nothing, "{}") == "{}"
