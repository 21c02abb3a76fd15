from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    field_validator,
    model_validator,
)

from tests.core.tool_schemas.pydantic_cases import schema_of


class Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")
    day: dt.date
    amount: Decimal


def test_a_strict_model_takes_iso_strings_as_json_semantics_say() -> None:
    schema = schema_of(Strict)
    parsed = schema.parse('{"day":"2024-02-29","amount":"1.50"}')
    assert parsed == Strict(day=dt.date(2024, 2, 29), amount=Decimal("1.50"))
    assert schema.canonical_text(parsed) == '{"amount":"1.50","day":"2024-02-29"}'


def test_every_validator_runs_exactly_once_per_parse() -> None:
    runs: list[str] = []

    def seen(name: str) -> Any:
        def validate(value: Any) -> Any:
            runs.append(name)
            return value

        return validate

    class Counted(BaseModel):
        x: Annotated[int, BeforeValidator(seen("before")), AfterValidator(seen("after"))]

        @field_validator("x")
        @classmethod
        def _field(cls, value: int) -> int:
            runs.append("field")
            return value

        @model_validator(mode="after")
        def _model(self) -> Counted:
            runs.append("model")
            return self

    schema = schema_of(Counted)
    parsed = schema.parse('{"x":1}')
    schema.canonical_text(parsed)
    schema.bind(parsed)
    schema.canonical_text(parsed)
    assert sorted(runs) == ["after", "before", "field", "model"]


def test_bind_gives_the_very_object_as_the_only_argument() -> None:
    schema = schema_of(Strict)
    parsed = schema.parse('{"day":"2024-02-29","amount":"1"}')
    args, kwargs = schema.bind(parsed)
    assert args[0] is parsed
    assert (len(args), kwargs) == (1, {})


def test_export_is_the_canonical_value_s_schema() -> None:
    assert schema_of(Strict).export()["properties"] == {
        "day": {"type": "string", "format": "date"},
        "amount": {"type": "string"},
    }
