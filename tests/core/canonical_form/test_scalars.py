from __future__ import annotations

import datetime as dt
import enum
import uuid
import zoneinfo
from decimal import Decimal
from typing import Annotated, Any, Literal, NewType

import pytest
from pydantic import AfterValidator, AwareDatetime, Base64Str, BeforeValidator, Field, JsonValue
from pydantic_core import TzInfo

from tests.core.canonical_form.forms import refused_object, text_of, text_of_object


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Mode(enum.StrEnum):
    READ = "read"
    WRITE = "write"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Ratio(enum.Enum):
    HALF = 0.5
    WHOLE = 1.0


class Named(str):
    __slots__ = ()


class Numbered(int):
    pass


Account = NewType("Account", str)


@pytest.mark.parametrize(
    ("annotation", "raw", "text"),
    [
        (None, "null", "null"),
        (bool, "true", "true"),
        (bool, "false", "false"),
        (int, "9007199254740991", "9007199254740991"),
        (int, "-9007199254740991", "-9007199254740991"),
        (float, "1", "1"),
        (float, "1.0", "1"),
        (float, "-0.0", "0"),
        (float, "0.1", "0.1"),
        (float, "1e21", "1e+21"),
        (float, "1e-7", "1e-7"),
        (float, "0.00001", "0.00001"),
        (float, "1e16", "10000000000000000"),
        (float, "9007199254740992", "9007199254740992"),
        (str, '"\\u20ac\\"\\u0001\\n"', '"€\\"\\u0001\\n"'),
        (Account, '"a"', '"a"'),
        (Decimal, '"1.10"', '"1.10"'),
        (Decimal, "1.5", '"1.5"'),
        (Decimal, '"1E+3"', '"1E+3"'),
        (Decimal, '"-0.0"', '"-0.0"'),
        (uuid.UUID, '"12345678123456781234567812345678"', '"12345678-1234-5678-1234-567812345678"'),
        (dt.date, '"2024-02-29"', '"2024-02-29"'),
        (dt.time, '"12:30"', '"12:30:00"'),
        (dt.time, '"12:30:00Z"', '"12:30:00+00:00"'),
        (dt.datetime, '"2024-02-29T12:30:00"', '"2024-02-29T12:30:00"'),
        (dt.datetime, '"2024-02-29T12:30:00.5+02:00"', '"2024-02-29T12:30:00.500000+02:00"'),
        (AwareDatetime, '"2024-02-29T12:30:00Z"', '"2024-02-29T12:30:00+00:00"'),
        (Base64Str, '"aGk="', '"hi"'),
        (Colour, '"red"', '"red"'),
        (Level, "2", "2"),
        (Ratio, "0.5", "0.5"),
        (Ratio, "1.0", "1"),
        (Literal["a", 1, True, None], "1", "1"),  # noqa: PYI061 - what is tested
        (Literal["a", 1, True, None], "true", "true"),  # noqa: PYI061 - what is tested
        (Literal["a", 1, True, None], "null", "null"),  # noqa: PYI061 - what is tested
        (Literal[Mode.READ, "other"], '"read"', '"read"'),
        (Literal[Mode.READ, "other"], '"other"', '"other"'),
        (Annotated[int, Field(ge=1)], "3", "3"),
        (Annotated[str, BeforeValidator(str)], "3", '"3"'),
        (Any, '{"b":[1,1.5,null,true,"x"],"a":{}}', '{"a":{},"b":[1,1.5,null,true,"x"]}'),
        (object, "[1]", "[1]"),
        (JsonValue, '{"a":[1.0]}', '{"a":[1]}'),
    ],
)
def test_a_scalar_is_written_as_the_design_says(annotation: Any, raw: str, text: str) -> None:
    assert text_of(annotation, raw) == text


def test_an_int_default_of_a_float_is_one_value_with_the_float() -> None:
    assert text_of_object(float, 1) == text_of_object(float, 1.0) == "1"


