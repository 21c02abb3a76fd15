"""What the terms of an approval come from where they are computed: rules and data, each with a digest.

A quorum that stands in a rule of the pack, or in a table, is not in the rule that asks for the approval. Everything
that this rule reads, directly or through other rules of the bundle, counts: an upper bound, so that nobody reads "no
change of this approval" where what it is computed from has changed.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from aioc_opa.core.bundles.data_changes import path_text
from aioc_opa.packs.bundle_parsed import table_digest
from aioc_opa.packs.bundle_rules import rule_chains
from aioc_opa.packs.lint.linted import rule_name
from aioc_opa.packs.lint.rego_tree import path_of, walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from aioc_opa.core.json_value import JsonObject, JsonValue
    from aioc_opa.packs.bundle_parsed import ParsedBundle
    from aioc_opa.packs.lint.linted import Module
    from aioc_opa.packs.lint.rego_tree import Node

_Path = tuple[str, ...]


class TermSources:
    """Finds what a rule of a bundle depends on."""

    def __init__(self, parsed: ParsedBundle) -> None:
        self._data = parsed.bundle.data
        self._rules: dict[_Path, list[tuple[Module, Node, str]]] = {}
        for module in parsed.policy.modules.values():
            for rule, chain in zip(module.tree.get("rules", []), rule_chains(module, {}), strict=True):
                digest = _digest(part.digest for part in chain)
                self._rules.setdefault((*module.package, rule_name(rule)), []).append((module, rule, digest))

    def of(self, module: Module, rule: Node) -> JsonObject:
        """Digest by name of everything that `rule` of `module` can read, and of the rule itself; sorted by name."""
        asks = (*module.package, rule_name(rule))
        own = next(digest for _, chain, digest in self._rules[asks] if _holds(chain, rule))
        found: dict[str, JsonValue] = {path_text(asks): own}
        seen = {asks}
        waiting = [(module, rule)]
        while waiting:
            for path, in_data in _reads(*waiting.pop()):
                read = [name for name in self._rules if _meet(name, path)]
                for name in read:
                    if name not in seen:
                        seen.add(name)
                        definitions = self._rules[name]
                        found[path_text(name)] = _digest(sorted(digest for _, _, digest in definitions))
                        waiting.extend((reader, chain) for reader, chain, _ in definitions)
                if in_data:
                    found.update(self._data_at(path, expected=not read))
        return dict(sorted(found.items()))

    def _data_at(self, path: _Path, *, expected: bool) -> Iterator[tuple[str, JsonValue]]:
        """The table that holds `path`, or everything below it."""
        value: JsonValue = self._data
        for known, segment in enumerate(path):
            if not isinstance(value, dict):
                yield f"data {path_text(path[:known])}", table_digest(value)
                return
            if segment not in value:
                if expected:
                    yield f"data {path_text(path)}", "absent"
                return
            value = value[segment]
        yield f"data {path_text(path)}", table_digest(value)


def _reads(module: Module, node: Node) -> Iterator[tuple[_Path, bool]]:
    """Paths below `data` that a rule reads, as far as they are written out, and whether data can stand there."""
    imported = module.imports()
    heads: set[int] = set()
    for below, _ in walk(node):
        if not isinstance(below, dict) or below.get("type") not in {"ref", "var"} or id(below) in heads:
            continue
        if below["type"] == "ref":
            heads.add(id(below["value"][0]))
        head, *rest = path_of(below)
        if head in imported:
            head, *rest = (*imported[head], *rest)
        if head == "data":
            yield _fixed(rest), True
        elif isinstance(head, str) and head != "input":
            yield (*module.package, head), False  # a rule of the package; a variable is none


def _meet(name: _Path, path: _Path) -> bool:
    """Whether a rule is at, above or below a path: who reads a package reads all of it."""
    length = min(len(name), len(path))
    return name[:length] == path[:length]


def _fixed(segments: list[Any]) -> _Path:
    path: list[str] = []
    for segment in segments:
        if not isinstance(segment, str):
            break
        path.append(segment)
    return tuple(path)


def _holds(chain: Node, rule: Node) -> bool:
    """Whether `rule` is `chain`, or a part of it after an `else`."""
    part = chain
    while part is not None and part is not rule:
        part = part.get("else")
    return part is rule


def _digest(digests: Iterable[str]) -> str:
    return hashlib.sha256(" ".join(digests).encode()).hexdigest()
