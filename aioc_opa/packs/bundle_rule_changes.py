"""What changes in the rules of a bundle: rules, the order of `else` branches, imports and METADATA.

Rules are compared by their syntax trees, so spaces and comments are no change; METADATA is one of its own. A rule
has changed where one with its title, or else the only one with its name, is there on both sides; otherwise one went
and one came.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from aioc_opa.packs.bundle_pairing import left_over, paired

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from aioc_opa.core.json_value import JsonObject
    from aioc_opa.packs.bundle_parsed import ParsedBundle
    from aioc_opa.packs.bundle_rules import ParsedRule


class _About(NamedTuple):
    """METADATA of one package or rule."""

    name: str
    digest: str
    metadata: JsonObject


def rule_changes(before: ParsedBundle, after: ParsedBundle) -> Iterator[JsonObject]:
    """Rules that came, went or changed, with their source."""
    names = [Counter(map(_name, each.rules)) for each in (before, after)]

    def alone(rule: ParsedRule) -> Hashable:
        return _name(rule) if all(each[_name(rule)] == 1 for each in names) else object()

    removed, added = left_over(before.rules, after.rules, _identity)
    for old, new in paired(removed, added, _titled, alone):
        shown = new or old
        if shown is not None:
            yield {
                "change": change_word(old, new),
                "rule": _name(shown),
                "title": shown.metadata.get("title"),
                "file": shown.file,
                "line": shown.line,
                "before": None if old is None else old.text,
                "after": None if new is None else new.text,
            }


def order_changes(before: ParsedBundle, after: ParsedBundle) -> Iterator[JsonObject]:
    """`else` chains with other branches, or with branches in another order: the first that holds decides."""
    removed, added = left_over(before.chains, after.chains, lambda chain: tuple(map(_identity, chain)))
    for old, new in paired(removed, added, lambda chain: _name(chain[0])):
        if max(len(old or ()), len(new or ())) > 1:
            yield {
                "change": change_word(old, new),
                "rule": _name((new or old or ())[0]),
                "before": [part.text for part in old or ()],
                "after": [part.text for part in new or ()],
            }


def import_changes(before: ParsedBundle, after: ParsedBundle) -> Iterator[JsonObject]:
    """Imports that came or went, by file."""
    for file in sorted(before.imports.keys() | after.imports.keys()):
        removed, added = left_over(before.imports.get(file, ()), after.imports.get(file, ()), str)
        for change, texts in (("removed", removed), ("added", added)):
            for text in texts:
                yield {"change": change, "file": file, "import": text}


def metadata_changes(before: ParsedBundle, after: ParsedBundle) -> Iterator[JsonObject]:
    """METADATA of packages and rules that came, went or changed; that of a new rule is among it."""
    removed, added = left_over(
        _metadata(before), _metadata(after), lambda about: (about.name, about.digest, _json(about.metadata))
    )
    pairs = paired(removed, added, lambda about: (about.name, about.digest), lambda about: about.name)
    found: list[JsonObject] = [
        {
            "change": change_word(old, new),
            "name": old.name if old else new.name if new else "",
            "before": None if old is None else old.metadata,
            "after": None if new is None else new.metadata,
        }
        for old, new in pairs
        if old is None or new is None or _json(old.metadata) != _json(new.metadata)
    ]
    yield from sorted(found, key=lambda change: str(change["name"]))


def change_word(old: object | None, new: object | None) -> str:
    """``added``, ``removed`` or ``changed``."""
    return "added" if old is None else "removed" if new is None else "changed"


def _metadata(parsed: ParsedBundle) -> Iterator[_About]:
    for package, metadata in parsed.packages.items():
        if metadata:
            yield _About(package, "", metadata)
    for rule in parsed.rules:
        if rule.metadata:
            yield _About(_name(rule), rule.digest, rule.metadata)


def _identity(rule: ParsedRule) -> tuple[str, str, str]:
    return rule.package, rule.name, rule.digest


def _name(rule: ParsedRule) -> str:
    return f"{rule.package}.{rule.name}"


def _titled(rule: ParsedRule) -> Hashable:
    title = rule.metadata.get("title")
    return object() if title is None else (_name(rule), _json(title))


def _json(value: object) -> str:
    """METADATA may hold numbers that RFC 8785 cannot write."""
    return json.dumps(value, sort_keys=True)
