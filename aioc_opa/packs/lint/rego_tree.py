"""Walk the syntax tree that `opa parse --format json` prints.

The tree is plain JSON: a term is ``{"type", "value", "location"}``; an expression has ``terms``, which is a list for a
call (operator first), one term, or an object for ``some``, ``every`` and ``not``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

Node: TypeAlias = Any  # JSON of the parser; each reader below says what it takes

VARIABLE: Final = object()
"""Stands in a path for a variable or any other computed segment."""

Path: TypeAlias = tuple[Any, ...]
"""Segments of a reference: strings, numbers, or `VARIABLE`."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a builtin or function: its dotted name, its operands, its line."""

    name: str
    operands: tuple[Node, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference, head first: ``input.a[x]`` is ``("input", "a", VARIABLE)``."""

    path: Path
    line: int


def line_of(node: Node, default: int = 1) -> int:
    """The node's own line, or `default`."""
    location = node.get("location") if isinstance(node, dict) else None
    row = location.get("row") if isinstance(location, dict) else None
    return row if isinstance(row, int) else default


def walk(node: Node, line: int = 1) -> Iterator[tuple[Node, int]]:
    """Every object and list below `node`, itself included, with the nearest line."""
    if isinstance(node, dict):
        here = line_of(node, line)
        yield node, here
        for key, below in node.items():
            if key != "location":
                yield from walk(below, here)
    elif isinstance(node, list):
        yield node, line_of(node[0], line) if node else line
        for below in node:
            yield from walk(below, line)


def calls(node: Node, line: int = 1) -> Iterator[Call]:
    """Every call below `node`."""
    for below, at in walk(node, line):
        if not isinstance(below, dict):
            continue
        terms = below.get("value") if below.get("type") == "call" else below.get("terms")
        if isinstance(terms, list) and terms and isinstance(terms[0], dict) and terms[0].get("type") == "ref":
            yield Call(dotted(terms[0]), tuple(terms[1:]), line_of(terms[0], at))


def references(node: Node, line: int = 1) -> Iterator[Reference]:
    """Every reference and bare variable below `node`, operators of calls left out."""
    operators = {
        id(terms[0])
        for below, _ in walk(node)
        if isinstance(below, dict)
        for terms in (below.get("value") if below.get("type") == "call" else below.get("terms"),)
        if isinstance(terms, list) and terms
    }
    inner: set[int] = set()
    for below, at in walk(node, line):
        if not isinstance(below, dict):
            continue
        if below.get("type") == "ref":
            inner.add(id(below["value"][0]))
            if id(below) in operators:
                continue
            yield Reference(path_of(below), at)
        elif below.get("type") == "var" and id(below) not in inner:
            yield Reference((below["value"],), at)


def path_of(ref: Node) -> Path:
    """The segments of a ``ref`` or ``var`` term."""
    if ref.get("type") == "var":
        return (ref["value"],)
    head, *rest = ref["value"]
    first = head["value"] if head.get("type") == "var" else VARIABLE
    return (first, *(part["value"] if part["type"] in {"string", "number", "boolean"} else VARIABLE for part in rest))


def dotted(ref: Node) -> str:
    """The name that a reference of plain segments spells; ``?`` for computed ones."""
    return ".".join(part if isinstance(part, str) else "?" for part in path_of(ref))


def variables(node: Node) -> set[str]:
    """Every variable below `node`."""
    return {below["value"] for below, _ in walk(node) if isinstance(below, dict) and below.get("type") == "var"}
