"""What is refused of defaults and of the top level, and what reading an annotation may cost."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Annotated, Any

import pydantic
import pytest
from pydantic import BaseModel, ConfigDict, Field, RootModel
from typing_extensions import TypeAliasType

from tests.core.canonical_form.forms import refused_registration


@pytest.mark.parametrize("annotation", [list[int], int, Any, RootModel[list[int]], dict[str, int] | None, tuple[int]])
def test_the_top_level_is_an_object(annotation: Any) -> None:
    assert "the arguments: a tool's arguments are one JSON object" in refused_registration(annotation, whole=True)


@pytest.mark.parametrize(
    ("annotation", "default", "said"),
    [
        (str, None, "its default does not fit: it holds NoneType, not exactly str"),
        (Decimal, 0, "its default does not fit: it holds int, not exactly Decimal"),
        (list[Decimal], [Decimal(1), 1], "x[1]: its default does not fit"),
        (float, float("nan"), "its default does not fit: NaN"),
        (Any, open, "its default does not fit"),
        (Any, (i for i in ()), "its default cannot be copied"),
    ],
)
def test_a_default_that_is_not_what_is_declared_is_refused(annotation: Any, default: Any, said: str) -> None:
    model = pydantic.create_model("M", x=(annotation, default))
    assert said in refused_registration(model, whole=True)


def test_a_default_that_is_validated_is_not_looked_at() -> None:
    class Validated(BaseModel):
        x: Decimal = Field(default="1", validate_default=True)

    class ByConfig(BaseModel):
        model_config = ConfigDict(validate_default=True)
        x: Decimal = "1"  # type: ignore[assignment] - what is tested

    from tests.core.canonical_form.forms import whole_text

    assert whole_text(Validated, "{}") == whole_text(ByConfig, "{}") == '{"x":"1"}'


def test_a_class_that_breaks_while_it_is_read_gives_a_registration_error() -> None:
    class Meta(type):
        def __getattr__(cls, name: str) -> Any:
            raise ZeroDivisionError

    class Broken(metaclass=Meta):
        pass

    assert "cannot be read (ZeroDivisionError)" in refused_registration(Broken, whole=True)


@pytest.mark.parametrize(
    "annotation", [list[Annotated[int, Field(json_schema_extra={"a": 1})]], dict[str, Annotated[int, {"doc": [1]}]]]
)
def test_metadata_without_a_hash_is_no_reason_to_refuse(annotation: Any) -> None:
    from aioc_opa.core.canonical_form import compile_form

    compile_form(pydantic.create_model("M", x=(annotation, ...)), tool_name="tool")


def test_a_cure_is_found_beside_metadata_without_a_hash() -> None:
    assert "a set has no order" in refused_registration(Annotated[set[int], {"doc": [1]}])


def doubled(levels: int, last: Any) -> Any:
    """Aliases that lead to `last` on 2 ** `levels` ways."""
    alias = TypeAliasType("alias", last)  # type: ignore[misc] - made at run time
    for _ in range(levels):
        alias = TypeAliasType("alias", dict[str, alias] | list[alias])  # type: ignore[misc,valid-type]
    return alias


def sides(levels: int) -> Any:
    """Unions of unions that lead to `int` and `str` on 2 ** `levels` ways, with no level of JSON between."""
    one: Any = TypeAliasType("one", int)
    two: Any = TypeAliasType("two", str)
    for _ in range(levels):
        one, two = TypeAliasType("one", one | two), TypeAliasType("two", two | one)
    return one


def test_what_is_shared_over_and_over_is_read_once() -> None:
    """Each of these takes longer than anyone would wait if a way is followed for each way to it."""
    from aioc_opa.core.canonical_form import compile_form

    for annotation in (doubled(40, int), sides(40), dict[str, sides(40)]):
        compile_form(pydantic.create_model("M", x=(annotation, ...)), tool_name="tool")
    either = doubled(40, int) | doubled(40, str)
    compile_form(pydantic.create_model("M", x=(either, ...)), tool_name="tool")
    assert "which can write equal JSON" in refused_registration(doubled(40, dt.date) | doubled(40, str))
