"""The rules of a bundle's modules, as they are listed and compared."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from aioc_opa.core.bundles.data_changes import path_text
from aioc_opa.packs.lint.linted import rule_line, rule_name
from aioc_opa.packs.lint.rego_tree import line_of, variables

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from aioc_opa.core.json_value import JsonObject
    from aioc_opa.packs.lint.linted import Module
    from aioc_opa.packs.lint.rego_tree import Node

_NO_MEANING: Final = frozenset({"location", "alias_location", "annotations"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedRule:
    """One rule, or one part of an `else` chain.

    Attributes:
        package: with dots.
        name: the head's reference: a word, or ``a.b["c d"][x]`` where it has more.
        file: path in the bundle.
        line: from 1.
        digest: SHA-256 of its tree without places, and of what its imported names stand for: the same when only
            spaces or comments differ.
        text: its source, without the parts of a chain that follow it.
        metadata: its METADATA; empty without.
    """

    package: str
    name: str
    file: str
    line: int
    digest: str
    text: str
    metadata: JsonObject


def rule_chains(module: Module, annotations: Mapping[tuple[str, int], JsonObject]) -> Iterator[tuple[ParsedRule, ...]]:
    """Each rule of `module`, with the parts of its `else` chain after it, in their order."""
    for rule in module.tree.get("rules", []):
        chain = []
        part = rule
        while part is not None:
            chain.append(_rule(module, part, annotations))
            part = part.get("else")
        yield tuple(chain)


def import_texts(module: Module) -> tuple[str, ...]:
    """The imports of `module`, as written, sorted."""
    found = []
    for item in module.tree.get("imports", []):
        alias = item.get("alias")
        found.append(_source(item["path"]) + (f" as {alias}" if alias else ""))
    return tuple(sorted(found))


def _rule(module: Module, rule: Node, annotations: Mapping[tuple[str, int], JsonObject]) -> ParsedRule:
    alone = {key: value for key, value in rule.items() if key != "else"}
    imported = module.imports()
    meant = sorted((name, repr(imported[name])) for name in variables(alone) & imported.keys())
    tree = json.dumps([_without_places(alone), meant], sort_keys=True)
    return ParsedRule(
        package=".".join(module.package),
        name=_head(rule),
        file=module.file,
        line=rule_line(rule),
        digest=hashlib.sha256(tree.encode()).hexdigest(),
        text=_text(rule),
        metadata=annotations.get((module.file, line_of(rule)), {}),
    )


def _head(rule: Node) -> str:
    name = rule_name(rule)
    for part in rule["head"]["ref"][1:]:
        name = path_text([part["value"]], name) if part["type"] == "string" else f"{name}[{_source(part)}]"
    return name


def _text(rule: Node) -> str:
    if rule.get("default"):  # the place of a default rule is its first word alone
        return f"default {_source(rule['head'])}"
    text, after = _source(rule), rule.get("else")
    return (text if after is None else text.removesuffix(_source(after))).rstrip()


def _source(node: Node) -> str:
    return base64.b64decode(node["location"]["text"]).decode("utf-8", "replace")


def _without_places(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: _without_places(value) for key, value in node.items() if key not in _NO_MEANING}
    return [_without_places(value) for value in node] if isinstance(node, list) else node
