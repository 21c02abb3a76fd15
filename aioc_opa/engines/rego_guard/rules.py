"""Rules as the checks see them: name, kind of head, arguments, and each body with the head value that belongs to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aioc_opa.engines.rego_guard.tree import Tree, nodes, reference_parts, variant

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Branch:
    """One body of a rule and what its head yields: keys and value. `query` is None for a rule without a body."""

    yields: tuple[Tree, ...]
    query: Tree | None


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule.

    Attributes:
        node: for the position.
        name: the first segment of its head.
        reference_head: the head is more than a name and one computed key: ``a.b := 1``, ``a["b"] contains 1``. With a
            constant in it, regorus answers ``data.p.a.b`` from that rule alone and misses what ``a[k]`` rules give.
        partial: a partial set or object.
        function: it has arguments.
        arguments: their nodes.
        branches: bodies, `else` included.
        has_else: whether an `else` follows.
    """

    node: Tree
    name: str
    reference_head: bool
    partial: bool
    function: bool
    arguments: tuple[Tree, ...]
    branches: tuple[Branch, ...]
    has_else: bool


def read(node: Tree) -> Rule:
    """A `Spec` or `Default` node as a `Rule`."""
    kind, rule = variant(node)
    if kind == "Default":
        root, parts = reference_parts(rule["refr"])
        branch = Branch((rule["value"],), None)
        return Rule(rule, root or "", bool(parts), False, bool(rule["args"]), (), (branch,), False)
    head_kind, head = variant(rule["head"])
    root, parts = reference_parts(head["refr"])
    keys = tuple(part for part in parts if not isinstance(part, str))
    yields = _yields(head_kind, head, keys)
    partial_object = head_kind == "Compr" and variant(head["refr"])[0] == "RefBrack"
    return Rule(
        node=rule,
        name=root or "",
        reference_head=bool(parts) and (len(parts) > 1 or not keys or head_kind == "Func"),
        partial=head_kind == "Set" or partial_object,
        function=head_kind == "Func",
        arguments=tuple(head.get("args", ())),
        branches=tuple(_branches(rule["bodies"], yields, keys)) or (Branch(yields, None),),
        has_else=any(body["is_else"] for body in rule["bodies"]),
    )


def _yields(kind: str, head: Tree, keys: tuple[Tree, ...]) -> tuple[Tree, ...]:
    if kind == "Set":
        return (*keys, *((head["key"],) if head["key"] else ()))
    return (*keys, *((head["assign"]["value"],) if head["assign"] else ()))


def _branches(bodies: list[Tree], yields: tuple[Tree, ...], keys: tuple[Tree, ...]) -> Iterator[Branch]:
    for body in bodies:
        own = body["assign"]
        yield Branch(yields if own is None else (*keys, own["value"]), body["query"])


def pattern_names(node: Tree) -> Iterator[str]:
    """Names in a pattern: ``[a, [b]]``. Names in calls and references bind nothing; objects are refused as patterns."""
    stack = [node]
    while stack:
        name, body = variant(stack.pop())
        if name == "Var":
            yield body["value"]
        elif name == "Array":
            stack.extend(body["items"])


def assigned_names(query: Tree | None) -> frozenset[str]:
    """Names that ``:=`` gives one value in a body, outside what it nests."""
    return frozenset(
        name
        for kind, body in _statements(query)
        if kind == "Expr" and (assign := body["expr"].get("AssignExpr")) and assign["op"] == "ColEq"
        for name in pattern_names(assign["lhs"])
    )


def bound_names(query: Tree | None) -> frozenset[str]:
    """Names that a body binds: ``:=``, ``=``, ``some x in``, and a free index of a reference."""
    names = set(assigned_names(query))
    for kind, body in _statements(query):
        if kind == "SomeIn":
            for pattern in (body["key"], body["value"]):
                names.update(pattern_names(pattern) if pattern else ())
        elif kind == "Expr":
            if (assign := body["expr"].get("AssignExpr")) and assign["op"] == "Eq":
                names.update((*pattern_names(assign["lhs"]), *pattern_names(assign["rhs"])))
            for name, node in nodes(body["expr"], into_comprehensions=False):
                if name == "RefBrack" and "Var" in node["index"]:
                    names.add(node["index"]["Var"]["value"])
    return frozenset(names)


def _statements(query: Tree | None) -> Iterator[tuple[str, Tree]]:
    for statement in query["stmts"] if query else ():
        yield variant(statement["literal"])
