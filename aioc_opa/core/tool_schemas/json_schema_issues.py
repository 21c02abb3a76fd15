"""From the validator's error to an `ArgumentIssue`: the keyword, the place, a sentence about the schema.

The validator's own sentences hold the rejected value; ours are made from the schema's side only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aioc_opa.core.canonical_json import canonical_text
from aioc_opa.core.json_path import path_key
from aioc_opa.core.tool_schemas.protocol import NotCanonicalError
from aioc_opa.errors import ArgumentIssue

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError

_LONGEST_LIST: Final = 200
"""Characters of an enumeration that a message may hold."""

_SENTENCES: Final = {
    "additionalItems": "has more items than are allowed",
    "additionalProperties": "has a property that is not declared",
    "anyOf": "fits none of the alternatives",
    "contains": "has no item, or too few or too many, of the kind that it must contain",
    "contentEncoding": "is not encoded as declared",
    "contentMediaType": "is not of the declared media type",
    "falseSchema": "must not be there",
    "not": "fits what is excluded",
    "oneOf": "does not fit exactly one of the alternatives",
    "propertyNames": "has a property whose name is not allowed",
    "unevaluatedItems": "has more items than are allowed",
    "unevaluatedProperties": "has a property that is not declared",
    "uniqueItems": "has two equal items",
}

_LIMITS: Final = {
    "exclusiveMaximum": "must be less than {}",
    "exclusiveMinimum": "must be greater than {}",
    "maxItems": "has more than {} items",
    "maxLength": "is longer than {} characters",
    "maxProperties": "has more than {} properties",
    "maximum": "is greater than {}",
    "minItems": "has fewer than {} items",
    "minLength": "is shorter than {} characters",
    "minProperties": "has fewer than {} properties",
    "minimum": "is less than {}",
    "multipleOf": "is no multiple of {}",
}


def issue_of(error: ValidationError) -> ArgumentIssue:
    """The issue: `code` is the JSON Schema keyword, `path` the place in the arguments."""
    keyword = error.kind.name
    return ArgumentIssue(code=keyword, path=_path(error), message=_message(keyword, error))


def _path(error: ValidationError) -> tuple[str | int, ...]:
    # Below `additionalProperties` a key is the model's own text. It says where; `path_key` keeps it short.
    return tuple(path_key(part) if type(part) is str else part for part in error.instance_path)


def unexplained() -> ArgumentIssue:
    """For arguments so large that finding out where they fail would take long."""
    return ArgumentIssue(code="schema", path=(), message="does not fit the tool's schema")


def _message(keyword: str, error: ValidationError) -> str:
    detail = error.kind.as_dict()
    if keyword in _SENTENCES:
        return _SENTENCES[keyword]
    if keyword in _LIMITS:
        return _LIMITS[keyword].format(next(iter(detail.values())))
    if keyword == "required":
        return f"required property {detail['property']!r} is missing"
    if keyword == "type":
        return f"is not of type {' or '.join(sorted(detail['types']))}"
    if keyword == "pattern":
        return f"does not match the pattern {detail['pattern']!r}"
    if keyword == "format":
        return f"is not of the format {detail['format']!r}"
    if keyword in {"enum", "const"}:
        return f"is not {_listed(next(iter(detail.values())))}"
    return f"does not satisfy the keyword {keyword!r}"


def _listed(allowed: object) -> str:
    try:
        text = canonical_text(allowed)
    except NotCanonicalError:
        text = ""
    if not text or len(text) > _LONGEST_LIST:
        return "one of the declared values"
    return f"one of {text}" if text.startswith("[") else text
