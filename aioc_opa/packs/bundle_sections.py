"""The documents of `bundle inspect` and `bundle diff` as sections with tables, for a terminal or as Markdown."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from aioc_opa.core.json_value import JsonObject


@dataclass(frozen=True, slots=True)
class Section:
    """A title, and a table of texts. Without rows, `empty` is said instead."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    empty: str = "none"


def inspect_sections(document: JsonObject) -> Iterator[Section]:
    """The sections of an inspected bundle."""
    found: dict[str, Any] = document
    statement, signature = found["bundle"], found["signature"]
    facts = [
        ("name", statement["name"]),
        ("revision", found["revision"]),
        ("counter", f"{statement['counter']}, minimum {statement['minimumCounter']}"),
        ("owners", ", ".join(statement["owners"])),
        ("created", statement["createdAt"] or "not said"),
        ("expires", statement["expiresAt"] or "never"),
        ("holds", "a part of a policy" if statement["part"] else "a whole policy"),
        ("roots", ", ".join(found["roots"])),
        ("signature", f"{'present' if signature['present'] else 'none'}; {signature['text']}"),
        ("archive", f"sha256 {found['archiveSha256']}"),
        ("entrypoints", ", ".join(found["entrypoints"]) or "none"),
    ]
    yield Section("Bundle", ("what", "says"), facts)
    yield Section("Packs", ("pack", "what", "says"), list(_packs(found)))
    yield Section("Tools: what can come of a call", ("tool", "what", "says"), list(_tools(found)))
    yield Section(
        "Approvals that can be asked for",
        ("pack", "codes", "tools", "terms", "at"),
        [
            (a["pack"], _list(a["codes"]), _list(a["tools"]), _terms(a["terms"]), f"{a['file']}:{a['line']}")
            for a in found["approvals"]
        ],
    )
    yield Section("Declared needs", ("pack", "of", "schema"), list(_needs(found)))
    unusual = [(b["name"], b["kind"]) for b in found["builtins"] if b["kind"] != "plain"]
    yield Section("Builtins that reach out or vary", ("builtin", "why"), unusual)
    plain = [b["name"] for b in found["builtins"] if b["kind"] == "plain"]
    yield Section("Other builtins", ("builtins",), [(", ".join(plain),)] if plain else [])
    yield Section(
        "Data tables",
        ("path", "entries", "sha256"),
        [(t["path"], str(t["entries"]), t["sha256"]) for t in found["dataTables"]],
    )
    yield Section(
        "Packages",
        ("package", "title", "files"),
        [(p["package"], p.get("title", ""), str(len(p["files"]))) for p in found["packages"]],
    )
    yield Section("Rules", ("rule", "title", "by", "at"), [_rule(rule) for rule in found["rules"]])


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
        "Rules",
        ("change", "rule", "title", "at"),
        [(r["change"], r["rule"], r["title"] or "", f"{r['file']}:{r['line']}") for r in found["rules"]],
    )
    data = [(d["change"], d["path"], _list(f"{e['key']} {e['change']}" for e in d["entries"])) for d in found["data"]]
    yield Section("Data", ("change", "path", "entries"), data)
    for key, title in (("packs", "Packs' manifests"), ("metadata", "METADATA")):
        yield Section(title, ("change", "name"), [(each["change"], each["name"]) for each in found[key]])
    for key, title in (("statement", "Publisher's statement"), ("roots", "Roots")):
        changes = [(e["change"], e["name"], _json(e["before"]), _json(e["after"])) for e in found[key]]
        yield Section(title, ("change", "name", "before", "after"), changes)


def _packs(found: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    for pack in found["packs"]:
        yield pack["pack"], "title", f"{pack['title']} (version {pack['version']})"
        yield "", "owns", _list(pack["owns"])
        if guests := set(pack["governs"]) - set(pack["owns"]):
            yield "", "also governs", _list(guests)


def _tools(found: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    for tool, outcomes in found["tools"].items():
        yield tool, "owner", outcomes["owner"] or "nobody: never allowed"
        for kind in ("deny", "approval_required", "allow"):
            if outcomes[kind]:
                yield "", kind, _list(outcomes[kind])


def _needs(found: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    for pack in found["packs"]:
        if pack["needs"]["data"]:
            yield pack["pack"], "data", _json(pack["needs"]["data"])
        for tool, needs in pack["needs"]["tools"].items():
            raw = " (the raw argument text)" if needs["requireRaw"] else ""
            yield pack["pack"], f"context of {tool}{raw}", _json(needs["context"])


def _rule(rule: dict[str, Any]) -> tuple[str, ...]:
    by = [author.get("name") or author.get("email", "") for author in rule.get("authors", [])]
    place = f"{rule['file']}:{rule['line']}"
    return (
        f"{rule['package']}.{rule['rule']}",
        rule.get("title", ""),
        _list([*by, *rule.get("organizations", [])]),
        place,
    )


def _terms(terms: dict[str, Any] | None) -> str:
    if terms is None:
        return "computed, or from data"
    persons = f"{terms['quorum']} of {' or '.join(terms['approverRoles'])}"
    may = "not the requester" if terms["separationOfDuties"] else "the requester may"
    return f"{persons}, {may}, within {terms['ttlSeconds']} s"


def _outcome(outcomes: dict[str, Any] | None, kind: str) -> str:
    value = None if outcomes is None else outcomes[kind]
    return value if isinstance(value, str) else _list(value or [])


def _list(values: Any) -> str:
    return ", ".join(sorted(values)) or "-"


def _json(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=True)
