"""What changes from one bundle to another, in the words of `bundle_report`.

Where the digests differ, the files that differ are always listed: a change that no other list has a word for, such as
a comment, is seen there.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from aioc_opa.core.bundles.data_changes import DataChange, data_changes, path_text
from aioc_opa.core.canonical_json import canonical_text
from aioc_opa.packs.bundle_file import DATA
from aioc_opa.packs.bundle_outcomes import approval_asks, tool_outcomes
from aioc_opa.packs.bundle_pairing import left_over, paired
from aioc_opa.packs.bundle_parsed import table_digest
from aioc_opa.packs.bundle_report import approval_document, data_tables, outcomes_document
from aioc_opa.packs.bundle_rule_changes import (
    change_word,
    import_changes,
    metadata_changes,
    order_changes,
    rule_changes,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from aioc_opa.core.json_value import JsonObject, JsonValue
    from aioc_opa.packs.bundle_file import BundleFile
    from aioc_opa.packs.bundle_parsed import ParsedBundle


def diff_document(before: ParsedBundle, after: ParsedBundle) -> JsonObject:
    """The changes; every list but that of the statement is empty exactly when the content is the same."""
    old, new = before.bundle, after.bundle
    statements = [each.bundle.statement.model_dump(mode="json", by_alias=True) for each in (before, after)]
    return {
        "from": str(old.revision),
        "to": str(new.revision),
        "sameContent": old.revision.digest == new.revision.digest,
        "rollback": new.revision.counter < old.revision.counter,
        "statement": [*_values(*statements)],
        "roots": [*_values(*({"/".join(root): "owned" for root in each.bundle.roots} for each in (before, after)))],
        "packs": [*_tables(_manifests(before), _manifests(after))],
        "approvals": [*_approvals(before, after)],
        "rules": [*rule_changes(before, after)],
        "elseOrder": [*order_changes(before, after)],
        "imports": [*import_changes(before, after)],
        "metadata": [*metadata_changes(before, after)],
        "data": [*_data(before, after)],
        "tools": [*_tools(before, after)],
        "files": [*_values(_digests(old), _digests(new))],
    }


def _values(before: Mapping[str, JsonValue], after: Mapping[str, JsonValue]) -> Iterator[JsonObject]:
    for name in sorted(before.keys() | after.keys()):
        change = _change(name, before, after)
        if change is not None:
            yield {"change": change, "name": name, "before": before.get(name), "after": after.get(name)}


def _change(name: str, before: Mapping[str, JsonValue], after: Mapping[str, JsonValue]) -> str | None:
    if name not in before:
        return "added"
    if name not in after:
        return "removed"
    return None if canonical_text(before[name]) == canonical_text(after[name]) else "changed"


def _manifests(parsed: ParsedBundle) -> dict[str, JsonValue]:
    return {
        path_text([pack]): {
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


def _approvals(before: ParsedBundle, after: ParsedBundle) -> Iterator[JsonObject]:
    """Approvals of which codes, tools or terms change, each as `inspect` has it; its place is no change."""
    asked, asks = ([approval_document(ask) for ask in approval_asks(each)] for each in (before, after))
    removed, added = left_over(asked, asks, lambda ask: canonical_text(_without_place(ask)))
    pairs = paired(
        removed,
        added,
        lambda ask: canonical_text([ask["pack"], ask["codes"], ask["tools"]]),
        lambda ask: canonical_text([ask["pack"], ask["codes"]]),
    )
    for old, new in pairs:
        yield {"change": change_word(old, new), "before": old, "after": new}


def _without_place(ask: JsonObject) -> JsonObject:
    return {key: value for key, value in ask.items() if key not in {"file", "line"}}


def _data(before: ParsedBundle, after: ParsedBundle) -> Iterator[JsonObject]:
    old, new = ({path_text(path): value for path, value in data_tables(each)} for each in (before, after))
    yield from _tables(old, new)


def _tables(old: Mapping[str, JsonValue], new: Mapping[str, JsonValue]) -> Iterator[JsonObject]:
    for path in sorted(old.keys() | new.keys()):
        change = _change(path, old, new)
        if change is None:
            continue
        one, other = old.get(path), new.get(path)
        # Of a table that came or went every key is listed, as long as it has one.
        left = one if path in old else {} if isinstance(other, dict) and other else None
        right = other if path in new else {} if isinstance(one, dict) and one else None
        yield {"change": change, "path": path, "entries": [_entry(each) for each in data_changes(left, right)]}


def _entry(each: DataChange) -> JsonObject:
    return {"change": each.change, "key": each.path, "before": each.before, "after": each.after}


def _tools(before: ParsedBundle, after: ParsedBundle) -> Iterator[JsonObject]:
    """Tools of which the possible outcomes, the owner or the packs that govern them change."""
    old = {tool: outcomes_document(found) for tool, found in tool_outcomes(before).items()}
    new = {tool: outcomes_document(found) for tool, found in tool_outcomes(after).items()}
    for tool in sorted(old.keys() | new.keys()):
        if old.get(tool) != new.get(tool):
            change = change_word(old.get(tool), new.get(tool))
            yield {"change": change, "tool": tool, "before": old.get(tool), "after": new.get(tool)}


def _digests(bundle: BundleFile) -> JsonObject:
    """What the revision's digest covers, file by file: of data the RFC 8785 text, of modules the bytes."""
    digests: JsonObject = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in bundle.modules.items()}
    return {**digests, DATA: table_digest(bundle.data)}
