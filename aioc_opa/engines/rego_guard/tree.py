"""Reading regorus' syntax tree, the JSON of `Engine.get_ast_as_json` (upstream `src/ast.rs`, serialized by serde).

An enum's value is a JSON object with one key, the variant (`{"Call": {…}}`); a variant that stands for source text has
a `span`. Everything here walks with a stack of its own.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from aioc_opa.engines.rego_guard.finding import Finding
from aioc_opa.errors import PolicyLoadError

if TYPE_CHECKING:
    from collections.abc import Iterator

Tree = dict[str, Any]
"""A node of the tree, narrowed by the code that reads it."""

COMPREHENSIONS: Final = frozenset({"ArrayCompr", "SetCompr", "ObjectCompr"})
LITERALS: Final = frozenset({"String", "RawString", "Number", "Bool", "Null"})


@dataclass(frozen=True, slots=True)
class Module:
    """One parsed module.

    Attributes:
        file: path as loaded.
        package: ``("data", "aioc", "packs")``.
        imports: the name a module uses, to the path behind it.
        future_keywords: what it imports below ``future.keywords``.
        rules: `Spec` and `Default` nodes.
    """

    file: str
    package: tuple[str, ...]
    imports: dict[str, tuple[str, ...]]
    future_keywords: frozenset[str]
    rules: tuple[Tree, ...]

    def finding(self, node: Tree, rule: str, problem: str, cure: str) -> Finding:
        """A finding at `node`."""
        span = node["span"]
        return Finding(self.file, span["line"], span["col"], rule, problem, cure)


def parse(ast_json: str) -> tuple[Module, ...]:
    """The modules of an engine's `get_ast_as_json`.

    Raises:
        PolicyLoadError: an expression is nested more deeply than Python's JSON decoder goes.
    """
    try:
        entries = json.loads(ast_json)
    except RecursionError as error:
        raise PolicyLoadError("the policy has an expression that is nested too deeply to be checked") from error
    return tuple(_module(entry) for entry in entries)


def _module(entry: Tree) -> Module:
    ast, source = entry["ast"], entry["source"]["contents"].encode()
    imports: dict[str, tuple[str, ...]] = {}
    keywords: set[str] = set()
    for statement in ast["imports"]:
        path = static_path(statement["refr"]) or ()
        if path[:2] == ("future", "keywords"):
            keywords.update(path[2:])
        elif path and path[0] in {"data", "input"}:
            alias = statement.get("as")
            imports[source[alias["start"] : alias["end"]].decode() if alias else path[-1]] = path
    return Module(
        file=entry["source"]["file"],
        package=("data", *(static_path(ast["package"]["refr"]) or ())),
        imports=imports,
        future_keywords=frozenset(keywords),
        rules=tuple(ast["rules"]),
    )


def variant(node: Tree) -> tuple[str, Tree]:
    """The one variant of an enum's value and what it holds."""
    ((name, body),) = node.items()
    return name, body


def nodes(root: Any, *, into_comprehensions: bool = True) -> Iterator[tuple[str, Tree]]:
    """Every variant with a span below `root`, in source order, `root` included."""
    stack: list[Any] = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, list):
            stack.extend(reversed(node))
        elif isinstance(node, dict):
            inner: list[Any] = []
            for name, body in node.items():
                if isinstance(body, dict) and name[:1].isupper() and "span" in body:
                    if not into_comprehensions and name in COMPREHENSIONS:
                        continue
                    yield name, body
                inner.append(body)
            stack.extend(reversed(inner))


def static_path(node: Tree) -> tuple[str, ...] | None:
    """``a.b["c"]`` as its segments; None when an index is not a constant string or the root is no name."""
    segments: list[str] = []
    while True:
        name, body = variant(node)
        if name == "Var":
            return (body["value"], *reversed(segments))
        if name == "RefDot":
            segments.append(body["field"][1])
        elif name == "RefBrack" and (index := variant(body["index"]))[0] in {"String", "RawString"}:
            segments.append(index[1]["value"])
        else:
            return None
        node = body["refr"]


def reference_parts(node: Tree) -> tuple[str | None, list[str | Tree]]:
    """Root name and segments of a reference; a computed segment stays a node."""
    parts: list[str | Tree] = []
    while True:
        name, body = variant(node)
        if name == "Var":
            return body["value"], parts[::-1]
        if name == "RefDot":
            parts.append(body["field"][1])
        elif name == "RefBrack":
            index_name, index = variant(body["index"])
            parts.append(index["value"] if index_name in {"String", "RawString"} else body["index"])
        else:
            return None, parts[::-1]
        node = body["refr"]
