"""Equal texts mean equal values, and equal types but for int and float; and every text is what `rfc8785` writes."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import itertools
import json
import uuid
from decimal import Decimal
from typing import Any, Literal, Union

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, RootModel

from aioc_opa.core.canonical_form import compile_form
from aioc_opa.core.canonical_form.overlap import Overlap
from aioc_opa.core.canonical_json import NotCanonicalError
from aioc_opa.core.tool_schemas.pydantic_schema import PydanticSchema
from aioc_opa.errors import ToolRegistrationError
from tests.core.canonical_form.forms import in_model


class Mode(enum.Enum):
    READ = "read"
    ONE = 1
    TRUE = "true"


class A(BaseModel):
    kind: Literal["a"]
    x: float | None = Field(exclude=True)


class B(BaseModel):
    model_config = ConfigDict(extra="allow")
    kind: Literal["b", 1]


class Untagged(BaseModel):
    x: float | None


@dataclasses.dataclass
class Data:
    x: float | None


@dataclasses.dataclass(slots=True)
class Slots:
    x: Decimal


class Words(RootModel[dict[str, int]]):
    pass


SCALARS: list[Any] = [
    None, bool, int, float, str, Decimal, uuid.UUID, dt.date, dt.time, dt.datetime, Mode, A, B, Untagged, Data, Slots,
    Words, Any, Literal["a", 1, True], Literal["2024-01-01"],
]  # fmt: skip

annotations = st.recursive(
    st.sampled_from(SCALARS),
    lambda inner: (
        inner.map(lambda one: list[one])  # type: ignore[valid-type] - built at run time
        | inner.map(lambda one: dict[str, one])  # type: ignore[valid-type] - built at run time
        | inner.map(lambda one: tuple[one, ...])  # type: ignore[valid-type] - built at run time
        | st.tuples(inner, inner).map(lambda pair: tuple[pair[0], pair[1]])  # type: ignore[name-defined]
        | st.lists(inner, min_size=2, max_size=3).map(lambda many: Union[tuple(many)])  # noqa: UP007 - built at run time
    ),
    max_leaves=4,
)

NUMBERS = [0, -0.0, 0.0, 1, 1.0, True, 2**53 - 1, float(2**53), 1e21, 1e-7, 1.5, float("nan")]
TEXTS = ["", "a", "read", "true", "1", "1.0", "2024-01-01", "12:00:00", "2024-01-01T00:00:00", "\ud800", "\u20ac"]
LEAVES: list[Any] = [
    None, False, *NUMBERS, 2**53, -(2**53), *TEXTS,
    "00000000-0000-0000-0000-000000000001", "12:00:00+00:00", "2024-01-01T00:00:00+00:00",
    Decimal(1), Decimal("1.0"), Decimal("NaN"), Decimal(2024), uuid.UUID(int=1), dt.date(2024, 1, 1), dt.time(12),
    dt.time(12, tzinfo=dt.UTC), dt.datetime(2024, 1, 1, tzinfo=dt.UTC), *Mode,
]  # fmt: skip


def _wrapped(x: Any) -> list[Any]:
    """`x` in each container that might be written alike."""
    return [
        [x], (x,), [x, 1], (x, 1), {"a": x}, {"x": x}, {"kind": "a", "x": x}, {"kind": "b", "more": x}, {"\u20ac": x},
        A.model_construct(kind="a", x=x), B.model_construct(kind="b", more=x), Untagged.model_construct(x=x),
        Data(x), Slots(x), Words.model_construct(root={"a": x}),
    ]  # fmt: skip


ONCE = [[], (), {}, *(wrapped for leaf in LEAVES for wrapped in _wrapped(leaf))]
POOL = [*LEAVES, *ONCE, *([value] for value in ONCE), *({"a": value} for value in ONCE)]


def same(a: Any, b: Any) -> bool:
    """Equal values of equal types, but for int and float."""
    if type(a) in (int, float) and type(b) in (int, float):
        return bool(a == b)
    if type(a) is not type(b):
        return False
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(itertools.starmap(same, zip(a, b, strict=True)))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, BaseModel):
        return same(a.__dict__, b.__dict__) and same(a.__pydantic_extra__, b.__pydantic_extra__)
    if dataclasses.is_dataclass(a):
        return all(same(getattr(a, f.name), getattr(b, f.name)) for f in dataclasses.fields(a))
    if isinstance(a, Decimal):
        return str(a) == str(b)
    return bool(a == b)


def check(annotation: Any) -> None:
    """Try every value of a pool made of look-alikes under the annotation."""
    try:
        model = in_model(annotation)
        form = compile_form(model, tool_name="tool")
    except ToolRegistrationError:
        return
    by_text: dict[str, Any] = {}
    for candidate in POOL:
        holder = model.model_construct(x=candidate)
        try:
            form.settle(holder)
            text = form.text(holder)
        except NotCanonicalError:
            continue
        assert same(by_text.setdefault(text, candidate), candidate)
        assert rfc8785.dumps(json.loads(text, parse_int=float)).decode() == text


@settings(max_examples=80, deadline=None)
@given(annotations)
def test_equal_texts_mean_equal_values_and_types(annotation: Any) -> None:
    check(annotation)


@pytest.mark.parametrize(
    "annotation",
    [
        dt.date | str, Decimal | str, uuid.UUID | str, Mode | str, Mode | int, list[int] | tuple[int, ...],
        Untagged | Data, Untagged | dict[str, float], Words | dict[str, int], A | dict[str, Any],
    ],
)  # fmt: skip
def test_the_pool_finds_a_union_that_merges_when_the_check_is_off(
    annotation: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Overlap, "faithful", lambda *_: True)
    with pytest.raises(AssertionError):
        check(annotation)


TEXT = st.text(st.characters(codec="utf-8"), max_size=6)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=8,
)
plain = PydanticSchema(dict[str, Any], tool_name="tool")


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(TEXT, json_values, max_size=4))
def test_plain_json_is_written_as_rfc8785_writes_it(value: dict[str, Any]) -> None:
    assert plain.canonical_text(value) == rfc8785.dumps(value).decode()


@settings(max_examples=300, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_are_written_as_rfc8785_writes_them(number: float) -> None:
    assert plain.canonical_text({"x": number}) == rfc8785.dumps({"x": number}).decode()
