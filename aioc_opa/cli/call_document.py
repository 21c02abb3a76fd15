"""CALL: the document that describes one proposed tool call to `aioc-opa`.

::

    {"agentName", "toolName", "rawArguments" | "arguments",
     "runContext"?, "turn"?, "callId"?, "toolVersion"?, "principal"?}

``rawArguments`` is the provider's exact string. ``arguments`` is an object that something has decoded already: policy
sees ``decodeAssurance: "decoded"`` then. Other keys are the author's own (a recorded result, say) and are passed over;
but one that differs from a known key in case or underscores only is refused, for it would be missed in silence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from pydantic import BaseModel, ValidationError

from aioc_opa.errors import InputFileError
from aioc_opa.models.principal import Principal
from aioc_opa.models.run_context import RunContext

if TYPE_CHECKING:
    from aioc_opa.cli.json_files import JsonDocument
    from aioc_opa.core.json_value import JsonObject, JsonValue

Model = TypeVar("Model", bound=BaseModel)

_KEYS: Final = (
    "agentName",
    "toolName",
    "rawArguments",
    "arguments",
    "runContext",
    "turn",
    "callId",
    "toolVersion",
    "principal",
)

_OTHER_NAMES: Final = {
    "agentName": ("agent",),
    "toolName": ("tool", "name", "function"),
    "rawArguments": ("args", "rawargs", "input", "parameters", "params"),
}
"""What other formats call these, folded; looked for only where the key itself is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallDocument:
    """One proposed call.

    Attributes:
        arguments: the provider's string, or a decoded object.
        source: where it was read, for messages.
    """

    agent_name: str
    tool_name: str
    arguments: str | JsonObject
    run_context: RunContext
    turn: int
    call_id: str | None
    tool_version: str | None
    principal: Principal | None
    source: str


def call_document(document: JsonDocument) -> CallDocument:
    """Read a CALL.

    Raises:
        InputFileError: it is none; the message has the place.
    """
    value, source = document.value, document.source
    for key in value:
        known = next((name for name in _KEYS if name != key and _folded(name) == _folded(key)), None)
        if known is not None:
            raise InputFileError(f"{source}: $.{key}: did you mean {known!r}?")
    return CallDocument(
        agent_name=text_at(document, "agentName"),
        tool_name=text_at(document, "toolName"),
        arguments=_arguments(document),
        run_context=_model(RunContext, value.get("runContext", {}), f"{source}: $.runContext"),
        turn=_turn(document),
        call_id=text_at(document, "callId") if "callId" in value else None,
        tool_version=text_at(document, "toolVersion") if "toolVersion" in value else None,
        principal=_model(Principal, value["principal"], f"{source}: $.principal") if "principal" in value else None,
        source=source,
    )


def text_at(document: JsonDocument, key: str) -> str:
    """The string under `key`.

    Raises:
        InputFileError: there is none, or it is empty.
    """
    found = document.value.get(key)
    if key not in document.value and (other := _other_name(document, key)):
        raise InputFileError(f"{document.source}: $.{key}: missing; `{other}` is not known")
    if type(found) is not str or not found:
        raise InputFileError(f"{document.source}: $.{key}: expected a string that is not empty")
    return found


def _turn(document: JsonDocument) -> int:
    turn = document.value.get("turn", 0)
    if type(turn) is not int or turn < 0:
        raise InputFileError(f"{document.source}: $.turn: expected an integer from 0")
    return turn


def _arguments(document: JsonDocument) -> str | JsonObject:
    value, source = document.value, document.source
    if not {"rawArguments", "arguments"} & value.keys() and (other := _other_name(document, "rawArguments")):
        raise InputFileError(
            f"{source}: $: `{other}` is not known; give exactly one of rawArguments (the provider's string) and"
            " arguments (a decoded object)"
        )
    if ("rawArguments" in value) == ("arguments" in value):
        raise InputFileError(
            f"{source}: $: give exactly one of rawArguments (the provider's string) and arguments (a decoded object)"
        )
    raw = value.get("rawArguments")
    if "rawArguments" in value:
        if type(raw) is not str:
            raise InputFileError(f"{source}: $.rawArguments: expected a string; a decoded object goes under arguments")
        return raw
    decoded = value["arguments"]
    if type(decoded) is not dict:
        raise InputFileError(
            f"{source}: $.arguments: expected an object; the provider's string goes under rawArguments"
        )
    return decoded


def _model(model: type[Model], value: JsonValue, place: str) -> Model:
    try:
        return model.model_validate(value, by_alias=True, by_name=False)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        inner = "".join(f".{part}" for part in first["loc"])
        if model is RunContext and first["type"] == "extra_forbidden":
            raise InputFileError(f"{place}{inner}: not known here; put it under runContext.context") from None
        raise InputFileError(f"{place}{inner}: {first['msg']}") from None


def _other_name(document: JsonDocument, key: str) -> str | None:
    """The author's key that stands where `key` is missing."""
    return next((given for given in document.value if _folded(given) in _OTHER_NAMES.get(key, ())), None)


def _folded(key: str) -> str:
    return key.casefold().replace("_", "").replace("-", "")
