"""The contract of `ApprovalStore`, clause by clause, on every store (issue 4; the protocol's docstrings)."""

from __future__ import annotations

import contextlib
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa.approvals.records import NO_TENANT, PendingCaps
from aioc_opa.approvals.store import ApprovalStore
from aioc_opa.core.approvals.states import ApprovalEvent, ApprovalState
from aioc_opa.errors import ApprovalStoreError
from tests.approvals.store_cases import (
    CAPS,
    PAYLOAD,
    TERMS,
    approve,
    approved,
    consumed,
    hexes,
    intent_for,
    new_approval,
    signed_vote,
)

if TYPE_CHECKING:
    from aioc_opa.approvals.records import ApprovalRecord
    from tests.approvals.store_cases import StoreCase

S, E = ApprovalState, ApprovalEvent
TTL_MS = TERMS.ttl_seconds * 1000


def state(store: ApprovalStore, approval_id: str, tenant: str = "acme") -> ApprovalState | None:
    record = store.get(tenant, approval_id)
    return None if record is None else record.state


def reject(store: ApprovalStore, approval_id: str) -> None:
    assert store.vote("acme", approval_id, signed_vote(), lambda _: E.REJECT).moved


# --- open


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


def test_a_grant_is_consumed_exactly_once(store: ApprovalStore) -> None:
    new, first = consumed(store)
    for intent in (first, intent_for(new)):
        if intent is not first:
            store.intend(intent)
        again = store.consume(intent)
        assert (again.moved, again.record and again.record.state) == (False, S.CONSUMED)
    record = store.get("acme", new.approval_id)
    assert record is not None
    assert (record.state, record.ended_by, record.outcome) == (S.CONSUMED, "runtime", None)


@pytest.mark.parametrize("verdict", [None, E.REJECT])
def test_only_what_is_approved_can_be_consumed(store: ApprovalStore, verdict: ApprovalEvent | None) -> None:
    new = new_approval()
    store.open(new, CAPS)
    if verdict is not None:
        reject(store, new.approval_id)
    intent = intent_for(new)
    store.intend(intent)
    moved = store.consume(intent)
    assert (moved.moved, moved.record and moved.record.state) == (False, S.REJECTED if verdict else S.PENDING)


@pytest.mark.parametrize("outcome", [None, "returned", "unknown"])
@pytest.mark.parametrize("put_back", [S.APPROVED, S.PENDING])
def test_a_row_put_back_while_its_consumption_stands_is_never_consumed_again(
    case: StoreCase, put_back: ApprovalState, outcome: Any
) -> None:
    store = case.store
    new, first = consumed(store)
    if outcome is not None:
        store.finish(first, outcome)
    before = store.get("acme", new.approval_id)
    case.put_back(new.approval_id, put_back)
    after = store.get("acme", new.approval_id)
    assert before is not None
    assert after is not None
    assert (after.state, after.outcome) == (before.state, outcome)
    assert store.find("acme", {S.APPROVED, S.PENDING}, 9) == []
    assert [found.approval_id for found in store.find("acme", {before.state}, 9)] == [new.approval_id]
    intent = intent_for(new)
    store.intend(intent)
    again = store.consume(intent)
    assert (again.moved, again.record and again.record.state) == (False, before.state)
    assert not store.vote("acme", new.approval_id, signed_vote(), lambda _: E.APPROVE).moved
    assert not store.end("acme", new.approval_id, E.REVOKE, "p-lee", "no").moved


def test_a_call_is_claimed_once(store: ApprovalStore) -> None:
    new = new_approval()
    first, second = (intent_for(new, approval_id=None) for _ in range(2))
    store.intend(first)
    store.intend(second)
    assert [store.claim(first), store.claim(first), store.claim(second)] == [True, False, False]
    for other in ({"tenant": "globex"}, {"run_id": "run-2"}, {"call_id": "call-2"}):
        intent = intent_for(new, approval_id=None, **other)
        store.intend(intent)
        assert store.claim(intent), other


def test_what_was_not_intended_is_neither_consumed_claimed_nor_finished(store: ApprovalStore) -> None:
    new = approved(store)
    intent = intent_for(new)
    for step in (lambda: store.consume(intent), lambda: store.claim(intent), lambda: store.finish(intent, "returned")):
        with pytest.raises(ApprovalStoreError):
            step()
    assert state(store, new.approval_id) is S.APPROVED


def test_an_execution_is_intended_once_and_consumes_one_approval(store: ApprovalStore) -> None:
    new, other = approved(store, call_id="1"), approved(store, call_id="2")
    intent = intent_for(new)
    store.intend(intent)
    with pytest.raises(ApprovalStoreError):
        store.intend(intent)
    assert store.consume(intent).moved
    crossed = intent_for(other, execution_id=intent.execution_id)
    with contextlib.suppress(ApprovalStoreError):
        assert not store.consume(crossed).moved
    assert state(store, other.approval_id) is S.APPROVED


def test_an_intent_without_approval_consumes_nothing(store: ApprovalStore) -> None:
    intent = intent_for(new_approval(), approval_id=None)
    store.intend(intent)
    moved = store.consume(intent)
    assert (moved.moved, moved.record) == (False, None)


