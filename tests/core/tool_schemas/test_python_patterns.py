"""No pattern over argument text runs in an engine that a deadline cannot interrupt."""

from __future__ import annotations

import dataclasses
import re
from typing import Annotated, Any, Literal

import pydantic
import pytest
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, RootModel, StringConstraints, TypeAdapter
from pydantic_core import core_schema
from typing_extensions import TypeAliasType, TypedDict

from aioc_opa.core.tool_schemas.function_schema import FunctionSchema
from aioc_opa.core.tool_schemas.protocol import SchemaRejectionError
from aioc_opa.core.tool_schemas.pydantic_schema import PydanticSchema
from aioc_opa.core.tool_schemas.python_patterns import python_pattern
from aioc_opa.errors import ToolRegistrationError

SLOW = "^(a+)+$"
PYTHON = ConfigDict(regex_engine="python-re")
Compiled = Annotated[str, Field(pattern=re.compile(SLOW))]
Text = Annotated[str, Field(pattern=SLOW)]


class Default(BaseModel):
    text: Text


class PythonModel(BaseModel):
    model_config = PYTHON
    text: Text


class PythonBase(BaseModel):
    model_config = PYTHON


class Inheriting(PythonBase):
    text: Text


class Holding(BaseModel):
    lines: list[PythonModel]


class PythonRoot(RootModel[dict[str, Text]]):
    model_config = PYTHON


class CompiledKey(BaseModel):
    by_name: dict[Compiled, int]


class CompiledTuple(BaseModel):
    pair: tuple[int, Compiled]


class CompiledItem(BaseModel):
    items: list[Annotated[str, StringConstraints(pattern=re.compile(SLOW))]]


class CompiledOverUnion(BaseModel):
    text: Annotated[int | str, Field(pattern=re.compile(SLOW))]


class CompiledOptional(BaseModel):
    default: Compiled | None = None  # a field named like a part of the core schema


class Cat(BaseModel):
    kind: Literal["cat"]
    name: str


class Dog(BaseModel):
    kind: Literal["dog"]
    metadata: Compiled


class Tagged(BaseModel):
    pet: Annotated[Cat | Dog, Field(discriminator="kind")]


class Tree(BaseModel):
    children: list[Tree] = []
    name: Compiled = "a"


class Extras(BaseModel):
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Compiled] = Field(init=False)


@dataclasses.dataclass
class Stdlib:
    text: Compiled


@dataclasses.dataclass
class StdlibConfigured:
    __pydantic_config__ = PYTHON
    text: Text


@pydantic.dataclasses.dataclass(config=PYTHON)
class PydanticDataclass:
    text: Text


class Dictionary(TypedDict):
    __pydantic_config__ = PYTHON  # type: ignore[misc] - pydantic's way to configure a TypedDict
    text: Text


Alias = TypeAliasType("Alias", Compiled)


class ThroughAlias(BaseModel):
    text: Alias
    again: Alias


REFUSED = [
    (PythonModel, "text"),
    (Inheriting, "text"),
    (Holding, "lines[].text"),
    (PythonRoot, "[*]"),
    (CompiledKey, "by_name.{key}"),
    (CompiledTuple, "pair[1]"),
    (CompiledItem, "items[]"),
    (CompiledOverUnion, "text"),
    (CompiledOptional, "default"),
    (Tagged, "pet.metadata"),
    (Tree, "name"),
    (Extras, "[*]"),
    (Stdlib, "text"),
    (StdlibConfigured, "text"),
    (PydanticDataclass, "text"),
    (Dictionary, "text"),
    (ThroughAlias, "text"),
]


@pytest.mark.parametrize(("annotation", "place"), REFUSED, ids=lambda value: getattr(value, "__name__", None))
def test_a_pattern_in_pythons_re_is_refused_at_registration(annotation: Any, place: str) -> None:
    with pytest.raises(ToolRegistrationError) as caught:
        PydanticSchema(annotation, tool_name="search")
    assert str(caught.value).startswith(f"tool 'search': {place}: its pattern runs in Python's re")
    assert "give the pattern as a str" in str(caught.value)


def compiled_parameter(query: Annotated[str, Field(pattern=re.compile(SLOW))]) -> None: ...


def compiled_default(query: str = Field("a", pattern=re.compile(SLOW))) -> None: ...


def nested_model(filters: list[PythonModel]) -> None: ...


@pytest.mark.parametrize(
    ("function", "place"),
    [(compiled_parameter, "query"), (compiled_default, "query"), (nested_model, "filters[].text")],
)
def test_it_is_refused_in_a_functions_signature_under_the_parameters_name(function: Any, place: str) -> None:
    with pytest.raises(ToolRegistrationError, match=re.escape(f"tool 'search': {place}: its pattern")):
        FunctionSchema(function, tool_name="search")


def test_the_default_engine_is_linear_and_stays_allowed() -> None:
    schema = PydanticSchema(Default, tool_name="search")
    with pytest.raises(SchemaRejectionError):
        schema.parse('{"text": "' + "a" * 100_000 + '!"}')


def test_the_engine_of_a_class_without_patterns_is_no_matter() -> None:
    class Plain(BaseModel):
        model_config = PYTHON
        text: str

    PydanticSchema(Plain, tool_name="search")


def test_a_string_schema_that_names_its_own_engine_is_found() -> None:
    class Custom:
        @classmethod
        def __get_pydantic_core_schema__(cls, _source: object, _handler: object) -> core_schema.CoreSchema:
            return core_schema.str_schema(pattern=SLOW, regex_engine="python-re")

    assert python_pattern(TypeAdapter(list[Annotated[str, Custom]]).core_schema, {}) == "[]"


def test_labelled_choices_are_looked_into_and_values_are_not() -> None:
    labelled = core_schema.union_schema([(core_schema.str_schema(pattern=SLOW), "text"), core_schema.int_schema()])
    assert python_pattern(labelled, {}) is None
    assert python_pattern({**labelled, "config": {"regex_engine": "python-re"}}, {}) == "the arguments"
    looks_like_one = core_schema.with_default_schema(
        core_schema.any_schema(), default={"pattern": re.compile(SLOW)}, metadata={"pattern": re.compile(SLOW)}
    )
    assert python_pattern(looks_like_one, {}) is None


def test_what_pydantic_runs_in_rust_has_no_place() -> None:
    for annotation in (Default, dict[str, Text], int | Text, Annotated[str, AfterValidator(str.strip)]):
        assert python_pattern(TypeAdapter(annotation).core_schema, {}) is None
