"""Logs to test with: real files, written by real trails."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aioc_opa.audit.anchoring import make_anchor, read_anchor, write_anchor
from aioc_opa.audit.json_lines import JsonLinesSink
from aioc_opa.audit.keys import AuditKey, public_keys_of
from aioc_opa.audit.sources import FolderSource
from aioc_opa.audit.trail import AuditTrail
from aioc_opa.audit.verifier import verify
from aioc_opa.models.audit_event import AuditEvent

if TYPE_CHECKING:
    from pathlib import Path

    from aioc_opa.audit.findings import VerificationReport
    from aioc_opa.core.audit.anchors import Anchor

KEY = AuditKey(bytes(range(32)))
OTHER_KEY = AuditKey(bytes(range(1, 33)))
KEYS = public_keys_of(KEY)


def event(number: int = 0, **others: Any) -> AuditEvent:
    given: dict[str, Any] = {
        "kind": "tool_policy",
        "at": "2026-07-15T09:00:00.000Z",
        "request_id": f"{number:032x}",
        "run_id": "run",
        "call_id": f"call-{number}",
        "turn": number,
        "agent_name": "agent",
        "tool_name": "issue_refund",
        "tool_version": "1",
        "identity": "kim",
        "tenant": "acme",
        "decision": "deny",
        "reason": "too_large",
        "reasons": ("too_large", "weekend"),
        "policy_revision": '{"local":"sha256:0"}',
        "engine": "opa 1.22.4",
        "duration_ms": 1.25,
        "voters": ("ann", "bob"),
        "proposal_ref": "0" * 64,
    }
    return AuditEvent(**{**given, **others})


def trail(
    folder: Path, writer: str = "one", *, key: AuditKey = KEY, segment_bytes: int = 8192, **others: Any
) -> AuditTrail:
    return AuditTrail(JsonLinesSink(folder, segment_bytes=segment_bytes), writer=writer, key=key, **others)


def written(folder: Path, writer: str = "one", count: int = 20, **others: Any) -> None:
    """A log of `count` events, closed in order."""
    with trail(folder, writer, **{"checkpoint_records": 7, "mode": "best_effort", **others}) as opened:
        for number in range(count):
            opened.record(event(number))
            if number % 5 == 4:
                assert opened.flush()


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def lines_of(folder: Path, segment: int = 1) -> list[bytes]:
    """The lines of one file of the writer ``one``, with their ends."""
    return (folder / f"one.{segment:08d}.jsonl").read_bytes().splitlines(keepends=True)


def anchor_of(folder: Path, note: Path) -> Anchor:
    write_anchor(make_anchor(verified(folder).checkpoints, KEY), note)
    return read_anchor(note, KEYS)


def verified(folder: Path, *anchors: Anchor) -> VerificationReport:
    return verify(FolderSource(folder), KEYS, anchors=anchors)


def codes(report: VerificationReport) -> list[str]:
    return [finding.code for finding in report.findings]
