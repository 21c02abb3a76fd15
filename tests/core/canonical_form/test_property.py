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

import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, RootModel

from aioc_opa.core.canonical_form import compile_form
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
leaves = st.one_of(
    st.none(),
    st.sampled_from(NUMBERS),
    st.floats(),
    st.integers(-(2**54), 2**54),
    st.sampled_from(TEXTS),
    st.text(max_size=4),
    st.sampled_from([Decimal(1), Decimal("1.0"), Decimal("NaN"), Decimal(2024)]),
    st.sampled_from([uuid.UUID(int=1), dt.date(2024, 1, 1), dt.time(12), dt.datetime(2024, 1, 1, tzinfo=dt.UTC)]),
    st.sampled_from(list(Mode)),
)


def _records(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.lists(inner, max_size=2),
        st.lists(inner, max_size=2).map(tuple),
        st.dictionaries(st.sampled_from(["a", "kind", "x", "\u20ac", "\U0001d400"]), inner, max_size=2),
        inner.map(lambda x: A.model_construct(kind="a", x=x)),
        inner.map(lambda x: B.model_construct(kind="b", more=x)),
        inner.map(lambda x: Untagged.model_construct(x=x)),
        inner.map(Data),
        inner.map(Slots),
        inner.map(lambda x: Words.model_construct(root={"a": x})),
    )


values = st.recursive(leaves, _records, max_leaves=4)


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


@settings(max_examples=200, deadline=None)
@given(annotations, st.lists(values, min_size=2, max_size=12))
def test_equal_texts_mean_equal_values_and_types(annotation: Any, candidates: list[Any]) -> None:
    try:
        model = in_model(annotation)
        form = compile_form(model, tool_name="tool")
    except ToolRegistrationError:
        return
    by_text: dict[str, Any] = {}
    for candidate in candidates:
        holder = model.model_construct(x=candidate)
        form.settle(holder)
        try:
            text = form.text(holder)
        except NotCanonicalError:
            continue
        assert same(by_text.setdefault(text, candidate), candidate)
        assert rfc8785.dumps(json.loads(text)).decode() == text


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
    max_leaves=8,
)
plain = PydanticSchema(dict[str, Any], tool_name="tool")


@settings(max_examples=400, deadline=None)
@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), json_values))
def test_plain_json_is_written_as_rfc8785_writes_it(value: dict[str, Any]) -> None:
    assert plain.canonical_text(value) == rfc8785.dumps(value).decode()


@settings(max_examples=300, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_are_written_as_rfc8785_writes_them(number: float) -> None:
    assert plain.canonical_text({"x": number}) == rfc8785.dumps({"x": number}).decode()
