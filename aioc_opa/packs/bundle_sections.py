"""The document of `bundle inspect` as sections with tables, for a terminal or as Markdown."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from aioc_opa.core.json_value import JsonObject

_LIBRARY: Final = "aioc.lib."
_TERMS: Final = {"approverRoles", "quorum", "separationOfDuties", "ttlSeconds"}


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
        ("roots", json.dumps(found["roots"])[1:-1].replace('"', "")),
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
            (
                a["pack"],
                list_text(a["codes"]),
                list_text(a["tools"]),
                terms_text(a),
                f"{a['file']}:{a['line']}",
            )
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
    yield Section(
        "Imports", ("file", "imports"), [(each["file"], list_text(each["imports"])) for each in found["imports"]]
    )
    yield Section("Rules", ("rule", "title", "by", "at"), [_rule(rule) for rule in found["rules"]])


def _packs(found: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    for pack in found["packs"]:
        yield pack["pack"], "title", f"{pack['title']} (version {pack['version']})"
        yield "", "owns", list_text(pack["owns"])
        if guests := set(pack["governs"]) - set(pack["owns"]):
            yield "", "also governs", list_text(guests)


def _tools(found: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    for tool, outcomes in found["tools"].items():
        yield tool, "owner", outcomes["owner"] or "nobody: never allowed"
        for kind in ("deny", "approval_required", "allow"):
            if outcomes[kind]:
                yield "", kind, list_text(outcomes[kind])


def _needs(found: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    for pack in found["packs"]:
        if pack["needs"]["data"]:
            yield pack["pack"], "data", json_text(pack["needs"]["data"])
        for tool, needs in pack["needs"]["tools"].items():
            raw = " (the raw argument text)" if needs["requireRaw"] else ""
            yield pack["pack"], f"context of {tool}{raw}", json_text(needs["context"])


def _rule(rule: dict[str, Any]) -> tuple[str, ...]:
    by = [author.get("name") or author.get("email", "") for author in rule.get("authors", [])]
    place = f"{rule['file']}:{rule['line']}"
    return (
        f"{rule['package']}.{rule['rule']}",
        rule.get("title", ""),
        list_text([*by, *rule.get("organizations", [])]),
        place,
    )


def terms_text(ask: dict[str, Any]) -> str:
    """Terms of an approval, in words; what computed ones depend on, the library's own rules left out."""
    terms = ask["terms"]
    if terms is None:
        return "computed from: " + list_text(name for name in ask["computedFrom"] if not name.startswith(_LIBRARY))
    if terms.keys() != _TERMS or not isinstance(terms["approverRoles"], list):
        return f"not terms of an approval: {json_text(terms)}"
    persons = f"{terms['quorum']} of {' or '.join(map(str, terms['approverRoles']))}"
    may = "not the requester" if terms["separationOfDuties"] else "the requester may"
    return f"{persons}, {may}, within {terms['ttlSeconds']} s"


def list_text(values: Any) -> str:
    """Texts, sorted; a dash for none."""
    return ", ".join(sorted(values)) or "-"


def json_text(value: object) -> str:
    """A text as it is, anything else as JSON in ASCII."""
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=True)
