"""What changes from one bundle to another, in the words of `bundle_report`.

Rules are compared by their syntax trees, so spaces and comments are no change; METADATA is one of its own. A rule
has changed where its title, or else its name that no other rule has, is there on both sides; otherwise one went and
one came.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from aioc_opa.core.canonical_json import canonical_text
from aioc_opa.packs.bundle_outcomes import tool_outcomes
from aioc_opa.packs.bundle_report import data_tables, outcomes_document

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from aioc_opa.core.json_value import JsonObject, JsonValue
    from aioc_opa.packs.bundle_parsed import ParsedBundle, ParsedRule

_ADDED, _REMOVED, _CHANGED = "added", "removed", "changed"


def diff_document(before: ParsedBundle, after: ParsedBundle) -> JsonObject:
    """The changes; every list is empty when `after` decides as `before`."""
    old, new = before.bundle, after.bundle
    statements = [each.bundle.statement.model_dump(mode="json", by_alias=True) for each in (before, after)]
    return {
        "from": str(old.revision),
        "to": str(new.revision),
        "sameContent": old.revision.digest == new.revision.digest,
        "rollback": new.revision.counter < old.revision.counter,
        "statement": [*_values(*statements)],
        "roots": [*_values(*({"/".join(root): "owned" for root in each.bundle.roots} for each in (before, after)))],
        "packs": [*_values(_manifests(before), _manifests(after))],
        "rules": [*_rules(before.rules, after.rules)],
        "metadata": [*_values(_metadata(before), _metadata(after))],
        "data": [*_data(before, after)],
        "tools": [*_tools(before, after)],
    }


def _values(before: Mapping[str, JsonValue], after: Mapping[str, JsonValue]) -> Iterator[JsonObject]:
    for name in sorted(before.keys() | after.keys()):
        change = _change(name, before, after)
        if change is not None:
            yield {"change": change, "name": name, "before": before.get(name), "after": after.get(name)}


def _change(name: str, before: Mapping[str, JsonValue], after: Mapping[str, JsonValue]) -> str | None:
    if name not in before:
        return _ADDED
    if name not in after:
        return _REMOVED
    return None if canonical_text(before[name]) == canonical_text(after[name]) else _CHANGED


def _manifests(parsed: ParsedBundle) -> JsonObject:
    return {
        pack: {
            "version": manifest.version,
            "title": manifest.title,
            "codes": [*sorted(manifest.codes)],
            "data": manifest.data,
            "tools": {
                tool: {"context": needs.context, "requireRaw": needs.require_raw}
                for tool, needs in manifest.tools.items()
            },
        }
        for pack, manifest in parsed.policy.manifests.items()
    }


def _metadata(parsed: ParsedBundle) -> JsonObject:
    found: dict[str, list[JsonValue]] = {}
    for package, metadata in parsed.packages.items():
        if metadata:
            found.setdefault(package, []).append(metadata)
    for rule in parsed.rules:
        if rule.metadata:
            found.setdefault(f"{rule.package}.{rule.name}", []).append(rule.metadata)
    return {name: [*sorted(all_of, key=canonical_text)] for name, all_of in found.items()}


def _rules(before: Iterable[ParsedRule], after: Iterable[ParsedRule]) -> Iterator[JsonObject]:
    old, new = list(before), list(after)
    kept = Counter(_identity(rule) for rule in old) & Counter(_identity(rule) for rule in new)
    removed, added = _without(old, kept), _without(new, kept)
    for rule in removed:
        successor = next((other for other in added if _is_successor(rule, other, old, new)), None)
        if successor is None:
            yield _rule(_REMOVED, rule)
        else:
            added.remove(successor)
            yield _rule(_CHANGED, successor)
    for rule in added:
        yield _rule(_ADDED, rule)


def _identity(rule: ParsedRule) -> tuple[str, str, str]:
    return rule.package, rule.name, rule.digest


def _without(rules: Iterable[ParsedRule], kept: Mapping[tuple[str, str, str], int]) -> list[ParsedRule]:
    left = dict(kept)
    found = []
    for rule in rules:
        if left.get(_identity(rule), 0):
            left[_identity(rule)] -= 1
        else:
            found.append(rule)
    return found


def _is_successor(rule: ParsedRule, other: ParsedRule, old: Iterable[ParsedRule], new: Iterable[ParsedRule]) -> bool:
    if (rule.package, rule.name) != (other.package, other.name):
        return False
    title = rule.metadata.get("title")
    if title is not None:
        return other.metadata.get("title") == title
    alone = [sum((each.package, each.name) == (rule.package, rule.name) for each in side) for side in (old, new)]
    return alone == [1, 1]


def _rule(change: str, rule: ParsedRule) -> JsonObject:
    return {
        "change": change,
        "rule": f"{rule.package}.{rule.name}",
        "title": rule.metadata.get("title"),
        "file": rule.file,
        "line": rule.line,
    }


def _data(before: ParsedBundle, after: ParsedBundle) -> Iterator[JsonObject]:
    old = {".".join(path): value for path, value in data_tables(before)}
    new = {".".join(path): value for path, value in data_tables(after)}
    for path in sorted(old.keys() | new.keys()):
        change = _change(path, old, new)
        if change is not None:
            yield {"change": change, "path": path, "entries": [*_entries(old.get(path), new.get(path))]}


def _entries(before: JsonValue, after: JsonValue) -> Iterator[JsonObject]:
    """The keys that differ, where a table is an object on both sides."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted(before.keys() | after.keys()):
            change = _change(key, before, after)
            if change is not None:
                yield {"change": change, "key": key}


def _tools(before: ParsedBundle, after: ParsedBundle) -> Iterator[JsonObject]:
    """Tools of which the possible outcomes, the owner or the packs that govern them change."""
    old = {tool: outcomes_document(found) for tool, found in tool_outcomes(before).items()}
    new = {tool: outcomes_document(found) for tool, found in tool_outcomes(after).items()}
    for tool in sorted(old.keys() | new.keys()):
        if old.get(tool) != new.get(tool):
            change = _ADDED if tool not in old else _REMOVED if tool not in new else _CHANGED
            yield {"change": change, "tool": tool, "before": old.get(tool), "after": new.get(tool)}
