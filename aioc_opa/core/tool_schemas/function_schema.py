"""Tool arguments as the parameters of a Python function.

A model is built from the signature. Its fields have generated names, so that a parameter may be called
``model_config``, ``schema`` or ``self``; the parameters' names are their aliases and stand in the canonical value.
Injected parameters are the application's: they are in no model, no hash and no schema.
"""

from __future__ import annotations

import inspect
import types
import typing
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import ConfigDict, Field, create_model
from pydantic.fields import FieldInfo

from aioc_opa.core.tool_schemas.pydantic_schema import PydanticSchema
from aioc_opa.errors import ToolRegistrationError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from aioc_opa.core.json_value import JsonObject

_CONFIG: Final = ConfigDict(extra="forbid", validate_by_alias=True, validate_by_name=False, protected_namespaces=())


class FunctionSchema:
    """A `ToolSchema` over a function's signature."""

    def __init__(self, function: Callable[..., Any], *, tool_name: str, injected: frozenset[str] = frozenset()) -> None:
        """Build the model from the signature.

        Args:
            function: a plain or async function, or a bound method. Every parameter that is not injected has an
                annotation. ``Annotated`` validators and `Field` are honoured.
            tool_name: for errors.
            injected: parameters that the guard fills in by keyword.

        Raises:
            ToolRegistrationError: naming the tool, the parameter and the cure.
        """
        self._tool_name = tool_name
        inner = self._checked_function(function)
        parameters = self._checked_parameters(function, injected)
        hints = self._hints(inner, parameters)
        fields: dict[str, Any] = {}
        names: dict[str, str] = {}
        for index, parameter in enumerate(parameters):
            names[f"field_{index}"] = parameter.name
            fields[f"field_{index}"] = self._field(parameter, hints[parameter.name])
        try:
            model = create_model("Arguments", __config__=_CONFIG, **fields)
        except Exception as error:
            raise self._refused(f"pydantic refuses its signature: {error}") from error
        self._schema = PydanticSchema(model, tool_name=tool_name, names=names)
        positional = inspect.Parameter.POSITIONAL_ONLY
        by_field = list(zip(names, parameters, strict=True))
        self._positional = tuple(field for field, parameter in by_field if parameter.kind is positional)
        self._keyword = tuple(
            (field, parameter.name) for field, parameter in by_field if parameter.kind is not positional
        )

    def parse(self, raw_arguments: str) -> object:
        """One `validate_json` of the text; unknown keys are refused.

        Raises:
            SchemaRejectionError: the arguments do not fit.
        """
        return self._schema.parse(raw_arguments)

    def canonical_text(self, parsed: object) -> str:
        """RFC 8785 text of the arguments under the parameters' names, made by a fresh walk.

        Raises:
            NotCanonicalError: there is none.
        """
        return self._schema.canonical_text(parsed)

    def bind(self, parsed: object) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Each parameter's very value, as it was judged. The guard adds what is injected."""
        held: Mapping[str, Any] = parsed.__dict__
        return tuple(held[field] for field in self._positional), {name: held[field] for field, name in self._keyword}

    def export(self) -> JsonObject:
        """JSON Schema 2020-12 of the arguments, under the parameters' names."""
        return self._schema.export()

    def _refused(self, problem: str, parameter: str | None = None) -> ToolRegistrationError:
        place = "" if parameter is None else f"{parameter}: "
        return ToolRegistrationError(f"tool {self._tool_name!r}: {place}{problem}")

    def _checked_function(self, function: Callable[..., Any]) -> types.FunctionType:
        """The function behind methods and well-behaved decorators (``functools.wraps``)."""
        if not isinstance(function, types.FunctionType | types.MethodType):
            kind = type(function).__name__
            raise self._refused(f"a {kind} is no plain function: write a def that calls it, with its own signature")
        seen: Any = function
        passed: set[int] = set()
        while True:
            if id(seen) in passed:
                raise self._refused("it wraps itself: remove its __wrapped__")
            passed.add(id(seen))
            seen = seen.__func__ if isinstance(seen, types.MethodType) else seen
            if inspect.isgeneratorfunction(seen) or inspect.isasyncgenfunction(seen):
                raise self._refused("a generator runs after the call has been checked: return a list")
            if not hasattr(seen, "__wrapped__"):
                break
            seen = seen.__wrapped__
        if not isinstance(seen, types.FunctionType):
            raise self._refused(f"it wraps a {type(seen).__name__}: write a def that calls it, with its own signature")
        return seen

    def _checked_parameters(self, function: Callable[..., Any], injected: frozenset[str]) -> list[inspect.Parameter]:
        signature = inspect.signature(function).parameters
        for name in sorted(injected - signature.keys()):
            raise self._refused("it is declared as injected, but the function has no such parameter", name)
        for parameter in signature.values():
            if parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
                raise self._refused("var-args take what nobody declared: declare each parameter", parameter.name)
            if parameter.name in injected and parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
                raise self._refused("an injected parameter is passed by keyword: remove the '/'", parameter.name)
        return [parameter for parameter in signature.values() if parameter.name not in injected]

    def _hints(self, inner: types.FunctionType, parameters: list[inspect.Parameter]) -> dict[str, Any]:
        """Resolved annotations of the parameters alone: those of injected ones may name what is imported for typing."""
        hints: dict[str, Any] = {}
        for parameter in parameters:
            if parameter.annotation is inspect.Parameter.empty:
                cure = "it has no annotation: annotate it, or declare it as injected"
                if parameter.name == "self":
                    cure += " (for a method, register the bound one)"
                raise self._refused(cure, parameter.name)
            holder = types.SimpleNamespace(__annotations__={parameter.name: parameter.annotation})
            try:
                hints |= typing.get_type_hints(holder, globalns=inner.__globals__, include_extras=True)
            except Exception as error:  # noqa: BLE001 - evaluating runs code of the application
                name = getattr(error, "name", None) or type(error).__name__
                raise self._refused(
                    f"its annotation mentions a name that is not resolved ({name}): define it at module level, "
                    "outside `if TYPE_CHECKING`",
                    parameter.name,
                ) from None
        return hints

    def _field(self, parameter: inspect.Parameter, hint: Any) -> tuple[Any, Any]:
        required = parameter.default is inspect.Parameter.empty
        info = (
            FieldInfo.from_annotation(hint) if required else FieldInfo.from_annotated_attribute(hint, parameter.default)
        )
        if info.alias is not None or info.validation_alias is not None:
            raise self._refused("its Field has an alias, but its name is the parameter's: rename it", parameter.name)
        if info.default_factory_takes_validated_data:
            raise self._refused("its default_factory reads other fields: compute it in the tool", parameter.name)
        return Annotated[hint, Field(alias=parameter.name)], ... if required else parameter.default
