"""No registered schema makes parsing exponential in the depth of the text, nor the walk over what was parsed."""

from __future__ import annotations

import dataclasses
import enum
import json
from typing import Annotated, Any, Literal, Union

import pytest
from pydantic import BaseModel, Discriminator, Field, Tag, create_model
from typing_extensions import TypeAliasType, TypedDict

from aioc_opa.core.tool_schemas.function_schema import FunctionSchema
from aioc_opa.core.tool_schemas.pydantic_schema import PydanticSchema
from aioc_opa.errors import ToolRegistrationError

SAID = "a union without a discriminator, several of whose members lead back to it"


class Lit(BaseModel):
    op: Literal["lit"]
    v: int


class Not(BaseModel):
    op: Literal["not"]
    x: Expression


class Neg(BaseModel):
    op: Literal["neg"]
    x: Expression


Expression = Union[Lit, Not, Neg]  # noqa: UP007 - what is tested, by its old name
Not.model_rebuild()
Neg.model_rebuild()


@dataclasses.dataclass
class All:
    op: Literal["all"]
    parts: list[Condition]


class One(TypedDict):
    op: Literal["one"]
    parts: dict[str, Condition]


Condition = TypeAliasType("Condition", "All | One | bool")

Lists = TypeAliasType("Lists", "Lit | list[Lists] | list[Others]")
Others = TypeAliasType("Others", "Lit | list[Lists] | int")
Tuples = TypeAliasType("Tuples", "int | tuple[int, Tuples] | tuple[Tuples, Tuples, int]")


class Inner(BaseModel):
    op: Literal["inner"]
    either: Far | None


class Outer(BaseModel):
    op: Literal["outer"]
    many: list[tuple[Far, int]] = []


Far = Annotated[Annotated[Inner, Field(title="a")] | Outer | None, Field(description="through other layers")]
Inner.model_rebuild()
Outer.model_rebuild()


@pytest.mark.parametrize(
    ("annotation", "place"),
    [
        (Expression, "x.x"),
        (list[Condition], "x[]"),
        (Condition, "x"),
        (Lists, "x"),
        (Tuples, "x"),
        (Far, "x.either"),
    ],
)
def test_a_union_that_branches_at_every_level_is_refused(annotation: Any, place: str) -> None:
    with pytest.raises(ToolRegistrationError) as caught:
        PydanticSchema(create_model("Arguments", x=(annotation, ...)), tool_name="tool")
    assert str(caught.value).startswith(f"tool 'tool': {place}: {SAID}")
    assert "Field(discriminator=…)" in str(caught.value)


def test_the_place_in_a_function_is_the_parameter() -> None:
    def tool(amount: int, condition: Condition) -> None: ...

    with pytest.raises(ToolRegistrationError, match="tool 'tool': condition: a union without a discriminator"):
        FunctionSchema(tool, tool_name="tool")


class TaggedNot(BaseModel):
    op: Literal["not"]
    x: Tagged


class TaggedNeg(BaseModel):
    op: Literal["neg"]
    x: Tagged


Tagged = Annotated[Lit | TaggedNot | TaggedNeg, Field(discriminator="op")]
TaggedNot.model_rebuild()
TaggedNeg.model_rebuild()


class CalledNot(BaseModel):
    op: Literal["not"]
    x: Called


class CalledNeg(BaseModel):
    op: Literal["neg"]
    x: Called


def op_of(value: Any) -> Any:
    return value.get("op") if isinstance(value, dict) else value.op


Called = Annotated[
    Annotated[Lit, Tag("lit")] | Annotated[CalledNot, Tag("not")] | Annotated[CalledNeg, Tag("neg")],
    Discriminator(op_of),
]
CalledNot.model_rebuild()
CalledNeg.model_rebuild()


class Kind(enum.StrEnum):
    NO = "no"
    NEG = "neg"


class KeyedLit(TypedDict):
    v: int
    op: Literal["lit"]


class KeyedNot(TypedDict):
    x: Keyed
    op: Literal["not", Kind.NO]


class KeyedNeg(TypedDict):
    x: Keyed
    op: Literal[Kind.NEG]


Keyed = TypeAliasType("Keyed", "Annotated[KeyedLit | KeyedNot | KeyedNeg, Field(discriminator='op')]")


@pytest.mark.parametrize("annotation", [Tagged, Called, Keyed])
def test_with_a_discriminator_a_deep_text_is_read_and_written_in_one_go(annotation: Any) -> None:
    schema = PydanticSchema(create_model("Arguments", x=(annotation, ...)), tool_name="tool")
    raw = '{"x":' + '{"op":"not","x":{"op":"neg","x":' * 30 + '{"op":"lit","v":1}' + "}" * 61
    # Twice the work at every level would end as "more than 1000000 values".
    assert json.loads(schema.canonical_text(schema.parse(raw))) == json.loads(raw)


class Tree(BaseModel):
    op: Literal["tree"]
    left: Tree | Lit | None = None
    right: Tree | Lit | None = None
    plain: Json = None

    @property
    def depth(self) -> int:
        return 0


Json = TypeAliasType("Json", "bool | float | str | list[Json] | dict[str, Json] | None")


def test_one_way_back_for_each_kind_of_json_is_no_branch() -> None:
    schema = PydanticSchema(Tree, tool_name="tool")
    raw = '{"left":null,"op":"tree","plain":' + '{"a":[' * 28 + "]}" * 28 + ',"right":'
    raw = raw * 2 + "null}}"
    assert schema.canonical_text(schema.parse(raw)) == raw
