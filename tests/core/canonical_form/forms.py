"""Helpers: the text of a value under an annotation, and what a registration is refused with."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import create_model

from aioc_opa.core.canonical_form import compile_form
from aioc_opa.core.canonical_json import NotCanonicalError
from aioc_opa.core.tool_schemas.pydantic_schema import PydanticSchema
from aioc_opa.errors import ToolRegistrationError


def in_model(annotation: Any) -> Any:
    return create_model("Arguments", x=(annotation, ...))


def text_of(annotation: Any, raw: str) -> str:
    """Canonical text of the JSON `raw` under `annotation`, all the way from the raw text."""
    schema = PydanticSchema(in_model(annotation), tool_name="tool")
    text = schema.canonical_text(schema.parse(f'{{"x":{raw}}}'))
    assert text.startswith('{"x":')
    return text[5:-1]


def whole_text(annotation: Any, raw: str) -> str:
    schema = PydanticSchema(annotation, tool_name="tool")
    return schema.canonical_text(schema.parse(raw))


def text_of_object(annotation: Any, value: object) -> str:
    """Canonical text of an object that was put there, as a validator or a hook could."""
    model = in_model(annotation)
    form = compile_form(model, tool_name="tool")
    holder = model.model_construct(x=value)
    form.settle(holder)
    return form.text(holder)[5:-1]


def refused_object(annotation: Any, value: object) -> NotCanonicalError:
    with pytest.raises(NotCanonicalError) as caught:
        text_of_object(annotation, value)
    return caught.value


def refused_registration(annotation: Any, *, whole: bool = False) -> str:
    with pytest.raises(ToolRegistrationError) as caught:
        compile_form(annotation if whole else in_model(annotation), tool_name="tool")
    message = str(caught.value)
    assert message.startswith("tool 'tool': ")
    return message
