"""What a tool schema offers the guard: parse once, write canonically, bind to the handler.

One schema object is compiled per registered tool and shared by all threads; it keeps no state of a call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from aioc_opa.core.canonical_json import NotCanonicalError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aioc_opa.core.json_value import JsonObject
    from aioc_opa.errors import ArgumentIssue

__all__ = ["NotCanonicalError", "SchemaRejectionError", "ToolSchema"]


class SchemaRejectionError(ValueError):
    """The schema rejects the arguments. The guard raises `ToolArgumentsValidationError(stage="schema")` from it.

    Attributes:
        issues: at least one; never the rejected values.
    """

    def __init__(self, issues: Sequence[ArgumentIssue]) -> None:
        super().__init__(f"{len(issues)} issue(s)")
        self.issues = tuple(issues)


class ToolSchema(Protocol):
    """The compiled argument schema of one tool."""

    def parse(self, raw_arguments: str) -> object:
        """Parse text that `strict_json` has accepted. Called exactly once per attempt (RFC-0015 invariant 3).

        Returns:
            The object that is judged and executed. It shares no mutable part with any other call.

        Raises:
            SchemaRejectionError: the arguments do not fit.
        """
        ...

    def canonical_text(self, parsed: object) -> str:
        """RFC 8785 text of the canonical value of `parsed`, made by a fresh walk each time.

        Raises:
            NotCanonicalError: there is none.
        """
        ...

    def bind(self, parsed: object) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Positional and keyword arguments for the handler: the very objects that were judged."""
        ...

    def export(self) -> JsonObject:
        """JSON Schema (2020-12) of the canonical value, under the names that policies see."""
        ...
