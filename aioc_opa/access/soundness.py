"""Whether a question may be looked at: exact types, and bounds; and whether its ids may stand in an event."""

from __future__ import annotations

import re
from typing import Final

from aioc_opa.access.names import is_name
from aioc_opa.access.questions import AccessQuestion, ToolMetadata
from aioc_opa.models.tool_authorization import MAX_RESOURCE_BUDGET

MAX_RUN_OR_CALL_ID: Final = 256
_REQUEST_ID: Final = re.compile(r"[0-9a-f]{32}")
_MAX_VERSION: Final = 32


def has_sound_ids(question: object) -> bool:
    """Whether `question` is one at all, with ids by which an event can name it."""
    if type(question) is not AccessQuestion:
        return False
    request_id: object = question.request_id
    return (
        type(request_id) is str
        and _REQUEST_ID.fullmatch(request_id) is not None
        and is_name(question.run_id, MAX_RUN_OR_CALL_ID)
        and is_name(question.call_id, MAX_RUN_OR_CALL_ID)
    )


def is_sound(question: AccessQuestion) -> bool:
    """Whether every value of `question` is what its type says. The name that was called may be anything."""
    given: object = question.run_id_given
    return (
        _is_sound_tool(question.tool_name, question.registered)
        and type(given) is bool
        and all(value is None or is_name(value) for value in (question.capability, question.provider, question.model))
    )


def _is_sound_tool(called: object, tool: object) -> bool:
    if tool is None:
        return True
    if type(tool) is not ToolMetadata or type(called) is not str:
        return False
    cost: object = tool.cost
    return (
        is_name(tool.name)
        and called == tool.name
        and (tool.version is None or is_name(tool.version, _MAX_VERSION))
        and type(cost) is int
        and 1 <= cost <= MAX_RESOURCE_BUDGET
    )
