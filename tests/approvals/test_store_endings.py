"""What has ended stays ended, and what was rejected stays rejected for its run: on every store, whoever edits rows."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from aioc_opa.approvals.records import PendingCaps
from aioc_opa.core.approvals.states import OPEN, ApprovalEvent
from aioc_opa.errors import ApprovalStoreError
from tests.approvals.endings_cases import E, S, consume, get, opened, reject
from tests.approvals.store_cases import (
    CAPS,
    TERMS,
    SqlCase,
    approve,
    approved,
    consumed,
    intent_for,
    new_approval,
    signed_vote,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from aioc_opa.approvals.records import ApprovalRecord
    from aioc_opa.approvals.store import ApprovalStore
    from tests.approvals.store_cases import StoreCase


def test_a_rejection_is_one_of_every_open_request_of_its_hash_in_its_run(store: ApprovalStore) -> None:
    first, pending, usable = (opened(store, name) for name in "123")
    approve(store, usable)
    others = [
        opened(store, "4", run_id="run-2"), opened(store, "4", proposal_hash="d" * 64), opened(store, "4", tenant="globex")
    ]  # fmt: skip
    reject(store, first)
    for new, votes in ((pending, 0), (usable, 1)):
        record = get(store, new)
        assert (record.state, len(record.votes), record.ended_by) == (S.REJECTED, votes, "votes")
        assert record.end_reason == "the same call was rejected in this run"
        assert record.ended_at_ms == get(store, first).ended_at_ms
        for event in (E.APPROVE, E.REJECT, None):
            moved = store.vote("acme", new.approval_id, signed_vote(), lambda _, event=event: event)
            assert (moved.moved, moved.record) == (False, record)
        for ending in (E.EXPIRE, E.DISMISS, E.REVOKE):
            assert not store.end("acme", new.approval_id, ending, "p-lee", "why").moved
        assert consume(store, new) == (False, S.REJECTED)
        assert store.open(new_approval(call_id=new.bindings.call_id), CAPS).kind == "rejected"
    assert [r.approval_id for r in store.find("acme", {S.REJECTED}, 9)] == [
        new.approval_id for new in (first, pending, usable)
    ]
    assert {r.approval_id for r in store.find(None, OPEN, 9)} == {new.approval_id for new in others}
    assert get(store, first).end_reason is None


def test_a_rejection_says_which_requests_it_has_ended(case: StoreCase) -> None:
    store = case.store
    first, pending, usable, lapsed, gone = (opened(store, name) for name in "12345")
    approve(store, usable)
    store.end("acme", gone.approval_id, E.DISMISS, "p-lee", "why")
    case.age(lapsed.approval_id, TERMS.ttl_seconds * 1000)
    for other in ({"run_id": "run-2"}, {"proposal_hash": "d" * 64}, {"tenant": "globex"}):
        opened(store, "6", **other)
    moved = store.vote("acme", first.approval_id, signed_vote(), lambda _: E.REJECT)
    assert [record.approval_id for record in moved.with_it] == [pending.approval_id, usable.approval_id]
    for record, new in zip(moved.with_it, (pending, usable), strict=True):
        assert record == replace(get(store, new), payload=None)
        assert (record.state, record.end_reason) == (S.REJECTED, "the same call was rejected in this run")
    assert store.vote("acme", first.approval_id, signed_vote(), lambda _: E.REJECT).with_it == ()


def test_a_request_that_somebody_has_edited_keeps_nobody_from_rejecting_another(sql_case: SqlCase) -> None:
    store = sql_case.store
    first, edited, fine = (opened(store, name) for name in "123")
    sql_case.sql("UPDATE aioc_approvals SET terms = '{}' WHERE approval_id = :id", id=edited.approval_id)
    moved = store.vote("acme", first.approval_id, signed_vote(), lambda _: E.REJECT)
    assert moved.moved
    assert [record.approval_id for record in moved.with_it] == [fine.approval_id]


def test_what_was_rejected_with_another_is_no_longer_pending_under_a_cap(store: ApprovalStore) -> None:
    first, _ = opened(store, "1"), opened(store, "2")
    caps = PendingCaps(per_run=1, per_principal=1, per_tenant=1)
    other = new_approval(call_id="3", proposal_hash="d" * 64)
    assert store.open(other, caps).kind == "full"
    reject(store, first)
    assert store.open(other, caps).kind == "opened"


def test_a_rejection_changes_nothing_about_what_was_over_before(case: StoreCase) -> None:
    store = case.store
    used, _ = consumed(store, call_id="1")
    first, lapsed, dismissed = (opened(store, name) for name in "234")
    store.end("acme", dismissed.approval_id, E.DISMISS, "p-lee", "why")
    case.age(lapsed.approval_id, TERMS.ttl_seconds * 1000)
    before = [get(store, new) for new in (used, lapsed, dismissed)]
    reject(store, first)
    assert [get(store, new) for new in (used, lapsed, dismissed)] == before
    assert [record.state for record in before] == [S.CONSUMED, S.EXPIRED, S.DISMISSED]


def test_retention_removes_the_arguments_of_what_was_rejected_with_another(store: ApprovalStore) -> None:
    first, second = opened(store, "1"), opened(store, "2")
    reject(store, first)
    assert store.purge_payloads("acme", store.now_ms() + 1000) == 2
    assert (get(store, second).state, get(store, second).payload) == (S.REJECTED, None)


@pytest.mark.parametrize("step", ["consume", "vote", "open"])
def test_no_step_gets_in_between_while_its_hash_is_being_rejected(store: ApprovalStore, step: str) -> None:
    first, second = opened(store, "1"), opened(store, "2")
    if step == "consume":
        approve(store, second)
    intent = intent_for(second)
    store.intend(intent)
    steps: dict[str, Callable[[], object]] = {
        "consume": lambda: store.consume(intent).moved,
        "vote": lambda: store.vote("acme", second.approval_id, signed_vote(), lambda _: E.APPROVE).moved,
        "open": lambda: store.open(new_approval(call_id="3"), CAPS).kind == "opened",
    }
    did: list[object] = []
    other = threading.Thread(target=lambda: did.append(steps[step]()))

    def slowly(_: ApprovalRecord) -> ApprovalEvent:
        other.start()
        other.join(0.15)  # time enough to go first, if nothing kept it
        return E.REJECT

    assert store.vote("acme", first.approval_id, signed_vote(), slowly).moved
    other.join()
    assert did == [False]
    assert store.find("acme", OPEN, 9) == []


@pytest.mark.parametrize("column", ["run_id", "proposal_hash"])
def test_a_rejection_is_not_hidden_by_editing_the_columns_it_is_found_by(sql_case: SqlCase, column: str) -> None:
    store = sql_case.store
    first, pending, usable = (opened(store, name) for name in "123")
    approve(store, usable)
    reject(store, first)
    sql_case.sql(f"UPDATE aioc_approvals SET {column} = 'other'")  # noqa: S608 - our own names
    assert (get(store, pending).state, get(store, usable).state) == (S.PENDING, S.APPROVED)
    moved = store.vote("acme", pending.approval_id, signed_vote(), lambda _: E.APPROVE)
    assert (moved.moved, moved.record and moved.record.state) == (False, S.REJECTED)
    assert consume(store, usable) == (False, S.REJECTED)
    assert store.open(new_approval(call_id="4"), CAPS).kind == "rejected"


def test_an_intent_for_another_call_does_not_use_what_was_rejected(store: ApprovalStore) -> None:
    first, usable = opened(store, "1"), opened(store, "2")
    approve(store, usable)
    reject(store, first)
    crossed = intent_for(usable, run_id="run-9", proposal_hash="d" * 64)
    store.intend(crossed)
    assert not store.consume(crossed).moved
    good = approved(store, call_id="3", run_id="run-3")
    back = intent_for(good, run_id="run-1")
    store.intend(back)
    moved = store.consume(back)
    assert (moved.moved, moved.record and moved.record.state) == (False, S.REJECTED)


def test_one_call_is_rejected_once(sql_case: SqlCase) -> None:
    store = sql_case.store
    first, _ = opened(store, "1"), opened(store, "2")
    reject(store, first)
    values = "tenant, run_id, proposal_hash, 'rejected', 'votes', NULL, 0 FROM aioc_approvals WHERE call = '2'"
    for verb in ("INSERT", "REPLACE") if store.name == "sqlite" else ("INSERT",):
        with pytest.raises(ApprovalStoreError):
            sql_case.sql(
                f"{verb} INTO aioc_approval_endings SELECT approval_id, "  # noqa: S608 - our own names
                + values.replace("call = '2'", "seq = (SELECT max(seq) FROM aioc_approvals)")
            )


# --- what has ended
