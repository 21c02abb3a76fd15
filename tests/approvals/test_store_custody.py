"""The contract of stores: tenants apart, lists, the access log, retention, and trouble."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from aioc_opa.approvals.records import NO_TENANT
from aioc_opa.errors import ApprovalStoreError
from tests.approvals.contract_cases import TTL_MS, E, S, state
from tests.approvals.store_cases import (
    CAPS,
    PAYLOAD,
    approve,
    approved,
    consumed,
    hexes,
    intent_for,
    new_approval,
    signed_vote,
)

if TYPE_CHECKING:
    from aioc_opa.approvals.store import ApprovalStore
    from tests.approvals.store_cases import StoreCase


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
