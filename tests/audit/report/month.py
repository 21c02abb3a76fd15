"""Logs of a month, with times of our choice: sealed and signed as a writer does, without its clock."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from aioc_opa.audit.log_folder import segment_path
from aioc_opa.core.approvals.times import rfc3339_of_ms
from aioc_opa.core.audit.chain import checkpoint_statement, seal
from aioc_opa.models.audit_event import AuditEvent
from tests.audit.logs import KEY

if TYPE_CHECKING:
    from pathlib import Path

    from aioc_opa.core.audit.chain import Head

JULY = 1_782_864_000_000
"""2026-07-01T00:00:00Z, milliseconds since 1970."""

MINUTE = 60_000
DAY = 86_400_000

SCRIPT = "<script>document.title='pwned'</script>"
IMAGE = '"><img src=x onerror="document.title=1"><svg onload=alert(1)>'
BIDI = "kim\u202etxt.exe"
LONG = "x" * 128


class Log:
    """One writer's log."""

    def __init__(self, writer: str = "api-1", *, log_id: str = "a" * 32, mode: str = "required") -> None:
        self.writer = writer
        self.log_id = log_id
        self.lines: list[str] = []
        self.head: Head | None = None
        started = {"type": "writer_started", "keyId": KEY.key_id, "mode": mode}
        self.add(JULY, {**started, "publicKey": KEY.public_entry()["publicKey"]})

    def add(self, at_ms: int, content: dict[str, Any]) -> None:
        at = rfc3339_of_ms(at_ms)
        sealed = seal(content, writer=self.writer, log_id=self.log_id, segment=1, at=at, before=self.head)
        self.head = sealed.head
        self.lines.append(sealed.text)

    def event(self, at_ms: int, **facts: Any) -> None:
        made = AuditEvent(at=rfc3339_of_ms(at_ms), **facts)
        self.add(at_ms, {"type": "event", "event": made.model_dump(by_alias=True, exclude_defaults=True, mode="json")})

    def decision(self, at_ms: int, decision: str = "allow", reason: str = "allowed", **facts: Any) -> None:
        given: dict[str, Any] = {
            "kind": "tool_policy", "run_id": "run", "tool_name": "search_flights", "identity": "support-bot",
            "tenant": "acme", "policy_revision": '{"local":"7-abc"}', "engine": "opa 1.22.4", "proposal_ref": "0" * 64,
        }  # fmt: skip
        self.event(at_ms, **{**given, "decision": decision, "reason": reason, **facts})

    def checkpoint(self, at_ms: int) -> None:
        assert self.head is not None
        statement = checkpoint_statement(
            writer=self.writer, log_id=self.log_id, segment=1, sequence=self.head.sequence + 1, at=rfc3339_of_ms(at_ms),
            prev_hash=self.head.hash, key_id=KEY.key_id,
        )  # fmt: skip
        self.add(at_ms, {"type": "checkpoint", "keyId": KEY.key_id, "signature": KEY.sign(statement)})

    def write(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        segment_path(folder, self.writer, 1).write_text("".join(f"{line}\n" for line in self.lines))
        return folder


def approval(log: Log, number: int, at_ms: int, *, wait_ms: int, end: str = "approved", used: bool = True) -> None:
    """An approval's life: requested, voted on by two, ended, and perhaps used."""
    approval_id = f"apr_{number:032x}"
    about = {"approval_id": approval_id, "tool_name": "issue_refund", "identity": "support-bot", "tenant": "acme"}
    log.decision(at_ms, "approval_required", "large_refund", approval_id=approval_id, tool_name="issue_refund")
    if end in ("approved", "rejected"):
        log.event(at_ms + wait_ms, kind="approval_vote", decision=end, voters=("ann",), **about)
        log.event(at_ms + wait_ms, kind="approval_ended", decision=end, voters=("ann", "bob"), **about)
    elif end != "pending":
        log.event(at_ms + wait_ms, kind="approval_ended", decision=end, **about)
    if used:
        log.decision(at_ms + wait_ms + 1000, tool_name="issue_refund", approval_id=approval_id)
        log.event(at_ms + wait_ms + 1001, kind="execution_started", execution_id=f"e{number}", **about)
        log.event(at_ms + wait_ms + 1100, kind="execution_completed", execution_id=f"e{number}", **about)


def month() -> Log:
    """A month of a few thousand decisions, with everything that a report shows, and hostile names in it."""
    chance = random.Random(5)  # noqa: S311 - a log that is the same each time
    log = Log()
    tools = ["search_flights", "book_reservation", "cancel_reservation", "issue_refund", "get_user", "send_email"]
    tools += [f"tool_{number}" for number in range(14)]
    for day in range(31):
        for _ in range(20 + 60 * (day % 7 < 5) + chance.randrange(30)):
            at = JULY + day * DAY + chance.randrange(8 * 60, 18 * 60) * MINUTE
            tool = chance.choices(tools, [30, 14, 9, 6, 20, 4, *[1] * 14])[0]
            who = chance.choices(["support-bot", "booking-bot", "kim", f"user-{chance.randrange(40)}"], [8, 6, 2, 4])[0]
            about = {
                "tool_name": tool,
                "identity": who,
                "policy_revision": f'{{"local":"{7 + day // 11}-{"ab" * 32}"}}',
            }
            kind = chance.random()
            if kind < 0.78:
                log.decision(at, **about)
            elif kind < 0.84:
                log.decision(at, "deny", chance.choice(["basic_economy", "too_late", "no_rule_allows"]), **about)
            elif kind < 0.90:
                log.decision(at, "approval_required", "large_refund", **about)
            elif kind < 0.94:
                log.event(
                    at, kind="access", decision="deny", reason="tool_not_authorized", tool_name=tool, identity=who
                )
            elif kind < 0.97 or day in (12, 13):
                log.decision(at, "deny", "policy_timeout", **{**about, "policy_revision": None})
            else:
                label = f"sha256:{chance.randrange(50):064x}"
                log.event(at, kind="access", decision="deny", reason="tool_not_registered", tool_name=label)
        if day % 2:
            wait = chance.choice([20_000, 4 * MINUTE, 40 * MINUTE, 300 * MINUTE, 2 * DAY])
            end = chance.choice(["approved", "approved", "rejected", "expired", "pending", "revoked"])
            approval(log, day, JULY + day * DAY + 10 * 60 * MINUTE, wait_ms=wait, end=end, used=end == "approved")
        log.checkpoint(JULY + day * DAY + 23 * 60 * MINUTE)
    hostile(log, JULY + 30 * DAY + 23 * 60 * MINUTE)
    return log


def hostile(log: Log, at_ms: int) -> None:
    """Names that a careless page would act on; often enough to be in every table."""
    for name in (SCRIPT, IMAGE, BIDI, LONG):
        for _ in range(60):
            revision = f'{{"local":{_quoted(name)}}}'
            log.decision(at_ms, identity=name, tool_name=name, engine=name, policy_revision=revision, tenant=name)
    about = {"approval_id": f"apr_{'f' * 32}", "tool_name": SCRIPT, "identity": IMAGE}
    log.decision(at_ms, "approval_required", "large_refund", **about)
    log.event(at_ms, kind="approval_vote", decision="approved", voters=(SCRIPT, BIDI), **about)
    log.event(at_ms, kind="execution_started", execution_id="e-open", tool_name=SCRIPT, identity=IMAGE)


def _quoted(text: str) -> str:
    from aioc_opa.core.canonical_json import canonical_text

    return canonical_text(text)