@pytest.mark.parametrize(
    ("annotation", "value", "said"),
    [
        (int, 2**53, "beyond ±(2^53-1)"),
        (float, -(2**53), "beyond ±(2^53-1)"),
        (int, True, "it holds bool, not exactly int"),
        (int, 1.0, "it holds float, not exactly int"),
        (int, Numbered(1), "it holds Numbered"),
        (int, Level.LOW, "it holds Level"),
        (bool, 1, "it holds int, not exactly bool"),
        (float, True, "it holds bool, not exactly float"),
        (float, float("nan"), "NaN and infinities"),
        (float, float("inf"), "NaN and infinities"),
        (float, float("-inf"), "NaN and infinities"),
        (str, Named("x"), "it holds Named, not exactly str"),
        (str, Colour.RED, "it holds Colour"),
        (str, None, "it holds NoneType"),
        (str, "\ud800", "lone surrogate"),
        (None, 0, "not exactly None"),
        (Decimal, Decimal("NaN"), "NaN and infinities"),
        (Decimal, Decimal("sNaN"), "NaN and infinities"),
        (Decimal, Decimal("-Infinity"), "NaN and infinities"),
        (Decimal, 1, "not exactly Decimal"),
        (uuid.UUID, "12345678-1234-5678-1234-567812345678", "not exactly UUID"),
        (dt.date, dt.datetime(2024, 1, 1, tzinfo=dt.UTC), "it holds datetime, not exactly date"),
        (dt.datetime, dt.date(2024, 1, 1), "it holds date, not exactly datetime"),
        (dt.time, "12:00", "not exactly time"),
        (dt.datetime, dt.datetime(2024, 1, 1, tzinfo=zoneinfo.ZoneInfo("UTC")), "no fixed offset"),
        (dt.time, dt.time(1, tzinfo=zoneinfo.ZoneInfo("UTC")), "no fixed offset"),
        (dt.datetime, dt.datetime(2024, 1, 1, fold=1, tzinfo=dt.UTC), "its fold is set"),
        (dt.datetime, dt.datetime(2024, 1, 1, tzinfo=dt.timezone(dt.timedelta(0), "GMT")), "a name of its own"),
        (Colour, "red", "not exactly one of 2 member(s) of Colour"),
        (Literal[Colour.RED], Colour.BLUE, "not exactly one of 1 member(s) of Colour"),
        (Literal["a"], "b", "its Literal does not name"),
        (Literal["a"], Named("a"), "its Literal does not name"),
        (Literal["a", 1], True, "its Literal does not name"),
        (Literal[1], 2, "its Literal does not name"),
        (Any, (1,), "it holds tuple"),
        (Any, Colour.RED, "it holds Colour"),
        (Any, {1: 2}, "a key that is not a plain str"),
        (Any, {Named("x"): 2}, "a key that is not a plain str"),
        (Any, [2**53], "beyond"),
        (Any, {"a": float("nan")}, "NaN"),
    ],
)
def test_any_other_value_is_refused_with_place_and_cure(annotation: Any, value: object, said: str) -> None:
    error = refused_object(annotation, value)
    assert error.path[0] == "x"
    assert said in error.problem


@pytest.mark.parametrize("zone", [dt.UTC, dt.timezone(dt.timedelta(hours=2)), TzInfo(7200)])
def test_fixed_offsets_are_written(zone: dt.tzinfo) -> None:
    value = dt.datetime(2024, 1, 1, tzinfo=zone)
    assert text_of_object(dt.datetime, value) == f'"{value.isoformat()}"'


def test_a_changed_value_attribute_of_an_enum_member_changes_nothing() -> None:
    class Changing(enum.Enum):
        READ = "read"

        @property
        def value(self) -> str:  # type: ignore[override] - what a hostile class could do
            return "write"

    assert text_of(Changing, '"read"') == '"read"'


def test_the_problem_does_not_echo_the_value() -> None:
    assert "hunter2" not in refused_object(int, "hunter2").problem


def test_a_validator_that_returns_another_type_than_declared_is_found_out() -> None:
    error = refused_object(Annotated[int, AfterValidator(str)], "3")
    assert "declare what the validator or default returns" in error.problem
