"""From pydantic's `ValidationError` to issues that show place, type and rule, and never the rejected value.

pydantic's own messages may hold the value (a validator's text, an unknown tag, the character that is no digit). So the
sentence is made anew from pydantic's template for the error type, with those of its parameters filled in that stand in
the schema (`schema_context`); all others, and the text of custom errors, are shown as an ellipsis.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pydantic_core._pydantic_core import list_all_errors

from aioc_opa.core.json_path import path_key
from aioc_opa.core.tool_schemas.protocol import SchemaRejectionError
from aioc_opa.errors import ArgumentIssue

if TYPE_CHECKING:
    from pydantic import ValidationError

    from aioc_opa.core.canonical_json import NotCanonicalError
    from aioc_opa.core.tool_schemas.schema_context import SchemaContext

MAX_ISSUES: Final = 50
"""One answer names this many places at most."""

MAX_FOUND: Final = 1000
"""Up to this many errors are looked at one by one."""

_TEMPLATES: Final[dict[str, str]] = {entry["type"]: entry["message_template_python"] for entry in list_all_errors()}
_CUSTOM: Final = "custom_error"


def rejection(error: ValidationError, context: SchemaContext) -> SchemaRejectionError:
    """The refusal for what pydantic found. Holds no reference to `error`, which holds the values.

    Where it found very much, nothing is listed: pydantic lists all or nothing, and 2 million entries take gigabytes.
    """
    if error.error_count() > MAX_FOUND:
        message = f"more than {MAX_FOUND} rules of the tool's schema are broken: send arguments of the declared shape"
        return SchemaRejectionError([ArgumentIssue(code="too_many_errors", path=(), message=message)])
    found = error.errors(include_url=False, include_input=False, include_context=True)
    return SchemaRejectionError([_issue(one, context) for one in found[:MAX_ISSUES]])


def broken_validator(error: Exception) -> SchemaRejectionError:
    """The refusal for any other exception out of a validator; its text may hold values, so only its class is named."""
    message = f"a validator raised {type(error).__name__}; raise ValueError for arguments that do not fit"
    return SchemaRejectionError([ArgumentIssue(code="validator_error", path=(), message=message)])


def not_canonical(error: NotCanonicalError) -> SchemaRejectionError:
    """The refusal for a parse that has no canonical form (design 2)."""
    return SchemaRejectionError([ArgumentIssue(code="not_canonical", path=error.path, message=error.problem)])


def _issue(found: Any, context: SchemaContext) -> ArgumentIssue:
    # A code that pydantic does not know is a validator's own text, and may hold the value as any other.
    code = found["type"] if found["type"] in _TEMPLATES else _CUSTOM
    template = _TEMPLATES.get(code, "refused by a rule of the tool's schema")
    return ArgumentIssue(
        code=code,
        path=tuple(path_key(part) if isinstance(part, str) else part for part in found["loc"]),
        message=context.sentence(template, found.get("ctx", {})),
    )
