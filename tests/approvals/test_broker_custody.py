"""`ApprovalBroker` for operators, on every store: in somebody's name, logged, and not done where a required trail is down."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa.core.approvals.states import ApprovalState
from aioc_opa.errors import ApprovalStoreError, VoteRefusedError
from tests.approvals.broker_cases import Bench, Trail, held, person
from tests.approvals.desk import Watched
from tests.approvals.store_cases import intent_for

if TYPE_CHECKING:
    from aioc_opa.approvals.store import ApprovalStore

S = ApprovalState
NOBODY = "apr_" + "0" * 32


@pytest.fixture
def bench(store: ApprovalStore) -> Bench:
    return Bench(store)


def approved(bench: Bench, **changes: Any) -> str:
    approval_id = bench.opened(**changes)
    assert bench.vote(approval_id).state is S.APPROVED
    return approval_id


def held_as_new(approval_id: str) -> Any:
    """What `intent_for` takes: the call of a request that is stored."""
    return SimpleNamespace(approval_id=approval_id, tenant="acme", bindings=held().bindings)


# --- what only operators do


def test_an_unfinished_effect_is_listed_by_age_and_tenant_and_settled_in_somebodys_name(store: ApprovalStore) -> None:
    trail = Trail()
    bench = Bench(store, {"audit": trail})
    approval_id = approved(bench)
    intent = intent_for(held_as_new(approval_id))
    store.intend(intent)
    assert store.consume(intent).moved
    broker, tess = bench.broker, person("tess")
    assert broker.recoverable(None, 3600) == []
    assert broker.recoverable("other", -1) == []
    (unfinished,) = broker.recoverable("acme", -1)
    assert (unfinished.intent, unfinished.may_have_run) == (intent, True)
    with pytest.raises(VoteRefusedError, match="tenant_not_allowed"):
        broker.settle(intent, "returned", by=person("otto"))
    assert len(broker.recoverable("acme", -1)) == 1
    broker.settle(intent, "unknown", by=tess)
    assert bench.record(approval_id).state is S.OUTCOME_UNKNOWN
    assert broker.recoverable("acme", -1) == []
    broker.settle(intent, "returned", by=tess)  # it became known later
    assert (bench.record(approval_id).state, bench.record(approval_id).outcome) == (S.COMPLETED, "returned")
    assert [(entry.who, entry.action) for entry in store.access_log("acme", approval_id)] == [
        ("p-tess", f"settle {intent.execution_id} unknown"),
        ("p-tess", f"settle {intent.execution_id} returned"),
    ]
    events = [event for event in trail.events if event.kind == "effect_settled"]
    assert [(e.by, e.approval_id, e.decision, e.detail) for e in events] == [
        ("p-tess", approval_id, "outcome_unknown", "unknown"),
        ("p-tess", approval_id, "completed", "returned"),
    ]


def test_a_call_that_needed_no_approval_is_settled_under_its_execution(bench: Bench) -> None:
    intent = intent_for(held_as_new(NOBODY), approval_id=None)
    bench.store.intend(intent)
    assert bench.store.claim(intent)
    bench.broker.settle(intent, "raised", by=person("tess"))
    (entry,) = bench.store.access_log("acme", intent.execution_id)
    assert (entry.who, entry.action) == ("p-tess", f"settle {intent.execution_id} raised")


def test_what_cannot_be_logged_or_is_not_there_is_not_settled(store: ApprovalStore) -> None:
    watched = Watched(store)
    bench = Bench(watched)  # type: ignore[arg-type] # a watched store
    intent = intent_for(held_as_new(NOBODY), approval_id=None)
    with pytest.raises(ApprovalStoreError):
        bench.broker.settle(intent, "returned", by=person("tess"))
    store.intend(intent)
    watched.failing["log_access"] = ApprovalStoreError("down")
    with pytest.raises(ApprovalStoreError, match="down"):
        bench.broker.settle(intent, "returned", by=person("tess"))
    assert len(bench.broker.recoverable(None, -1)) == 1


def test_arguments_are_removed_in_somebodys_name(store: ApprovalStore) -> None:
    trail = Trail()
    bench = Bench(store, {"audit": trail})
    ended, open_one, elsewhere = bench.opened(call_id="1"), bench.opened(call_id="2"), bench.opened(tenant="other")
    broker, tess = bench.broker, person("tess")
    for approval_id, tenant in ((ended, "acme"), (elsewhere, "other")):
        broker.dismiss(tenant, approval_id, by=tess, reason="why")
    otto = person("otto")
    for tenant in ("acme", "", None):  # of one tenant: neither another's, nor all
        with pytest.raises(VoteRefusedError, match="tenant_not_allowed"):
            broker.purge(tenant, store.now_ms() + 1000, by=otto)
    with pytest.raises(VoteRefusedError, match="tenant_not_allowed"):
        broker.erase("acme", ended, by=otto)
    assert broker.purge("other", store.now_ms() + 1000, by=otto) == 1
    assert broker.purge(None, store.now_ms() + 1000, by=tess) == 1
    broker.erase("acme", open_one, by=tess)
    record = bench.record(open_one)
    assert (record.state, record.ended_by, record.payload) == (S.DISMISSED, "p-tess", None)
    assert {(e.approval_id, e.who, e.action) for e in store.access_log(None, None)} == {
        (elsewhere, "p-otto", "purge"), (ended, "p-tess", "purge"), (open_one, "p-tess", "erase")
    }  # fmt: skip
    events = [event for event in trail.events if event.kind == "arguments_removed"]
    assert [(e.by, e.tenant, e.approval_id, e.detail) for e in events] == [
        ("p-otto", "other", None, "purge"), ("p-tess", None, None, "purge"), ("p-tess", "acme", open_one, "erase")
    ]  # fmt: skip


def test_to_remove_the_arguments_of_what_is_open_takes_the_rights_to_dismiss_it(store: ApprovalStore) -> None:
    bench = Bench(store)
    broker, vic = bench.broker, person("vic")
    pending, usable, ended = bench.opened(call_id="1"), approved(bench, call_id="2"), bench.opened(call_id="3")
    broker.dismiss("acme", ended, by=person("tess"), reason="why")
    before = [bench.record(each) for each in (pending, usable)]
    for each in (pending, usable):
        with pytest.raises(VoteRefusedError, match="role_missing"):
            broker.erase("acme", each, by=vic)
    assert [bench.record(each) for each in (pending, usable)] == before
    assert store.access_log(None, None) == []
    broker.erase("acme", pending, by=person("kim"))  # who asked may withdraw
    broker.erase("acme", usable, by=person("tess"))
    broker.erase("acme", ended, by=vic)  # nothing is dismissed by that
    assert [bench.record(each).state for each in (pending, usable, ended)] == [S.DISMISSED] * 3
    assert [entry.who for entry in store.access_log(None, None)] == ["p-kim", "p-tess", "p-vic"]


# --- a required trail


def test_what_a_required_trail_cannot_record_is_not_done(store: ApprovalStore) -> None:
    trail = Trail()
    bench = Bench(store, {"audit": trail})
    waiting, usable = bench.opened(call_id="1"), approved(bench, call_id="2")
    intent = intent_for(held_as_new(usable))
    store.intend(intent)
    vote, tess, broker = bench.signed(waiting), person("tess"), bench.broker
    trail.down = True
    before = [bench.record(each) for each in (waiting, usable)]
    for step in (
        lambda: broker.cast("acme", waiting, vote),
        lambda: broker.revoke("acme", usable, by=tess, reason="why"),
        lambda: broker.dismiss("acme", waiting, by=tess, reason="why"),
        lambda: broker.settle(intent, "not_entered", by=tess),
        lambda: broker.purge("acme", store.now_ms() + 1000, by=tess),
        lambda: broker.erase("acme", waiting, by=tess),
    ):
        with pytest.raises(VoteRefusedError) as caught:
            step()
        assert caught.value.code == "audit_unavailable"
    assert [bench.record(each) for each in (waiting, usable)] == before
    assert len(broker.recoverable("acme", -1)) == 1
    assert store.access_log(None, None) == []


def test_the_intent_is_recorded_before_and_only_where_somebody_waits_for_it(store: ApprovalStore) -> None:
    for mode, intended in (("required", [("approval_intended", "approved")]), ("best_effort", [])):
        trail = Trail(mode)
        bench = Bench(store, {"audit": trail})
        bench.vote(bench.opened(call_id=mode))
        assert trail.said == [*intended, ("approval_vote", "approved"), ("approval_ended", "approved")]
    refused = bench.opened(call_id="3")
    trail.events.clear()
    with pytest.raises(VoteRefusedError, match="role_missing"):
        bench.vote(refused, "vic")
    assert trail.events == []  # whoever may not vote writes nothing into the log


def test_what_can_be_no_event_is_not_done_under_a_required_trail(store: ApprovalStore) -> None:
    bench = Bench(store, {"audit": Trail()})
    intent = intent_for(held_as_new(NOBODY), approval_id=None, tool_name="")
    store.intend(intent)
    with pytest.raises(VoteRefusedError, match="audit_unavailable"):
        bench.broker.settle(intent, "not_entered", by=person("tess"))
    lenient = Trail("best_effort")
    Bench(store, {"audit": lenient}).broker.settle(intent, "not_entered", by=person("tess"))
    assert lenient.events == []  # an alarm in the log, and the store has it
