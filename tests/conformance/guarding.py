"""The load guard as the suite sees it: modules, and the query as the body of a rule of its own."""

from __future__ import annotations

from contextlib import suppress

import regorus

from aioc_opa.engines.rego_guard import Finding, findings_of

_QUERY_MODULE = "package query\n\nimport future.keywords.not\n\nholds if {\n\t%s\n}\n"


def refusals(modules: dict[str, str], query: str) -> tuple[Finding, ...]:
    """What the guard finds in `modules` and in `query`, where regorus can parse it."""
    engine = regorus.Engine()
    for name, text in modules.items():
        engine.add_policy(name, text)
    with suppress(RuntimeError):  # a query that cannot be parsed fails when it is asked
        engine.add_policy("query.rego", _QUERY_MODULE % query)
    return findings_of(engine.get_ast_as_json())
