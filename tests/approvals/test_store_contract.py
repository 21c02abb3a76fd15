"""The contract of `ApprovalStore`, clause by clause, on every store (issue 4; the protocol's docstrings)."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa.approvals.records import NO_TENANT, PendingCaps
from aioc_opa.approvals.store import ApprovalStore
from tests.approvals.contract_cases import TTL_MS, E, S, reject, state
from tests.approvals.store_cases import (
    CAPS,
    PAYLOAD,
    approve,
    approved,
    consumed,
    intent_for,
    new_approval,
    signed_vote,
)

if TYPE_CHECKING:
    from aioc_opa.approvals.records import ApprovalRecord
    from aioc_opa.core.approvals.states import ApprovalEvent, ApprovalState
    from tests.approvals.store_cases import StoreCase


def test_a_store_is_one_and_says_which(store: ApprovalStore) -> None:
    assert isinstance(store, ApprovalStore)
    assert store.name in {"memory", "sqlite", "postgresql"}


@pytest.mark.parametrize("tenant", ["acme", NO_TENANT])
def test_what_is_opened_comes_back_whole_and_expires_by_the_stores_clock(store: ApprovalStore, tenant: str) -> None:
    new = new_approval(tenant, call_id="ça va ☂")
    before = store.now_ms()
    opened = store.open(new, CAPS)
    after = store.now_ms()
    record = store.get(tenant, new.approval_id)
    assert opened.kind == "opened"
    assert record is not None
    assert opened.record == record
    assert (record.bindings, record.terms, record.payload) == (new.bindings, new.terms, new.payload)
    assert (record.requesters, record.reason, record.reasons) == (new.requesters, new.reason, new.reasons)
    assert (record.state, record.votes, record.ended_at_ms, record.outcome) == (S.PENDING, (), None, None)
    assert before <= record.created_at_ms <= after
    assert record.expires_at_ms == record.created_at_ms + TTL_MS


def test_the_same_call_on_the_same_terms_shares_the_open_request(store: ApprovalStore) -> None:
    first = new_approval()
    store.open(first, CAPS)
    again = store.open(new_approval(), CAPS)
    assert (again.kind, again.record) == ("existing", store.get("acme", first.approval_id))
    approve(store, first)
    assert store.open(new_approval(), CAPS).kind == "existing"


@pytest.mark.parametrize(
    "changes",
    [
        {"proposal_hash": "d" * 64}, {"run_id": "run-2"}, {"call_id": "call-2"}, {"agent_name": "other"},
        {"tool_name": "other"}, {"tool_version": "2"}, {"tool_version": None}, {"tool_digest": "d" * 64},
        {"identity": "eve"}, {"identity": None}, {"on_behalf_of": ("cy", "bob")}, {"on_behalf_of": None},
        {"run_started_by": "bob"}, {"policy_revision": '{"local":"2"}'}, {"terms_digest": "d" * 64},
    ],
    ids=str,
)  # fmt: skip
def test_a_request_with_any_other_binding_is_another_one(store: ApprovalStore, changes: dict[str, Any]) -> None:
    store.open(new_approval(), CAPS)
    assert store.open(new_approval(**changes), CAPS).kind == "opened"


def test_a_rejected_hash_stays_rejected_for_its_run(store: ApprovalStore) -> None:
    new = new_approval()
    store.open(new, CAPS)
    reject(store, new.approval_id)
    assert store.open(new_approval(), CAPS).kind == "rejected"
    assert store.open(new_approval(call_id="call-2", terms_digest="d" * 64), CAPS).kind == "rejected"
    assert store.open(new_approval(run_id="run-2"), CAPS).kind == "opened"
    assert store.open(new_approval("globex"), CAPS).kind == "opened"
    assert store.open(new_approval(proposal_hash="d" * 64), CAPS).kind == "opened"


def test_rejected_comes_before_an_open_request_and_that_before_the_caps(store: ApprovalStore) -> None:
    first, second = new_approval(), new_approval(call_id="call-2")
    store.open(first, CAPS)
    store.open(second, CAPS)
    none = PendingCaps(per_run=0, per_principal=0, per_tenant=0)
    assert store.open(new_approval(), none).kind == "existing"
    reject(store, first.approval_id)
    assert store.open(new_approval(call_id="call-2"), none).kind == "rejected"


@pytest.mark.parametrize(
    ("caps", "cap", "elsewhere"),
    [
        (PendingCaps(per_run=2), "run", {"run_id": "run-2"}),
        (PendingCaps(per_principal=2), "principal", {"identity": "eve"}),
        (PendingCaps(per_tenant=2), "tenant", {"tenant": "globex"}),
    ],
)
def test_caps_count_what_is_pending_and_not_expired(
    case: StoreCase, caps: PendingCaps, cap: str, elsewhere: dict[str, Any]
) -> None:
    store = case.store
    first, second = new_approval(call_id="1"), new_approval(call_id="2")
    assert [store.open(new, caps).kind for new in (first, second)] == ["opened", "opened"]
    full = store.open(new_approval(call_id="3"), caps)
    assert (full.kind, full.cap, full.record) == ("full", cap, None)
    assert store.open(new_approval(call_id="3", **elsewhere), caps).kind == "opened"
    approve(store, first)
    assert store.open(new_approval(call_id="4"), caps).kind == "opened"
    case.age(second.approval_id, TTL_MS)
    assert store.open(new_approval(call_id="5"), caps).kind == "opened"
    assert store.open(new_approval(call_id="6"), caps).kind == "full"


# --- expiry


def test_it_counts_strictly_before_its_expiry_and_is_expired_although_nobody_noticed(case: StoreCase) -> None:
    store = case.store
    pending, usable = new_approval(call_id="1"), approved(store, call_id="2")
    store.open(pending, CAPS)
    for new in (pending, usable):
        case.age(new.approval_id, TTL_MS - 60_000)
    assert (state(store, pending.approval_id), state(store, usable.approval_id)) == (S.PENDING, S.APPROVED)
    for new in (pending, usable):
        case.age(new.approval_id, 60_000)
        record = store.get("acme", new.approval_id)
        assert record is not None
        assert (record.state, record.ended_at_ms, record.ended_by) == (S.EXPIRED, record.expires_at_ms, "expiry")
    assert [r.approval_id for r in store.find("acme", {S.EXPIRED}, 9)] == [usable.approval_id, pending.approval_id]
    assert store.find("acme", {S.PENDING, S.APPROVED}, 9) == []


def test_nothing_moves_what_has_expired(case: StoreCase) -> None:
    store = case.store
    pending, usable = new_approval(call_id="1"), approved(store, call_id="2")
    store.open(pending, CAPS)
    intent = intent_for(usable)
    store.intend(intent)
    for new in (pending, usable):
        case.age(new.approval_id, TTL_MS)
    late = store.vote("acme", pending.approval_id, signed_vote(), lambda _: E.APPROVE)
    assert (late.moved, late.record and (late.record.state, late.record.votes)) == (False, (S.EXPIRED, ()))
    used = store.consume(intent)
    assert (used.moved, used.record and used.record.state) == (False, S.EXPIRED)
    for event in (E.EXPIRE, E.DISMISS, E.REVOKE):
        ended = store.end("acme", usable.approval_id, event, "p-lee", "late")
        assert (ended.moved, ended.record and ended.record.state) == (False, S.EXPIRED)
    assert store.open(new_approval(call_id="1"), CAPS).kind == "opened"


def test_a_vote_whose_approval_expires_while_it_is_counted_is_not_kept(case: StoreCase) -> None:
    store, counted = case.store, []

    def slow(record: ApprovalRecord) -> ApprovalEvent:
        counted.append(record)
        wait_until(record.expires_at_ms)
        return E.APPROVE

    left_ms = 100
    while not counted:  # on a machine that is too slow for it, it expires before it is counted
        new = new_approval()
        store.open(new, CAPS)
        case.age(new.approval_id, TTL_MS - left_ms)
        moved = store.vote("acme", new.approval_id, signed_vote(), slow)
        assert (moved.moved, moved.record and (moved.record.state, moved.record.votes)) == (False, (S.EXPIRED, ()))
        left_ms *= 2


def wait_until(milliseconds: int) -> None:
    while time.time_ns() // 1_000_000 <= milliseconds:
        time.sleep(0.01)


# --- vote


def test_a_vote_without_effect_is_kept_and_one_with_effect_moves(store: ApprovalStore) -> None:
    new = new_approval()
    store.open(new, CAPS)
    seen: list[ApprovalRecord] = []

    def effect(record: ApprovalRecord) -> ApprovalEvent | None:
        seen.append(record)
        return E.APPROVE if len(record.votes) == 2 else None

    first = store.vote("acme", new.approval_id, signed_vote(), effect)
    assert (first.moved, first.record and first.record.state) == (False, S.PENDING)
    second = store.vote("acme", new.approval_id, signed_vote(), effect)
    assert (second.moved, second.record) == (True, store.get("acme", new.approval_id))
    assert second.record is not None
    assert (second.record.state, second.record.votes) == (S.APPROVED, (signed_vote(), signed_vote()))
    assert [record.votes for record in seen] == [(signed_vote(),), (signed_vote(), signed_vote())]
    assert (seen[0].payload, second.record.payload) == (PAYLOAD, PAYLOAD)


def test_an_exception_in_effect_passes_through_and_changes_nothing(store: ApprovalStore) -> None:
    new = new_approval()
    store.open(new, CAPS)

    def effect(_: ApprovalRecord) -> ApprovalEvent:
        raise LookupError("the tally")

    with pytest.raises(LookupError, match="the tally"):
        store.vote("acme", new.approval_id, signed_vote(), effect)
    record = store.get("acme", new.approval_id)
    assert record is not None
    assert (record.state, record.votes) == (S.PENDING, ())


def test_an_event_that_the_table_refuses_leaves_no_vote(store: ApprovalStore) -> None:
    new = new_approval()
    store.open(new, CAPS)
    moved = store.vote("acme", new.approval_id, signed_vote(), lambda _: E.CONSUME)
    assert (moved.moved, moved.record and (moved.record.state, moved.record.votes)) == (False, (S.PENDING, ()))


@pytest.mark.parametrize("verdict", [E.APPROVE, E.REJECT])
def test_late_double_and_contradictory_votes_change_nothing(store: ApprovalStore, verdict: ApprovalEvent) -> None:
    new = new_approval()
    store.open(new, CAPS)
    store.vote("acme", new.approval_id, signed_vote(), lambda _: verdict)
    before = store.get("acme", new.approval_id)
    for late in (E.APPROVE, E.REJECT):
        moved = store.vote("acme", new.approval_id, signed_vote(), lambda _, late=late: late)
        assert (moved.moved, moved.record) == (False, before)


def test_a_rejection_says_when_and_that_votes_ended_it(store: ApprovalStore) -> None:
    new = new_approval()
    store.open(new, CAPS)
    reject(store, new.approval_id)
    record = store.get("acme", new.approval_id)
    assert record is not None
    assert record.ended_by == "votes"
    assert record.ended_at_ms is not None
    assert record.created_at_ms <= record.ended_at_ms <= store.now_ms()


# --- end


@pytest.mark.parametrize(
    ("before", "event", "after"),
    [
        (S.PENDING, E.EXPIRE, S.EXPIRED), (S.PENDING, E.DISMISS, S.DISMISSED), (S.PENDING, E.REVOKE, None),
        (S.APPROVED, E.EXPIRE, S.EXPIRED), (S.APPROVED, E.DISMISS, S.DISMISSED), (S.APPROVED, E.REVOKE, S.REVOKED),
        (S.REJECTED, E.EXPIRE, None), (S.REJECTED, E.DISMISS, None), (S.REJECTED, E.REVOKE, None),
        (S.CONSUMED, E.EXPIRE, None), (S.CONSUMED, E.DISMISS, None), (S.CONSUMED, E.REVOKE, None),
    ],
)  # fmt: skip
def test_ending_follows_the_table_and_says_who_and_why(
    store: ApprovalStore, before: ApprovalState, event: ApprovalEvent, after: ApprovalState | None
) -> None:
    if before is S.CONSUMED:
        new, _ = consumed(store)
    else:
        new = new_approval()
        store.open(new, CAPS)
        if before is S.APPROVED:
            approve(store, new)
        if before is S.REJECTED:
            reject(store, new.approval_id)
    moved = store.end("acme", new.approval_id, event, "p-lee", "not needed")
    assert moved.record is not None
    assert (moved.moved, moved.record.state) == (after is not None, after or before)
    if after is not None:
        assert (moved.record.ended_by, moved.record.end_reason) == ("p-lee", "not needed")
        assert moved.record.ended_at_ms is not None
        assert not store.end("acme", new.approval_id, event, "p-lee", "twice").moved
    assert moved.record.payload is None


@pytest.mark.parametrize("event", [E.APPROVE, E.REJECT, E.CONSUME, E.COMPLETE, E.LOSE])
def test_no_other_event_ends(store: ApprovalStore, event: ApprovalEvent) -> None:
    new = new_approval()
    store.open(new, CAPS)
    with pytest.raises(ValueError, match="EXPIRE"):
        store.end("acme", new.approval_id, event, "p-lee", "no")
    assert state(store, new.approval_id) is S.PENDING


# --- effects
