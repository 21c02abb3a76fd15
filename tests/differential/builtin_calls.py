"""Calls of single builtins with random arguments of their declared types, for the list of allowed builtins."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any, Final

import regorus

from tests.differential.comparison import same_value
from tests.differential.real_opa import PolicyRefusedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aioc_opa.engines.rego_guard.builtins import AllowedBuiltin
    from tests.differential.real_opa import RealOpa
    from tests.differential.values import Values

_CONSTANTS: Final = {
    "integer": ("0", "1", "2", "10", "16", "-1"),
    "whole": ("0", "1", "2", "-1", "9", "count(input.a0)", "9007199254740991"),
    "text": ('"a"', '"ab"', '"é"', '" "'),
    "regex": ("`^[a-z]+$`", "`[0-9]{1,3}`", "`^(?:a|b)?c*$`", "`[^ ]`", "`^.$`", "`\\.`"),
}


def kinds_of(declared: dict[str, Any]) -> list[str]:
    """JSON kinds of a type of OPA's capabilities."""
    if declared["type"] != "any":
        return [declared["type"]]
    return [kind for option in declared.get("of") or [] for kind in kinds_of(option)] or ["any"]


def differences(
    opa: RealOpa, terms: AllowedBuiltin, declared: list[dict[str, Any]], values: Values, calls: int
) -> list[Any]:
    """Calls on which the engines differ and ours does not err, each as source, input and both outcomes."""
    found = []
    kinds = [kinds_of(argument) for argument in declared]
    for arguments in itertools.product(*(_spellings(terms, index, kind) for index, kind in enumerate(kinds))):
        module = (
            f'package fuzz\n\nimport future.keywords.not\n\nanswer := {{"v": {terms.name}({", ".join(arguments)})}}\n'
        )
        engine = regorus.Engine()
        engine.add_policy("fuzz.rego", module)
        try:
            opa.use({"fuzz.rego": module})
        except PolicyRefusedError:
            continue  # OPA's type checker sees that these constants do not fit
        for _ in range(calls):
            question = json.dumps({f"a{index}": _argument(values, kind) for index, kind in enumerate(kinds)})
            theirs, mine = opa.ask("fuzz/answer", f'{{"input":{question}}}'.encode()), _ask(engine, question)
            if mine[0] != "error" and not (mine[0] == theirs[0] and same_value(mine[1], theirs[1])):
                found.append((module, question, theirs, mine))
    return found


def _spellings(terms: AllowedBuiltin, index: int, kinds: list[str]) -> Iterator[str]:
    if index in terms.constant:
        yield from _CONSTANTS[terms.constant[index]]
        return
    if set(kinds) != {"set"}:
        yield f"input.a{index}"
    if {"set", "any"} & set(kinds):
        yield f"{{x | some x in input.a{index}}}"


def _argument(values: Values, kinds: list[str]) -> Any:
    kind = values.random.choice(kinds)
    makers = {
        "number": values.number,
        "string": values.text,
        "array": values.array,
        "set": values.array,
        "object": values.object,
    }
    if kind not in makers or values.random.random() < 0.12:
        return values.any()
    return makers[kind]()


def _ask(engine: Any, question: str) -> tuple[str, Any]:
    engine.set_input_json(question)
    try:
        text = engine.eval_rule_as_json("data.fuzz.answer")
    except RuntimeError as error:
        return "error", str(error)
    return ("undefined", None) if text == '"<undefined>"' else ("value", json.loads(text))
