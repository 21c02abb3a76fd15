"""Tools whose arguments are described by JSON Schema: MCP servers, OpenAI and Anthropic tool lists.

What holds for every `JsonSchemaTool`:

1. **Offline.** Every `$ref` is local; nothing is fetched, not even a dialect (`json_schema_document`).
2. **Linear regular expressions.** Patterns run on `regex`, which does not backtrack: ``(a+)+$`` takes linear time.
   What it does not take (look-around, back-references) or what repeats too much is refused at registration.
3. **Bounded work** (`json_schema_cost`): any arguments are decided, or refused, within about a second or two.
4. **Defaults before the one validation** (`json_schema_defaults`); what is validated is what is judged and executed.
   A default that its own schema rejects is refused at registration: no call that leaves it out could pass.
5. **`format` is asserted** in every draft, for the formats that the drafts define; an unknown one (``int32``) says
   nothing. Draft 2020-12 leaves this to the implementation; a policy that reads a date should not be handed "tomorrow".
6. JSON Schema's own meaning elsewhere: unknown properties pass unless `additionalProperties` says no, ``7.0`` is an
   integer, ``true`` is no number.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import jsonschema_rs

from aioc_opa.core.canonical_json import canonical_text
from aioc_opa.core.limits import ARGUMENT_LIMITS
from aioc_opa.core.tool_schemas.json_schema_cost import CostMeter
from aioc_opa.core.tool_schemas.json_schema_defaults import DefaultsCompiler, UsedDefault
from aioc_opa.core.tool_schemas.json_schema_document import Draft, SchemaDocument, refuse, text_of
from aioc_opa.core.tool_schemas.json_schema_fill import CHARACTERS_A_VALUE, Budget, FilledTooMuchError, fill
from aioc_opa.core.tool_schemas.json_schema_issues import issue_of, unexplained
from aioc_opa.core.tool_schemas.protocol import SchemaRejectionError
from aioc_opa.errors import ArgumentIssue

if TYPE_CHECKING:
    from aioc_opa.core.json_value import JsonObject, JsonValue

_REGEX_BYTES: Final = 6 * 1024 * 1024
"""Compiled size of one pattern: any of `MAX_POSITIONS` fits, up to 2.7 kB each. Which patterns are taken is decided by
`json_schema_pattern`, in terms that whoever wrote the pattern can count."""

_REGEX_CACHE_BYTES: Final = 1024 * 1024
"""States that the engine builds on the way. More memory does not help a pattern that keeps making new ones."""

_EXPLAINED_COST: Final = 10_000
"""Evaluations up to which an error is located where the schema has alternatives: the validator then writes an error
for every value in every branch, at up to 0.1 ms each."""

_VALIDATORS: Final[dict[Draft, type[jsonschema_rs.Validator]]] = {
    4: jsonschema_rs.Draft4Validator,
    6: jsonschema_rs.Draft6Validator,
    7: jsonschema_rs.Draft7Validator,
    2019: jsonschema_rs.Draft201909Validator,
    2020: jsonschema_rs.Draft202012Validator,
}
_DRAFT_NUMBERS: Final[dict[Draft, int]] = {
    4: jsonschema_rs.Draft4,
    6: jsonschema_rs.Draft6,
    7: jsonschema_rs.Draft7,
    2019: jsonschema_rs.Draft201909,
    2020: jsonschema_rs.Draft202012,
}
_DOCUMENT_URI: Final = "urn:aioc:tool-arguments"


class JsonSchemaTool:
    """A `ToolSchema` from a JSON Schema. Immutable after construction; shared by all threads.

    Raises:
        ToolRegistrationError: the schema is not one of this module's rules; the message has the place.
    """

    __slots__ = ("_document", "_meter", "_plan", "_validator")

    def __init__(self, schema: JsonObject, *, tool_name: str) -> None:
        self._document = SchemaDocument(schema, tool_name)
        self._meter = CostMeter(self._document)  # first: it bounds what the patterns compile to
        self._validator = _compile(self._document, self._document.root, None)
        compiler = DefaultsCompiler(self._document)
        self._plan = compiler.compile()
        self._check_defaults(compiler.used)

    def parse(self, raw_arguments: str) -> dict[str, JsonValue]:
        """Decode, fill in the declared defaults, validate once.

        Args:
            raw_arguments: text that `strict_json.decode_object` has accepted.

        Raises:
            SchemaRejectionError: with one issue, the first that was found.
        """
        try:
            value = json.loads(raw_arguments)
        except (ValueError, RecursionError):
            # Not text that the strict decoder accepts: a caller's mistake, refused all the same.
            raise _rejection("json", "is not strict JSON") from None
        if type(value) is not dict:
            raise _rejection("type", "is not of type object")
        budget = Budget(ARGUMENT_LIMITS.max_nodes)
        if self._plan is not None:
            try:
                fill(self._plan, value, budget)
            except FilledTooMuchError:
                raise _rejection("default", "declared defaults would make too many values") from None
        # No value is shorter than one character and its separator, no character longer than 4 bytes.
        filled = ARGUMENT_LIMITS.max_nodes - budget.left
        values = len(raw_arguments) // 2 + 1 + filled
        text = len(raw_arguments) * (1 if raw_arguments.isascii() else 4) + filled * 4 * CHARACTERS_A_VALUE
        if not self._meter.is_cheap(values=values, text=text) and self._meter.exceeds(value):
            raise _rejection("too_costly", "would take too long to check against this schema; send less")
        if not self._validator.is_valid(value):
            raise SchemaRejectionError([self._explain(value)])
        return value

    def canonical_text(self, parsed: object) -> str:
        """RFC 8785 text. Raises `NotCanonicalError`."""
        return canonical_text(parsed)

    def bind(self, parsed: object) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The handler gets the arguments object as its one positional argument."""
        return (parsed,), {}

    def export(self) -> JsonObject:
        """A copy of the schema, in its own dialect: canonical values have the names that it declares."""
        copied = Budget(sys.maxsize).copy(self._document.root)
        return copied if type(copied) is dict else {}

    def _explain(self, value: JsonValue) -> ArgumentIssue:
        """Locate what the validation rejected. Not a second verdict: the arguments stay rejected."""
        if self._meter.has_branches and self._meter.exceeds(value, _EXPLAINED_COST):
            return unexplained()
        try:
            self._validator.validate(value)
        except jsonschema_rs.ValidationError as error:
            return issue_of(error)
        return unexplained()

    def _check_defaults(self, used: list[UsedDefault]) -> None:
        if not used:
            return
        registry = jsonschema_rs.Registry(
            [(_DOCUMENT_URI, self._document.root)], draft=_DRAFT_NUMBERS[self._document.draft]
        )
        for default in used:
            targets: list[JsonValue] = [
                {"$ref": _DOCUMENT_URI + quote(text_of(place), safe="#/~")}
                for place in sorted(default.schemas, key=text_of)
            ]
            if not _compile(self._document, {"allOf": targets}, registry).is_valid(default.value):
                raise refuse(self._document.tool_name, default.place, "this default does not fit its own schema")


def _rejection(code: str, message: str) -> SchemaRejectionError:
    return SchemaRejectionError([ArgumentIssue(code=code, path=(), message=message)])


def _compile(
    document: SchemaDocument, schema: JsonObject, registry: jsonschema_rs.Registry | None
) -> jsonschema_rs.Validator:
    try:
        return _VALIDATORS[document.draft](
            schema,
            validate_formats=True,
            ignore_unknown_formats=True,
            registry=registry,
            offline=True,
            pattern_options=jsonschema_rs.RegexOptions(size_limit=_REGEX_BYTES, dfa_size_limit=_REGEX_CACHE_BYTES),
        )
    except jsonschema_rs.ValidationError as error:
        problem = (
            "this pattern cannot run in linear time (look-around and back-references are not taken), or is too large"
            if error.kind.name in {"pattern", "format"} or "regex" in error.message
            else f"not a valid schema of its draft: {error.kind.name}"
        )
        raise refuse(document.tool_name, tuple(error.instance_path), problem) from None
    except (jsonschema_rs.ReferencingError, ValueError) as error:
        raise refuse(document.tool_name, (), f"not a usable schema: {type(error).__name__}") from None
