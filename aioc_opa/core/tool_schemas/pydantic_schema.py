"""Tool arguments as a pydantic model, dataclass, TypedDict, or any type that pydantic reads from a JSON object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from aioc_opa.core.canonical_form import compile_form
from aioc_opa.core.canonical_json import NotCanonicalError
from aioc_opa.core.tool_schemas import python_patterns, union_branches
from aioc_opa.core.tool_schemas.python_patterns import python_pattern
from aioc_opa.core.tool_schemas.rejection import broken_validator, not_canonical, rejection
from aioc_opa.core.tool_schemas.schema_context import SchemaContext
from aioc_opa.core.tool_schemas.union_branches import branching_union
from aioc_opa.errors import ToolRegistrationError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aioc_opa.core.json_value import JsonObject


class PydanticSchema:
    """A `ToolSchema` over one annotation. The handler gets the parsed object as its only argument."""

    def __init__(self, annotation: Any, *, tool_name: str, names: Mapping[str, str] | None = None) -> None:
        """Compile validator, walk and export.

        Args:
            annotation: what the arguments are. A callable is refused: validating with it would run it.
            tool_name: for errors.
            names: for a model with generated field names: the canonical name of each.

        Raises:
            ToolRegistrationError: naming the tool, the place and the cure.
        """
        self._form = compile_form(annotation, tool_name=tool_name, names=names)
        try:
            adapter: TypeAdapter[Any] = TypeAdapter(annotation)
            # The core validator: `TypeAdapter.validate_json` would look up the stack on every call.
            self._validate_json = adapter.validator.validate_json
        except Exception as error:
            raise ToolRegistrationError(f"tool {tool_name!r}: pydantic refuses its arguments' type: {error}") from error
        for found, cure in ((python_pattern, python_patterns.CURE), (branching_union, union_branches.CURE)):
            place = found(adapter.core_schema, names or {})
            if place is not None:
                raise ToolRegistrationError(f"tool {tool_name!r}: {place}: {cure}")
        self._context = SchemaContext(adapter.core_schema)

    def parse(self, raw_arguments: str) -> object:
        """One `validate_json` of the text (JSON semantics: a strict model with a date accepts an ISO string).

        Raises:
            SchemaRejectionError: the arguments do not fit, or a validator failed in some other way.
        """
        try:
            parsed: object = self._validate_json(raw_arguments)
            self._form.settle(parsed)
        except ValidationError as error:
            refusal = rejection(error, self._context)
        except NotCanonicalError as error:
            refusal = not_canonical(error)
        except Exception as error:  # noqa: BLE001 - a validator is application code and may raise anything
            refusal = broken_validator(error)
        else:
            return parsed
        raise refusal  # outside the handler: the context of an error in flight would hold the values

    def canonical_text(self, parsed: object) -> str:
        """RFC 8785 text of the canonical value of `parsed`, made by a fresh walk.

        Raises:
            NotCanonicalError: there is none.
        """
        return self._form.text(parsed)

    def bind(self, parsed: object) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The parsed object itself, as the only argument."""
        return (parsed,), {}

    def export(self) -> JsonObject:
        """JSON Schema 2020-12 of the canonical value."""
        return self._form.export()
