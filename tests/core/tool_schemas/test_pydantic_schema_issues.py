"""What is said of arguments that a pydantic type refuses: place, type and rule, never the value."""

from __future__ import annotations

import datetime as dt
import enum
import json
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pytest
from pydantic import (
    UUID4,
    AfterValidator,
    BaseModel,
    Field,
)
from pydantic_core import PydanticCustomError, PydanticKnownError
from typing_extensions import TypedDict

from aioc_opa.core.tool_schemas.protocol import NotCanonicalError, SchemaRejectionError
from aioc_opa.core.tool_schemas.rejection import MAX_FOUND, MAX_ISSUES
from aioc_opa.errors import ToolRegistrationError

if TYPE_CHECKING:
    from aioc_opa.errors import ArgumentIssue
from tests.core.tool_schemas.pydantic_cases import schema_of

SECRET = "hunter2"


class Size(enum.Enum):
    SMALL = "s"


def issues_of(annotation: Any, raw: str) -> tuple[ArgumentIssue, ...]:
    with pytest.raises(SchemaRejectionError) as caught:
        schema_of(annotation).parse(raw)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert SECRET not in repr(caught.value.issues)
    return caught.value.issues


def custom(value: str) -> str:
    raise PydanticCustomError("my.code", "not {value}", {"value": value})


def value_as_code(value: str) -> str:
    raise PydanticCustomError("bad_" + value, "bad")  # type: ignore[arg-type] - what is tested


def value_as_limit(value: str) -> str:
    raise PydanticKnownError("less_than", {"lt": value})


def value_as_expected(value: str) -> str:
    raise PydanticCustomError("literal_error", "bad", {"expected": value})


def object_as_limit(value: str) -> str:
    class Talking:
        def __str__(self) -> str:
            return value

    raise PydanticCustomError("less_than", "bad", {"lt": Talking()})


def shouting(value: str) -> str:
    raise PydanticCustomError("Bad Code!", "not {value}", {"value": value})


def plain_error(value: str) -> str:
    raise ValueError(f"not {value}")


def failed_assertion(value: str) -> str:
    raise AssertionError(value)


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]


@pytest.mark.parametrize(
    ("annotation", "raw", "code", "path", "message"),
    [
        (
            int,
            f'"{SECRET}"',
            "int_parsing",
            ("x",),
            "Input should be a valid integer, unable to parse string as an integer",
        ),
        (Annotated[int, Field(gt=3)], "2", "greater_than", ("x",), "Input should be greater than 3"),
        (
            Annotated[str, Field(pattern="^a$")],
            f'"{SECRET}"',
            "string_pattern_mismatch",
            ("x",),
            "String should match pattern '^a$'",
        ),
        (
            Annotated[str, Field(max_length=1)],
            f'"{SECRET}"',
            "string_too_long",
            ("x",),
            "String should have at most 1 character(s)",
        ),
        (
            Annotated[list[int], Field(max_length=1)],
            "[1,2,3]",
            "too_long",
            ("x",),
            "List should have at most 1 item(s) after validation, not …",
        ),
        (Literal["a"], f'"{SECRET}"', "literal_error", ("x",), "Input should be 'a'"),
        (Size, f'"{SECRET}"', "enum", ("x",), "Input should be 's'"),
        (dt.date, f'"{SECRET}"', "date_from_datetime_parsing", ("x",), "Input should be a valid date or datetime, …"),
        (Annotated[str, AfterValidator(plain_error)], f'"{SECRET}"', "value_error", ("x",), "Value error, …"),
        (
            Annotated[str, AfterValidator(failed_assertion)],
            f'"{SECRET}"',
            "assertion_error",
            ("x",),
            "Assertion failed, …",
        ),
        (
            Annotated[str, AfterValidator(custom)],
            f'"{SECRET}"',
            "custom_error",
            ("x",),
            "refused by a rule of the tool's schema",
        ),
        (
            Annotated[str, AfterValidator(shouting)],
            f'"{SECRET}"',
            "custom_error",
            ("x",),
            "refused by a rule of the tool's schema",
        ),
        (
            Annotated[str, AfterValidator(value_as_code)],
            f'"{SECRET}"',
            "custom_error",
            ("x",),
            "refused by a rule of the tool's schema",
        ),
        (
            Annotated[str, AfterValidator(value_as_limit)],
            f'"{SECRET}"',
            "less_than",
            ("x",),
            "Input should be less than …",
        ),
        (
            Annotated[str, AfterValidator(object_as_limit)],
            f'"{SECRET}"',
            "less_than",
            ("x",),
            "Input should be less than …",
        ),
        (
            Annotated[str, AfterValidator(value_as_expected)],
            f'"{SECRET}"',
            "literal_error",
            ("x",),
            "Input should be …",
        ),
        (Literal["a", "b", 3], "9", "literal_error", ("x",), "Input should be 'a', 'b' or 3"),
        (Annotated[float, Field(gt=3)], "2", "greater_than", ("x",), "Input should be greater than 3.0"),
        (
            Annotated[Decimal, Field(le=Decimal("2.50"))],
            "3",
            "less_than_equal",
            ("x",),
            "Input should be less than or equal to 2.50",
        ),
        (
            Annotated[dt.date, Field(ge=dt.date(2024, 1, 1))],
            '"2023-01-01"',
            "greater_than_equal",
            ("x",),
            "Input should be greater than or equal to 2024-01-01",
        ),
        (
            Annotated[Decimal, Field(max_digits=4, decimal_places=2)],
            '"111.1"',
            "decimal_whole_digits",
            ("x",),
            "Decimal input should have no more than 2 digit(s) before the decimal point",
        ),
        (UUID4, f'"{"1" * 32}"', "uuid_version", ("x",), "UUID version 4 expected"),
        (Cat, "1", "model_type", ("x",), "Input should be a valid dictionary or instance of Cat"),
        (
            Annotated[Cat | Dog, Field(discriminator="kind")],
            f'{{"kind":"{SECRET}"}}',
            "union_tag_invalid",
            ("x",),
            "Input tag '…' found using 'kind' does not match any of the expected tags: 'cat', 'dog'",
        ),
        (
            list[int],
            '[1,"a"]',
            "int_parsing",
            ("x", 1),
            "Input should be a valid integer, unable to parse string as an integer",
        ),
    ],
)
def test_an_issue_has_place_type_and_rule_and_never_the_value(
    annotation: Any, raw: str, code: str, path: tuple[str | int, ...], message: str
) -> None:
    class Holder(TypedDict):
        x: annotation  # type: ignore[valid-type] - built at run time

    Holder.__annotations__["x"] = annotation
    (issue,) = issues_of(Holder, f'{{"x":{raw}}}')
    assert (issue.code, issue.path, issue.message, issue.offset) == (code, path, message, None)