@pytest.mark.parametrize(
    ("outcomes", "after", "said"),
    [
        (["returned"], S.COMPLETED, "returned"),
        (["raised"], S.COMPLETED, "raised"),
        (["not_entered"], S.COMPLETED, "not_entered"),
        (["unknown"], S.OUTCOME_UNKNOWN, "unknown"),
        (["unknown", "unknown"], S.OUTCOME_UNKNOWN, "unknown"),
        (["unknown", "returned"], S.COMPLETED, "returned"),
        (["raised", "unknown"], S.COMPLETED, "raised"),
        (["returned", "raised"], S.COMPLETED, "returned"),
    ],
)
def test_the_first_known_end_counts(store: ApprovalStore, outcomes: list[Any], after: Any, said: str) -> None:
    new, intent = consumed(store)
    for outcome in outcomes:
        store.finish(intent, outcome)
    record = store.get("acme", new.approval_id)
    assert record is not None
    assert (record.state, record.outcome) == (after, said)


def test_the_end_of_an_effect_that_never_consumed_leaves_the_approval_alone(store: ApprovalStore) -> None:
    new, winner = consumed(store)
    loser = intent_for(new)
    store.intend(loser)
    assert not store.consume(loser).moved
    store.finish(loser, "not_entered")
    assert state(store, new.approval_id) is S.CONSUMED
    store.finish(winner, "returned")
    assert state(store, new.approval_id) is S.COMPLETED


def test_unfinished_effects_are_listed_with_whether_they_may_have_run(store: ApprovalStore) -> None:
    new, used = consumed(store, call_id="1")
    not_used, claimed, not_claimed, finished, lost = (
        intent_for(new), *(intent_for(new, approval_id=None, call_id=name) for name in ("2", "3", "4", "5"))
    )  # fmt: skip
    for intent in (not_used, claimed, not_claimed, finished, lost):
        store.intend(intent)
    assert store.claim(claimed)
    store.finish(finished, "returned")
    store.finish(lost, "unknown")
    later = store.now_ms() + 1000
    found = store.unfinished("acme", later)
    assert {unfinished.intent: unfinished.may_have_run for unfinished in found} == {
        used: True, not_used: False, claimed: True, not_claimed: False,
    }  # fmt: skip
    times = [unfinished.intended_at_ms for unfinished in found]
    assert times == sorted(times)
    assert store.unfinished("acme", times[0]) == []
    assert len(store.unfinished(None, later)) == 4


# --- tenants apart


def test_an_approval_of_another_tenant_does_not_exist_for_any_method(store: ApprovalStore) -> None:
    theirs = approved(store, call_id="1")
    waiting = new_approval(call_id="2")
    store.open(waiting, CAPS)
    store.log_access("acme", theirs.approval_id, "p-lee", "show")
    before = [store.get("acme", new.approval_id) for new in (theirs, waiting)]

    for tenant in ("globex", NO_TENANT, "ACME", "acme ", "%"):
        for new in (theirs, waiting):
            assert store.get(tenant, new.approval_id) is None
            assert store.vote(tenant, new.approval_id, signed_vote(), lambda _: E.APPROVE).record is None
            for event in (E.EXPIRE, E.DISMISS, E.REVOKE):
                assert store.end(tenant, new.approval_id, event, "p-eve", "mine").record is None
            assert store.erase(tenant, new.approval_id) is False
        crossing = intent_for(theirs, tenant=tenant)
        store.intend(crossing)
        assert (store.consume(crossing).moved, store.consume(crossing).record) == (False, None)
        store.finish(crossing, "returned")
        assert store.find(tenant, set(S), 99) == []
        assert store.access_log(tenant, None) == store.access_log(tenant, theirs.approval_id) == []
        assert store.purge_payloads(tenant, store.now_ms() + 10_000_000) == 0
        assert store.unfinished(tenant, store.now_ms() + 1000) == []
        assert store.open(new_approval(tenant, call_id="2"), CAPS).kind == "opened"
        assert [r.tenant for r in store.find(tenant, set(S), 99)] == [tenant]

    assert [store.get("acme", new.approval_id) for new in (theirs, waiting)] == before
    assert len(store.find(None, set(S), 99)) == 7


def test_an_end_does_not_cross_tenants(store: ApprovalStore) -> None:
    _, intent = consumed(store)
    with pytest.raises(ApprovalStoreError):
        store.finish(replace(intent, tenant="globex"), "returned")
    assert len(store.unfinished("acme", store.now_ms() + 1000)) == 1


# --- lists, access log, retention


def test_lists_are_oldest_first_bounded_and_without_payload(store: ApprovalStore) -> None:
    opened = [new_approval(call_id=str(number)) for number in range(4)]
    for new in opened:
        store.open(new, CAPS)
    approve(store, opened[2])
    found = store.find("acme", {S.PENDING}, 2)
    assert [record.approval_id for record in found] == [new.approval_id for new in opened[:2]]
    assert {record.payload for record in found} == {None}
    (usable,) = store.find("acme", {S.APPROVED}, 9)
    assert usable.votes == (signed_vote(),)
    assert store.find("acme", set(), 9) == []
    assert [len(store.find("acme", {S.PENDING}, limit)) for limit in (10**30, 2**63, 0, -1)] == [3, 3, 0, 0]


