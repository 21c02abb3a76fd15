"""The contract of stores: a grant is used up once, a call is claimed once, and effects are remembered."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa.errors import ApprovalStoreError
from tests.approvals.contract_cases import E, S, reject, state
from tests.approvals.store_cases import (
    CAPS,
    approved,
    consumed,
    intent_for,
    new_approval,
    signed_vote,
)

if TYPE_CHECKING:
    from aioc_opa.approvals.store import ApprovalStore
    from aioc_opa.core.approvals.states import ApprovalEvent, ApprovalState
    from tests.approvals.store_cases import StoreCase


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
