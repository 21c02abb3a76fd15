"""From the request body to the text of `input`, and what of it the embedded engine must not meet."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from aioc_opa.core.engine_answer import EngineFailureError
from aioc_opa.core.limits import HARD_MAX_DEPTH, MAX_SAFE_INTEGER, JsonLimits
from aioc_opa.core.reasons import Reason
from aioc_opa.core.strict_json import StrictJsonError, decode

if TYPE_CHECKING:
    from aioc_opa.core.json_value import JsonValue

_PREFIX: Final = b'{"input":'
_SUFFIX: Final = b"}"

# A number that may lie beyond 2^53-1 has 16 digits before its point, or an exponent. This also finds such a shape
# inside a string (rawArguments holds JSON); then the exact check below decides.
_MAYBE_LARGE: Final = re.compile(rb"[:,\[]\s*-?(?:[0-9]{16}|[0-9]+(?:\.[0-9]+)?[eE])")


def input_text(body: bytes, refused_characters: re.Pattern[str] | None, *, unsafe_any_number: bool = False) -> str:
    """The JSON text of ``input`` in a body ``{"input":…}``.

    Raises:
        EngineFailureError: the body has another form (`policy_input_invalid`), or holds a number or a character on
            which the embedded engine would differ from OPA (`policy_evaluation_error`).
    """
    if not (body.startswith(_PREFIX) and body.endswith(_SUFFIX)):
        raise EngineFailureError(Reason.POLICY_INPUT_INVALID, 'the body is not {"input":…}')
    try:
        text = body[len(_PREFIX) : -len(_SUFFIX)].decode()
    except UnicodeDecodeError as error:
        raise EngineFailureError(Reason.POLICY_INPUT_INVALID, "the body is not UTF-8") from error
    if not unsafe_any_number and _MAYBE_LARGE.search(body) is not None:
        _refuse_large_numbers(text)
    if refused_characters is not None and (refused_characters.search(text) or "\\u" in text):
        _refuse_characters(text, refused_characters)
    return text


def _refuse_large_numbers(text: str) -> None:
    for value in _values(text):
        if type(value) in {int, float} and abs(value) > MAX_SAFE_INTEGER:  # type: ignore[arg-type] # the type is tested
            raise EngineFailureError(
                Reason.POLICY_EVALUATION_ERROR, "the input has a number beyond 2^53-1: ask OPA, or send it as a string"
            )


def _refuse_characters(text: str, refused: re.Pattern[str]) -> None:
    for value in _values(text):
        if isinstance(value, str) and refused.search(value):
            raise EngineFailureError(
                Reason.POLICY_EVALUATION_ERROR,
                "the input has a character that this policy's count(…) or lower(…) treats differently from OPA",
            )


def _values(text: str) -> list[JsonValue]:
    limits = JsonLimits(max_bytes=len(text.encode()) + 2, max_depth=HARD_MAX_DEPTH, max_nodes=max(len(text), 1))
    try:
        root = decode(text, limits)
    except StrictJsonError as error:
        raise EngineFailureError(Reason.POLICY_EVALUATION_ERROR, f"the input: {error}") from error
    found: list[JsonValue] = []
    stack: list[JsonValue] = [root]
    while stack:
        value = stack.pop()
        found.append(value)
        if isinstance(value, dict):
            found.extend(value)
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)
    return found