def test_the_number_of_issues_is_bounded() -> None:
    assert len(issues_of(dict[str, int], json.dumps({str(i): "a" for i in range(500)}))) == MAX_ISSUES


def test_very_many_errors_are_not_listed_at_all() -> None:
    (issue,) = issues_of(dict[str, int], json.dumps({str(i): SECRET for i in range(MAX_FOUND + 1)}))
    assert (issue.code, issue.path) == ("too_many_errors", ())
    assert issue.message.startswith("more than 1000 rules of the tool's schema are broken")
    assert len(issues_of(dict[str, int], json.dumps({str(i): SECRET for i in range(MAX_FOUND)}))) == MAX_ISSUES


def test_long_keys_are_cut_in_paths() -> None:
    (issue,) = issues_of(dict[str, int], json.dumps({"k" * 5000: "a"}))
    assert len(str(issue.path[0])) < 100


@pytest.mark.parametrize("raised", [KeyError(SECRET), RuntimeError(SECRET), RecursionError(), TypeError(SECRET)])
def test_any_other_exception_of_a_validator_rejects_with_its_class_only(raised: Exception) -> None:
    def broken(_value: Any) -> Any:
        raise raised

    class Broken(BaseModel):
        x: Annotated[int, AfterValidator(broken)]

    (issue,) = issues_of(Broken, '{"x":1}')
    assert issue.code == "validator_error"
    assert type(raised).__name__ in issue.message


@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit])
def test_what_is_no_exception_passes(raised: type[BaseException]) -> None:
    def broken(_value: Any) -> Any:
        raise raised

    class Broken(BaseModel):
        x: Annotated[int, AfterValidator(broken)]

    with pytest.raises(raised):
        schema_of(Broken).parse('{"x":1}')


def test_what_has_no_canonical_form_is_found_by_canonical_text() -> None:
    class Lax(BaseModel):
        x: float
        n: int = 0

    schema = schema_of(Lax)
    for raw, place in (('{"x":"nan"}', "x"), ('{"x":1,"n":"9007199254740993"}', "n")):
        parsed = schema.parse(raw)
        with pytest.raises(NotCanonicalError) as caught:
            schema.canonical_text(parsed)
        assert caught.value.path == (place,)


def test_a_type_adapter_over_a_callable_is_refused_and_nothing_runs() -> None:
    def tool(x: int) -> dict[str, int]:
        raise AssertionError

    with pytest.raises(ToolRegistrationError, match="is a callable, and validating with it would run it"):
        schema_of(tool)


def test_what_pydantic_itself_refuses_is_a_registration_error() -> None:
    class Old(TypedDict):
        x: Annotated[int, Field(discriminator="a")]

    Old.__annotations__["x"] = Annotated[int, Field(discriminator="a")]
    with pytest.raises(ToolRegistrationError, match="tool 'tool': pydantic refuses its arguments' type"):
        schema_of(Old)
