"""A union must be readable back from its JSON: rule by rule of `overlap`."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import uuid
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Discriminator, Field, JsonValue, RootModel, Tag
from typing_extensions import TypeAliasType, TypedDict

from tests.core.canonical_form.forms import refused_registration, text_of, text_of_object


class Mode(enum.StrEnum):
    READ = "read"
    WRITE = "write"


class Other(enum.Enum):
    READ = "read"


class Third(enum.Enum):
    RUN = "run"


class Day(enum.Enum):
    FIRST = "2024-01-01"


class Level(enum.IntEnum):
    LOW = 1


class A(BaseModel):
    kind: Literal["a"] = "a"
    x: int = 0


class B(BaseModel):
    kind: Literal["b"]
    x: int = 0


class AB(BaseModel):
    kind: Literal["a", "b"]


class C(BaseModel):
    kind: Literal[Mode.READ, "c"]


class LooselyTagged(BaseModel):
    kind: Literal["b"] | int


class Untagged(BaseModel):
    x: int


class Untagged2(BaseModel):
    y: int


@dataclasses.dataclass
class TaggedData:
    kind: Literal["d"]


class Dict1(TypedDict):
    x: int


class Dict2(TypedDict, total=False):
    x: str
    y: dt.date


class Dict3(TypedDict):
    y: str


class Text(RootModel[str]):
    pass


class RootA(RootModel[A]):
    pass


class Whole(RootModel[int]):
    pass


Deep = TypeAliasType("Deep", "int | list[Deep]")  # type: ignore[misc] - mypy: recursive
Deep2 = TypeAliasType("Deep2", "str | list[Deep2]")  # type: ignore[misc] - mypy: recursive
Deep3 = TypeAliasType("Deep3", "dt.date | list[Deep3]")  # type: ignore[misc] - mypy: recursive


@pytest.mark.parametrize(
    "annotation",
    [
        int | float,
        int | None,
        bool | int | str | None,
        Decimal | int | None,
        dt.date | dt.datetime | dt.time | Decimal | uuid.UUID,
        dt.date | Literal["today", "tomorrow"],
        Decimal | Literal["all"],
        dt.date | Third,
        str | Literal["x"],  # noqa: PYI051 - what is tested
        Mode | Third,
        Mode | Literal["other"],
        Mode | int,
        Literal[Mode.READ] | Mode,
        Literal[1, "a"] | None,
        list[int] | list[str],
        list[int] | dict[str, int],
        dict[str, int] | dict[str, str],
        tuple[int, str] | tuple[int, int],
        tuple[int] | tuple[int, int],
        tuple[int, ...] | tuple[str, ...],
        tuple[int, ...] | tuple[str, str],
        tuple[str, str] | tuple[int, ...],
        tuple[Literal["a"], dt.date] | tuple[Literal["b"], str],
        A | B,
        B | C,
        A | TaggedData,
        A | list[A],
        A | None,
        Annotated[A | B, Field(discriminator="kind")],
        Annotated[Annotated[A, Tag("a")] | Annotated[B, Tag("b")], Discriminator(lambda _value: "a")],
        RootA | B,
        Whole | str,
        Text | Text,
        Dict1 | Dict2,
        Dict1 | dict[str, str],
        Any | int,
        JsonValue | list[str],
        Any | Dict1,
        Deep | Deep2,
        Any | Deep,
        Any | dict[str, int | str],
        tuple[int | None, dt.date] | tuple[str | bool, str],
        tuple[Text, dt.date] | tuple[int, str],
        tuple[int, dt.date] | tuple[Text, str],
        Annotated[int, Field(ge=0)] | Annotated[int, Field(lt=0)],
    ],
)
def test_a_union_that_can_be_read_back_is_accepted(annotation: Any) -> None:
    from aioc_opa.core.canonical_form import compile_form
    from tests.core.canonical_form.forms import in_model

    compile_form(in_model(annotation), tool_name="tool")


@pytest.mark.parametrize(
    ("annotation", "said"),
    [
        (dt.date | str, "a union of date and str"),
        (str | dt.datetime | None, "a union of str and datetime"),
        (Decimal | str, "a union of decimal and str"),
        (uuid.UUID | str, "a union of uuid and str"),
        (dt.date | Literal["2024-01-01"], "a union of date and a Literal"),
        (Literal["2024-01-01"] | dt.date, "a union of a Literal and date"),
        (Decimal | Literal["1"], "a union of decimal and a Literal"),
        (dt.date | Day, "a union of date and Day"),
        (Mode | str, "a union of Mode and str"),
        (Mode | Literal["read"], "a union of Mode and a Literal"),
        (Literal[Other.READ, "read"], "a union of a Literal and Other"),
        (Mode | Other, "a union of Mode and Other"),
        (Level | int, "a union of Level and int"),
        (Level | float, "a union of Level and float"),
        (A | AB, "a union of A and AB"),
        (A | Untagged, "a union of A and Untagged"),
        (Untagged | Untagged2, "a union of Untagged and Untagged2"),
        (A | dict[str, Any], "a union of A and a dict"),
        (A | LooselyTagged, "a union of A and LooselyTagged"),
        (A | Any, "a union of A and Any"),
        (Any | dt.date, "a union of Any and date"),
        (list[dt.date] | list[str], "a union of a list and a list"),
        (list[int] | tuple[int, ...], "a union of a list and a tuple"),
        (tuple[dt.date, ...] | tuple[str, str], "a union of a tuple and a tuple"),
        (tuple[int, dt.date] | tuple[int, str], "a union of a tuple and a tuple"),
        (dict[str, dt.date] | dict[str, str], "a union of a dict and a dict"),
        (Dict2 | Dict3, "a union of Dict2 and Dict3"),
        (Dict2 | dict[str, str], "a union of Dict2 and a dict"),
        (Untagged | Dict1, "a union of Untagged and Dict1"),
        (Text | str, "a union of Text and str"),
        (str | Text, "a union of str and Text"),
        (RootA | A, "a union of RootA and A"),
        (Deep2 | Deep3, "a union of str and date"),
        (list[dt.date | str], "x[]: a union of date and str"),
    ],
)
def test_a_union_that_writes_equal_json_from_different_values_is_refused(annotation: Any, said: str) -> None:
    assert said in refused_registration(annotation)


@pytest.mark.parametrize(
    ("annotation", "raw", "text"),
    [
        (A | B, '{"kind":"b"}', '{"kind":"b","x":0}'),
        (dt.date | Literal["today"], '"today"', '"today"'),
        (dt.date | Literal["today"], '"2024-01-01"', '"2024-01-01"'),
        (list[int] | list[str], '["1"]', '["1"]'),
        (int | float, "1.0", "1"),
        (A | list[A], '[{"x":1}]', '[{"kind":"a","x":1}]'),
        (Any | int, "[1]", "[1]"),
        (Deep | Deep2, '[["a"],[]]', '[["a"],[]]'),
        (Dict1 | Dict2, '{"y":"2024-01-01"}', '{"y":"2024-01-01"}'),
    ],
)
def test_a_union_is_written_by_the_value_s_type(annotation: Any, raw: str, text: str) -> None:
    assert text_of(annotation, raw) == text


def test_a_str_in_a_union_is_still_exact() -> None:
    assert text_of_object(str | None, "a") == '"a"'
    assert text_of_object(str | None, None) == "null"
