"""A broker over a store, without a guard: requests, persons, and what somebody is told."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from aioc_opa.approvals.broker import ApprovalBroker
from aioc_opa.approvals.held_call import HeldCall
from aioc_opa.approvals.keys import SigningKey, VoteKeys
from aioc_opa.approvals.votes import sign_vote
from aioc_opa.core.approvals.digests import terms_digest
from aioc_opa.core.fingerprint import tool_proposal_hash
from aioc_opa.errors import AuditUnavailableError
from aioc_opa.models.decision import ApprovalRequirement, ApprovalTerms
from aioc_opa.models.stored_call import StoredCall
from tests.approvals.store_cases import bindings
from tests.approvals.treasury import ISSUER, people

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aioc_opa.approvals.people import Person
    from aioc_opa.approvals.records import ApprovalRecord, Opened
    from aioc_opa.approvals.store import ApprovalStore
    from aioc_opa.models.approval_notice import ApprovalNotice
    from aioc_opa.models.approval_vote_statement import SignedVote
    from aioc_opa.models.audit_event import AuditEvent

PEOPLE = people()
ARGUMENTS = '{"amount":500}'


def person(name: str) -> Person:
    found = PEOPLE.authenticated(ISSUER, name)
    assert found is not None
    return found


def held(*, quorum: int = 1, roles: tuple[str, ...] = ("treasurer",), ttl: int = 600, **changes: Any) -> HeldCall:
    terms = ApprovalTerms(
        requirements=(ApprovalRequirement(code="large", approver_roles=roles, quorum=quorum),),
        separation_of_duties=True,
        ttl_seconds=ttl,
    )
    digest = tool_proposal_hash(agent_name="support", tool_name="refund", args_canonical_json=ARGUMENTS)
    fixed = {"identity": "kim", "on_behalf_of": None, "terms_digest": terms_digest(terms), "proposal_hash": digest}
    bound = {**fixed, **changes}
    return HeldCall(
        bindings=bindings(**bound),
        terms=terms,
        reason="large",
        reasons=("large",),
        call=StoredCall(
            raw_arguments=ARGUMENTS,
            decode_assurance="raw",
            requested_arguments={"amount": 500},
            args_canonical_json=ARGUMENTS,
            turn=0,
            tool_description="Move money.",
        ),
    )


@dataclass
class Told:
    """A notifier that keeps what it is told, raises, or hangs until `go`."""

    how: str = "keeps"
    go: threading.Event = field(default_factory=threading.Event)
    notices: list[ApprovalNotice] = field(default_factory=list)

    def approval_requested(self, notice: ApprovalNotice) -> None:
        self.approval_decided(notice)

    def approval_decided(self, notice: ApprovalNotice) -> None:
        if self.how == "hangs":
            self.go.wait(60)
        self.notices.append(notice)
        if self.how == "raises":
            raise RuntimeError("canary-of-the-notifier")


@dataclass
class Trail:
    """An audit trail in memory, which can be down."""

    mode: str = "required"
    down: bool = False
    events: list[AuditEvent] = field(default_factory=list)

    def record(self, event: AuditEvent) -> None:
        self.events.append(event)

    def record_intent(self, event: AuditEvent) -> None:
        if self.down:
            raise AuditUnavailableError("down")
        self.events.append(event)

    def proposal_ref(self, _tenant: str | None, _proposal_hash: str) -> str:
        return "e" * 64

    @property
    def said(self) -> list[tuple[str, str | None]]:
        """Kind, and what it is about: the decision, or the detail of what has none."""
        return [(event.kind, event.decision or event.detail) for event in self.events]


@dataclass
class Bench:
    """A broker and the people around it; the tenant is acme, kim asks."""

    store: ApprovalStore
    options: dict[str, Any] = field(default_factory=dict)
    authority: SigningKey = field(default_factory=SigningKey.generate)

    def __post_init__(self) -> None:
        keys = VoteKeys([self.authority.public_entry()])
        self.broker = ApprovalBroker(self.store, keys=keys, people=PEOPLE, **self.options)

    def open(self, **changes: Any) -> Opened:
        return self.broker.open(held(**changes))

    def opened(self, **changes: Any) -> str:
        record = self.open(**changes).record
        assert record is not None
        return record.approval_id

    def record(self, approval_id: str, tenant: str = "acme") -> ApprovalRecord:
        found = self.store.get(tenant, approval_id)
        assert found is not None
        return found

    def signed(self, approval_id: str, voter: str = "tess", verdict: Any = "approved", **options: Any) -> SignedVote:
        return sign_vote(
            self.record(approval_id),
            person(voter),
            verdict=verdict,
            reason="looked at it",
            key=self.authority,
            at_ms=self.store.now_ms(),
            **options,
        )

    def vote(self, approval_id: str, voter: str = "tess", verdict: Any = "approved") -> ApprovalRecord:
        return self.broker.cast("acme", approval_id, self.signed(approval_id, voter, verdict))

    def ids(self, records: Sequence[ApprovalRecord]) -> list[str]:
        return [record.approval_id for record in records]
