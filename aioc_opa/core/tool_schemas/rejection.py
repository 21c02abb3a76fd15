"""From pydantic's `ValidationError` to issues that show place, type and rule, and never the rejected value.

pydantic's own messages may hold the value (a validator's text, an unknown tag, the character that is no digit). So the
sentence is made anew from pydantic's template for the error type, with those of its parameters filled in that come from
the schema; all others, and the text of custom errors, are shown as an ellipsis.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from pydantic_core._pydantic_core import list_all_errors

from aioc_opa.core.json_path import path_key
from aioc_opa.core.tool_schemas.protocol import SchemaRejectionError
from aioc_opa.errors import ArgumentIssue

if TYPE_CHECKING:
    from pydantic import ValidationError

    from aioc_opa.core.canonical_json import NotCanonicalError

MAX_ISSUES: Final = 50
"""One answer names this many places at most."""

_TEMPLATES: Final[dict[str, str]] = {entry["type"]: entry["message_template_python"] for entry in list_all_errors()}
_FROM_SCHEMA: Final = frozenset({
    "ge", "gt", "le", "lt", "multiple_of", "min_length", "max_length", "pattern", "expected",
    "expected_tags", "discriminator", "class_name", "field_type", "max_digits", "decimal_places", "whole_digits",
    "tz_expected", "expected_schemes", "expected_version",
})  # fmt: skip
_CODE: Final = re.compile(r"[a-z][a-z0-9_.]{0,63}")
_CUSTOM: Final = "custom_error"


class _SchemaContext(dict[str, Any]):
    def __missing__(self, key: str) -> str:
        return "(s)" if key == "expected_plural" else "…"


def rejection(error: ValidationError) -> SchemaRejectionError:
    """The refusal for what pydantic found. Holds no reference to `error`, which holds the values."""
    issues = [
        _issue(found)
        for found in error.errors(include_url=False, include_input=False, include_context=True)[:MAX_ISSUES]
    ]
    return SchemaRejectionError(issues)


def broken_validator(error: Exception) -> SchemaRejectionError:
    """The refusal for any other exception out of a validator; its text may hold values, so only its class is named."""
    message = f"a validator raised {type(error).__name__}; raise ValueError for arguments that do not fit"
    return SchemaRejectionError([ArgumentIssue(code="validator_error", path=(), message=message)])


def not_canonical(error: NotCanonicalError) -> SchemaRejectionError:
    """The refusal for a parse that has no canonical form (design 2)."""
    return SchemaRejectionError([ArgumentIssue(code="not_canonical", path=error.path, message=error.problem)])


def _issue(found: Any) -> ArgumentIssue:
    code = found["type"] if _CODE.fullmatch(found["type"]) else _CUSTOM
    context = _SchemaContext({key: value for key, value in found.get("ctx", {}).items() if key in _FROM_SCHEMA})
    template = _TEMPLATES.get(code, "refused by a rule of the tool's schema")
    return ArgumentIssue(
        code=code,
        path=tuple(path_key(part) if isinstance(part, str) else part for part in found["loc"]),
        message=template.format_map(context),
    )
