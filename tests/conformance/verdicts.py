"""What the embedded engine makes of one case of OPA's suite, in one word."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import regorus

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.opa_cases import OpaCase


class Verdict(StrEnum):
    """How an answer compares with OPA's."""

    SAME = "same"
    GUARDED = "refused by the load guard"
    REFUSED = "refused by the parser"
    ERROR = "error where OPA has a value"
    UNDEFINED = "undefined where OPA has a value"
    OTHER = "another value"
    VALUE_FOR_ERROR = "a value where OPA errs"
    NOT_ASKED = "needs a raw input term"


SHY = frozenset({Verdict.GUARDED, Verdict.REFUSED, Verdict.ERROR, Verdict.NOT_ASKED})
"""No value comes out: a deny, whatever the policy."""


def judge(case: OpaCase, refusals: Callable[[dict[str, str], str], object] | None, modules: tuple[str, ...]) -> Verdict:
    """Run one case. `refusals` is the load guard: what it returns is truthy when it refuses the modules."""
    if case.raw_input_term:
        return Verdict.NOT_ASKED
    engine = regorus.Engine()
    engine.set_gather_prints(True)
    named = {f"test-{number}.rego": text for number, text in enumerate(modules)}
    try:
        for name, text in named.items():
            engine.add_policy(name, text)
    except BaseException as failure:  # noqa: BLE001 - a Rust panic is a BaseException
        return _failed(failure, case, Verdict.REFUSED)
    if refusals is not None and refusals(named, case.query):
        return Verdict.GUARDED
    try:
        if case.data is not None:
            engine.add_data_json(_json(case.data))
        if case.has_input:
            engine.set_input_json(_json(case.input))
        answer = json.loads(engine.eval_query_as_json(case.query))
    except BaseException as failure:  # noqa: BLE001 - a Rust panic is a BaseException
        return _failed(failure, case, Verdict.ERROR)
    return _compare(case, [row for row in answer.get("result", []) if _holds(row)])


def _failed(failure: BaseException, case: OpaCase, verdict: Verdict) -> Verdict:
    if isinstance(failure, (KeyboardInterrupt, SystemExit)):
        raise failure
    return Verdict.SAME if case.wants_error else verdict


def _holds(row: dict[str, Any]) -> bool:
    return all(
        expression["value"] != "<undefined>" and expression["value"] is not False for expression in row["expressions"]
    )


def _compare(case: OpaCase, rows: list[dict[str, Any]]) -> Verdict:
    if case.wants_error:
        return Verdict.VALUE_FOR_ERROR if rows else Verdict.SAME
    bindings = [row.get("bindings", {}) for row in rows]
    if case.want is None:
        wanted = bool(case.wants_defined)
        if bool(rows) == wanted:
            return Verdict.SAME
        return Verdict.UNDEFINED if wanted else Verdict.OTHER
    if not rows and case.want:
        return Verdict.UNDEFINED
    mine, theirs = _normal(bindings, sort=case.sort_bindings), _normal(case.want, sort=case.sort_bindings)
    return Verdict.SAME if sorted(mine) == sorted(theirs) else Verdict.OTHER


def _normal(rows: list[dict[str, Any]], *, sort: bool) -> list[str]:
    return [_json(_plain(row, sort=sort)) for row in rows]


def _plain(value: Any, *, sort: bool) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item, sort=sort) for key, item in value.items()}
    if isinstance(value, list):
        items = [_plain(item, sort=sort) for item in value]
        return sorted(items, key=_json) if sort else items
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)
