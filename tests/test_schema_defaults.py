"""A default in a contract's schema is the model's own, and no default of a model is left out."""

from __future__ import annotations

import typing
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from aioc_opa.models.json_schemas import CONTRACTS, contract_schemas

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aioc_opa.core.json_value import JsonObject


def models(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    yield model
    for field in model.model_fields.values():
        for each in inside(field.annotation):
            yield from models(each)


def inside(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in typing.get_args(annotation):
        yield from inside(part)


def defaults(model: type[BaseModel]) -> dict[str, Any]:
    """By the name on the wire. None stands for absent, and is no default there."""
    given = {
        field.alias or name: field.get_default(call_default_factory=True, validated_data={})
        for name, field in model.model_fields.items()
    }
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in given.items()
        if value is not None and value is not PydanticUndefined
    }


def written(schema: Any) -> dict[str, Any]:
    return {name: each["default"] for name, each in schema.get("properties", {}).items() if "default" in each}


@pytest.mark.parametrize("name", CONTRACTS)
def test_the_defaults_of_a_schema_are_those_of_its_models_and_all_of_them(name: str) -> None:
    schema: JsonObject = contract_schemas()[name]
    parts: Any = schema.get("$defs", {})
    for model in models(CONTRACTS[name]):
        assert written(parts.get(model.__name__, schema)) == defaults(model), model.__name__
