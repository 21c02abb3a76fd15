"""All load checks together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aioc_opa.engines.rego_guard import data_limits, functions, heads, shapes, text_limits
from aioc_opa.engines.rego_guard.scope import scope_of
from aioc_opa.engines.rego_guard.tree import parse
from aioc_opa.errors import PolicyLoadError

if TYPE_CHECKING:
    import re

    from aioc_opa.core.json_value import JsonObject
    from aioc_opa.engines.rego_guard.finding import Finding

_CHECKS: Final = (shapes.check, heads.check, functions.check)
_SHOWN: Final = 20


@dataclass(frozen=True, slots=True)
class GuardedPolicy:
    """What the guard found out about a policy that it accepts.

    Attributes:
        refused_characters: characters in an input on which the engines would differ; None when there are none.
    """

    refused_characters: re.Pattern[str] | None


def findings_of(ast_json: str) -> tuple[Finding, ...]:
    """Every finding in the modules of an engine's `get_ast_as_json`, in order of place."""
    scope = scope_of(parse(ast_json))
    return tuple(sorted({finding for check in _CHECKS for finding in check(scope)}))


def rule_paths(ast_json: str) -> frozenset[tuple[str, ...]]:
    """Paths below ``data`` of every rule: what can be asked for. regorus raises for any other path."""
    return frozenset(
        (*package[1:], name) for package, names in scope_of(parse(ast_json)).rules.items() for name in names
    )


def guarded(ast_json: str, data: JsonObject) -> GuardedPolicy:
    """Check modules and data.

    Raises:
        PolicyLoadError: one line for each finding: file, line, what is wrong, and the cure.
    """
    findings = findings_of(ast_json)
    if findings:
        lines = [str(finding) for finding in findings[:_SHOWN]]
        if len(findings) > _SHOWN:
            lines.append(f"and {len(findings) - _SHOWN} more")
        raise PolicyLoadError(
            "the embedded engine would not evaluate this as OPA does (docs/embedded-engine.md):\n  "
            + "\n  ".join(lines)
        )
    scope = scope_of(parse(ast_json))
    refused = text_limits.refused_characters(scope)
    data_limits.check(scope, data, refused)
    return GuardedPolicy(refused_characters=refused)
