"""The document of `bundle diff` as sections with tables, for a terminal or as Markdown."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from aioc_opa.packs.bundle_sections import Section, json_text, list_text, terms_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aioc_opa.core.json_value import JsonObject

_TITLES: Final = {"statement": "Publisher's statement", "roots": "Roots", "files": "Files, with their SHA-256"}
_ENTRY: Final = ("change", "path", "entry", "before", "after")


def diff_sections(document: JsonObject) -> Iterator[Section]:
    """The sections of a difference."""
    found: dict[str, Any] = document
    content = "the same content" if found["sameContent"] else "other content"
    rollback = "yes: the counter goes back" if found["rollback"] else "no"
    facts = [("from", found["from"]), ("to", found["to"]), ("content", content), ("rollback", rollback)]
    yield Section("Revisions", ("what", "says"), facts)
    rows = [
        (t["change"], t["tool"], kind, _outcome(t["before"], kind), _outcome(t["after"], kind))
        for t in found["tools"]
        for kind in ("owner", "governedBy", "deny", "approval_required", "allow")
        if _outcome(t["before"], kind) != _outcome(t["after"], kind)
    ]
    yield Section("Tools whose possible outcomes change", ("change", "tool", "what", "before", "after"), rows)
    yield Section(
        "Approvals that can be asked for",
        ("change", "pack", "what", "before", "after"),
        [row for each in found["approvals"] for row in _approval(each)],
    )
    yield Section(
        "Rules",
        ("change", "rule", "title", "at", "before", "after"),
        [
            (
                r["change"],
                r["rule"],
                r["title"] or "",
                f"{r['file']}:{r['line']}",
                _source(r["before"]),
                _source(r["after"]),
            )
            for r in found["rules"]
        ],
    )
    yield Section(
        "Order of else branches",
        ("change", "rule", "branch", "before", "after"),
        [row for each in found["elseOrder"] for row in _branches(each)],
    )
    imports = [(each["change"], each["file"], each["import"]) for each in found["imports"]]
    yield Section("Imports", ("change", "file", "import"), imports)
    yield Section("Data", _ENTRY, list(_entries(found["data"])))
    yield Section("Packs' manifests", _ENTRY, list(_entries(found["packs"])))
    metadata = [(e["change"], e["name"], _value(e, "before"), _value(e, "after")) for e in found["metadata"]]
    yield Section("METADATA", ("change", "name", "before", "after"), metadata)
    for key, title in _TITLES.items():
        changes = [(e["change"], e["name"], json_text(e["before"]), json_text(e["after"])) for e in found[key]]
        yield Section(title, ("change", "name", "before", "after"), changes)


def _outcome(outcomes: dict[str, Any] | None, kind: str) -> str:
    value = None if outcomes is None else outcomes[kind]
    return value if isinstance(value, str) else list_text(value or [])


def _approval(each: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    old, new = each["before"], each["after"]
    pack = (new or old)["pack"]
    for what in ("codes", "tools"):
        before, after = ("-" if ask is None else list_text(ask[what]) for ask in (old, new))
        # The codes say which approval it is.
        if what == "codes" or before != after:
            yield each["change"], pack, what, before, after
    before, after = ("-" if ask is None else terms_text(ask) for ask in (old, new))
    if before != after:
        yield each["change"], pack, "terms", before, after
    if old is not None and new is not None and old["terms"] is new["terms"] is None:
        one, other = old["computedFrom"], new["computedFrom"]
        for name in sorted(one.keys() | other.keys()):
            if one.get(name) != other.get(name):
                yield each["change"], pack, f"terms: {name}", one.get(name, "-"), other.get(name, "-")


def _branches(each: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    old, new = each["before"], each["after"]
    for index in range(max(len(old), len(new))):
        before, after = (_source(texts[index]) if index < len(texts) else "-" for texts in (old, new))
        yield each["change"], each["rule"], str(index + 1), before, after


def _entries(tables: list[dict[str, Any]]) -> Iterator[tuple[str, ...]]:
    for table in tables:
        for entry in table["entries"]:
            yield entry["change"], table["path"], entry["key"], _value(entry, "before"), _value(entry, "after")


def _value(each: dict[str, Any], side: str) -> str:
    """JSON in ASCII, texts in quotes: "5" is not 5; a dash where nothing is."""
    absent = {"before": "added", "after": "removed"}[side]
    return "-" if each["change"] == absent else json.dumps(each[side], sort_keys=True, ensure_ascii=True)


def _source(text: str | None) -> str:
    """Rego on one line; `--format json` has it as it stands."""
    return (
        "-" if text is None else " \N{RETURN SYMBOL} ".join(line.strip() for line in text.splitlines() if line.strip())
    )
