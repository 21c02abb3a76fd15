"""All load checks together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aioc_opa.engines.rego_guard import data_limits, functions, heads, patterns, shapes, text_limits, values
from aioc_opa.engines.rego_guard.scope import scope_of
from aioc_opa.engines.rego_guard.tree import parse
from aioc_opa.errors import PolicyLoadError

if TYPE_CHECKING:
    import re

    from aioc_opa.core.json_value import JsonObject
    from aioc_opa.engines.rego_guard.finding import Finding
    from aioc_opa.engines.rego_guard.scope import Scope

_CHECKS: Final = (shapes.check, heads.check, patterns.check, functions.check, values.check)
_SHOWN: Final = 20


@dataclass(frozen=True, slots=True)
class GuardedPolicy:
    """What the guard found out about a policy that it accepts.

    Attributes:
        rules: paths below ``data`` of every rule: what can be asked for. regorus raises for any other path.
        refused_characters: characters in an input on which the engines would differ; None when there are none.
    """

    rules: frozenset[tuple[str, ...]]
    refused_characters: re.Pattern[str] | None


def findings_of(ast_json: str) -> tuple[Finding, ...]:
    """Every finding in the modules of an engine's `get_ast_as_json`, in order of place."""
    return _findings(scope_of(parse(ast_json)))


def examine(ast_json: str, data: JsonObject, *, unsafe_without_load_checks: bool = False) -> GuardedPolicy:
    """Check modules and data.

    Args:
        ast_json: an engine's `get_ast_as_json`.
        data: the data documents that go with the modules.
        unsafe_without_load_checks: only find out which rules there are.

    Raises:
        PolicyLoadError: one line for each finding: file, line, what is wrong, and the cure.
    """
    scope = scope_of(parse(ast_json))
    rules = frozenset((*package[1:], name) for package, names in scope.rules.items() for name in names)
    if unsafe_without_load_checks:
        return GuardedPolicy(rules=rules, refused_characters=None)
    findings = _findings(scope)
    if findings:
        lines = [str(finding) for finding in findings[:_SHOWN]]
        if len(findings) > _SHOWN:
            lines.append(f"and {len(findings) - _SHOWN} more")
        raise PolicyLoadError(
            "the embedded engine would not evaluate this as OPA does (docs/embedded-engine.md):\n  "
            + "\n  ".join(lines)
        )
    refused = text_limits.refused_characters(scope)
    data_limits.check(scope, data, refused)
    return GuardedPolicy(rules=rules, refused_characters=refused)


def _findings(scope: Scope) -> tuple[Finding, ...]:
    return tuple(sorted({finding for check in _CHECKS for finding in check(scope)}))
