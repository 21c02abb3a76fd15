"""What an argument is seen to be, for builtins that are only allowed with certain arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aioc_opa.engines.rego_guard.regex_syntax import RegexSyntaxError, check_pattern
from aioc_opa.engines.rego_guard.tree import static_path, variant

if TYPE_CHECKING:
    from aioc_opa.engines.rego_guard.builtins import ConstantKind
    from aioc_opa.engines.rego_guard.tree import Tree

_WHOLE_CALLS: Final = frozenset({("count",), ("round",)})
_WHOLE_OPERATORS: Final = frozenset({"Add", "Sub", "Mul"})
_TEXT: Final = frozenset({"String", "RawString"})


def problem_of(node: Tree, kind: ConstantKind) -> str | None:
    """What keeps `node` from being `kind`, as the end of a sentence; None when it is."""
    if kind == "regex":
        return _regex_problem(node)
    if kind == "text":
        name, body = variant(node)
        return None if name in _TEXT and body["value"] else "must be a constant, non-empty text"
    if kind == "integer":
        return None if _is_integer(node) else "must be a constant whole number"
    return None if _is_whole(node) else "must be seen to be whole: a constant, count(…), round(…), or a sum of these"


def _is_integer(node: Tree) -> bool:
    name, body = variant(node)
    return (name == "Number" and type(body["value"]) is int) or (name == "UnaryExpr" and _is_integer(body["expr"]))


def _is_whole(node: Tree) -> bool:
    stack = [node]
    while stack:
        name, body = variant(stack.pop())
        if name == "ArithExpr" and body["op"] in _WHOLE_OPERATORS:
            stack.extend((body["lhs"], body["rhs"]))
        elif not _is_integer({name: body}) and not (name == "Call" and static_path(body["fcn"]) in _WHOLE_CALLS):
            return False
    return True


def _regex_problem(node: Tree) -> str | None:
    name, body = variant(node)
    if name not in _TEXT:
        return "must be a constant: what it matches could not be checked"
    try:
        check_pattern(body["value"])
    except RegexSyntaxError as error:
        return f"is a pattern that the engines may read differently: {error}"
    return None