def test_the_access_log_keeps_who_what_and_when(store: ApprovalStore) -> None:
    new = new_approval()
    store.open(new, CAPS)
    store.log_access("acme", new.approval_id, "p-lee", "show")
    store.log_access("acme", "apr_" + "0" * 32, "p-eve", "show")
    first, second = store.access_log("acme", None)
    assert (first.who, first.action, first.approval_id, first.tenant) == ("p-lee", "show", new.approval_id, "acme")
    assert second.who == "p-eve"
    assert first.at_ms <= second.at_ms <= store.now_ms()
    assert store.access_log(None, new.approval_id) == store.access_log("acme", new.approval_id) == [first]


def test_retention_removes_the_arguments_of_what_ended_before_and_nothing_else(case: StoreCase) -> None:
    store = case.store
    used, intent = consumed(store, call_id="1")
    store.finish(intent, "returned")
    lapsed, waiting, usable = new_approval(call_id="2"), new_approval(call_id="3"), approved(store, call_id="4")
    store.open(lapsed, CAPS)
    store.open(waiting, CAPS)
    case.age(lapsed.approval_id, TTL_MS + 60_000)
    cut = store.now_ms() + 1000
    assert store.purge_payloads("acme", cut - 31_536_000_000) == 0
    assert store.purge_payloads("acme", cut) == 2
    assert store.purge_payloads(None, cut) == 0
    kept = {}
    for new in (used, lapsed, waiting, usable):
        record = store.get("acme", new.approval_id)
        assert record is not None
        kept[new.approval_id] = (record.payload, len(record.votes), record.bindings == new.bindings)
    assert list(kept.values()) == [(None, 1, True), (None, 0, True), (PAYLOAD, 0, True), (PAYLOAD, 1, True)]


def test_deletion_on_request_ends_what_is_open_and_keeps_the_rest(store: ApprovalStore) -> None:
    pending, (used, _) = new_approval(call_id="1"), consumed(store, call_id="2")
    store.open(pending, CAPS)
    assert store.erase("acme", pending.approval_id)
    assert store.erase("acme", used.approval_id)
    assert store.erase("acme", used.approval_id)
    assert not store.erase("acme", "apr_" + "0" * 32)
    first, second = store.get("acme", pending.approval_id), store.get("acme", used.approval_id)
    assert first is not None
    assert second is not None
    assert (first.state, first.payload, first.ended_by) == (S.DISMISSED, None, "runtime")
    assert (second.state, second.payload, len(second.votes)) == (S.CONSUMED, None, 1)


# --- trouble


def test_an_id_is_stored_once(store: ApprovalStore) -> None:
    new = new_approval()
    store.open(new, CAPS)
    with pytest.raises(ApprovalStoreError):
        store.open(replace(new_approval(call_id="2"), approval_id=new.approval_id), CAPS)


@pytest.mark.parametrize("bad", ["a\0b", "a\ud800b"])
def test_texts_that_cannot_be_stored_are_refused_alike(store: ApprovalStore, bad: str) -> None:
    new = new_approval()
    store.open(new, CAPS)
    steps = [
        lambda: store.open(replace(new_approval(call_id="2"), reason=bad), CAPS),
        lambda: store.end("acme", new.approval_id, E.DISMISS, bad, "why"),
        lambda: store.end("acme", new.approval_id, E.DISMISS, "p-lee", bad),
        lambda: store.log_access("acme", new.approval_id, bad, "show"),
        lambda: store.intend(intent_for(new, call_id=bad)),
    ]
    for step in steps:
        with pytest.raises(ApprovalStoreError, match="cannot be stored"):
            step()
    assert state(store, new.approval_id) is S.PENDING


def test_a_closed_store_refuses_every_method(store: ApprovalStore) -> None:
    new = new_approval()
    intent = intent_for(new)
    store.close()
    store.close()
    steps = [
        store.now_ms,
        lambda: store.open(new, CAPS),
        lambda: store.get("acme", new.approval_id),
        lambda: store.find(None, {S.PENDING}, 1),
        lambda: store.vote("acme", new.approval_id, signed_vote(), lambda _: None),
        lambda: store.end("acme", new.approval_id, E.DISMISS, "p-lee", "why"),
        lambda: store.intend(intent),
        lambda: store.consume(intent),
        lambda: store.claim(intent),
        lambda: store.finish(intent, "returned"),
        lambda: store.unfinished(None, 1),
        lambda: store.log_access("acme", new.approval_id, "p-lee", "show"),
        lambda: store.access_log(None, None),
        lambda: store.purge_payloads(None, 1),
        lambda: store.erase("acme", hexes(32)),
    ]
    for step in steps:
        with pytest.raises(ApprovalStoreError, match="closed"):
            step()
