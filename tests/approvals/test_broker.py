"""`ApprovalBroker` by itself, on every store: what it refuses, whom it tells, and what it writes before it shows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa.approvals.records import PendingCaps
from aioc_opa.core.approvals.states import ApprovalEvent, ApprovalState
from aioc_opa.errors import ApprovalNotFoundError, ApprovalStoreError, VoteRefusedError
from tests.approvals.broker_cases import Bench, Told, Trail, person
from tests.approvals.desk import Watched

if TYPE_CHECKING:
    from aioc_opa.approvals.store import ApprovalStore

S = ApprovalState
NOBODY = "apr_" + "0" * 32


@pytest.fixture
def bench(store: ApprovalStore) -> Bench:
    return Bench(store)


# --- telling people


@pytest.mark.parametrize("how", ["raises", "hangs"])
def test_a_notifier_that_raises_or_hangs_does_not_hurt_a_request_or_a_vote(
    store: ApprovalStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, how: str
) -> None:
    told = Told(how)
    bench = Bench(store, {"notifier": told})
    assert bench.broker._notices is not None
    monkeypatch.setattr(bench.broker._notices, "_patience", 0.02)
    approval_id = bench.opened()
    assert bench.vote(approval_id).state is S.APPROVED
    assert bench.broker.revoke("acme", approval_id, by=person("theo"), reason="why").state is S.REVOKED
    if how == "hangs":
        assert told.notices == []  # all of that was done while it hung
    told.go.set()
    assert bench.broker._notices._dispatcher.close(60)
    assert [notice.state for notice in told.notices] == ["pending", "approved", "revoked"]  # and in order
    assert "canary" not in caplog.text


def test_a_notifier_is_told_of_requests_and_of_ends_without_arguments(store: ApprovalStore) -> None:
    told = Told()
    bench = Bench(store, {"notifier": told})
    approval_id = bench.opened(quorum=2)
    bench.open(quorum=2)  # the same again: one request
    bench.vote(approval_id, "tess")  # still pending: nobody has to be told
    bench.vote(approval_id, "theo")
    assert [(n.approval_id, n.state) for n in told.notices] == [(approval_id, "pending"), (approval_id, "approved")]
    assert "500" not in "".join(notice.model_dump_json() for notice in told.notices)


def test_what_can_be_no_notice_is_told_to_nobody_and_hurts_nothing(
    store: ApprovalStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ValueError("canary-of-an-edited-row")

    told = Told()
    bench = Bench(store, {"notifier": told})
    monkeypatch.setattr("aioc_opa.approvals.broker.notice_of", broken)
    assert bench.vote(bench.opened()).state is S.APPROVED
    assert told.notices == []
    assert "nobody is told of a request: ValueError" in caplog.text
    assert "canary" not in caplog.text


# --- siblings


def test_rejecting_one_request_tells_and_audits_every_open_request_of_the_call(store: ApprovalStore) -> None:
    told, trail = Told(), Trail()
    bench = Bench(store, {"notifier": told, "audit": trail})
    first, pending, usable = (bench.opened(call_id=name) for name in "123")
    other = bench.opened(call_id="4", run_id="run-2")
    bench.vote(usable, "tess")
    dismissed = bench.opened(call_id="5")
    bench.broker.dismiss("acme", dismissed, by=person("tess"), reason="why")
    told.notices.clear()
    trail.events.clear()
    assert bench.vote(first, "theo", "rejected").state is S.REJECTED
    ended = [first, pending, usable]
    assert [(notice.approval_id, notice.state) for notice in told.notices] == [(each, "rejected") for each in ended]
    events = [event for event in trail.events if event.kind == "approval_ended"]
    assert [(event.approval_id, event.decision) for event in events] == [(each, "rejected") for each in ended]
    # By whose vote: tess, who approved one of them, has not ended it.
    assert {event.voters for event in events} == {("p-theo",)}
    assert [bench.record(each).state for each in (*ended, other, dismissed)] == [
        S.REJECTED, S.REJECTED, S.REJECTED, S.PENDING, S.DISMISSED
    ]  # fmt: skip


# --- revoke and dismiss: each stable code, and nothing changes


def approved(bench: Bench, **changes: Any) -> str:
    approval_id = bench.opened(**changes)
    assert bench.vote(approval_id).state is S.APPROVED
    return approval_id


@pytest.mark.parametrize(
    ("how", "by", "reason", "code"),
    [
        ("revoke", "vic", "why", "role_missing"),
        ("revoke", "otto", "why", "tenant_not_allowed"),
        ("revoke", "tess", " \t", "reason_missing"),
        ("dismiss", "vic", "why", "role_missing"),
        ("dismiss", "otto", "why", "tenant_not_allowed"),
        ("dismiss", "tess", "", "reason_missing"),
    ],
)
def test_who_may_not_end_it_or_says_not_why_is_refused_and_nothing_changes(
    store: ApprovalStore, how: str, by: str, reason: str, code: str
) -> None:
    told, trail = Told(), Trail()
    bench = Bench(store, {"notifier": told, "audit": trail})
    approval_id = approved(bench)
    before, said, events = bench.record(approval_id), len(told.notices), len(trail.events)
    with pytest.raises(VoteRefusedError) as caught:
        getattr(bench.broker, how)("acme", approval_id, by=person(by), reason=reason)
    assert caught.value.code == code
    assert bench.record(approval_id) == before
    assert (len(told.notices), len(trail.events)) == (said, events)


def test_only_what_is_approved_is_revoked_and_only_what_is_open_is_dismissed(bench: Bench) -> None:
    tess = person("tess")
    waiting = bench.opened()
    with pytest.raises(VoteRefusedError) as caught:
        bench.broker.revoke("acme", waiting, by=tess, reason="why")
    assert (caught.value.code, bench.record(waiting).state) == ("not_open", S.PENDING)
    bench.broker.dismiss("acme", waiting, by=tess, reason="why")
    for how in (bench.broker.revoke, bench.broker.dismiss):
        with pytest.raises(VoteRefusedError) as caught:
            how("acme", waiting, by=tess, reason="again")
        assert caught.value.code == "not_open"
    record = bench.record(waiting)
    assert (record.state, record.ended_by, record.end_reason) == (S.DISMISSED, "p-tess", "why")


def test_an_end_that_comes_in_between_is_said_and_changes_nothing_more(store: ApprovalStore) -> None:
    trail = Trail()
    watched = Watched(store)
    bench = Bench(watched, {"audit": trail})  # type: ignore[arg-type] # a watched store
    approval_id = approved(bench)
    # Between the broker's look and its step.
    watched.after["get"] = lambda: store.end("acme", approval_id, ApprovalEvent.REVOKE, "p-theo", "first")
    with pytest.raises(VoteRefusedError) as caught:
        bench.broker.dismiss("acme", approval_id, by=person("tess"), reason="second")
    assert caught.value.code == "not_open"
    assert (bench.record(approval_id).ended_by, bench.record(approval_id).end_reason) == ("p-theo", "first")
    # The log says what was intended, and no end of it.
    assert trail.said[-1] == ("approval_intended", "dismiss")


def test_who_asked_may_withdraw_and_not_revoke(bench: Bench) -> None:
    waiting = bench.opened(roles=("cfo",))
    assert bench.broker.dismiss("acme", waiting, by=person("kim"), reason="not needed").state is S.DISMISSED
    usable = bench.opened(roles=("cfo",))
    bench.vote(usable, "carla")
    with pytest.raises(VoteRefusedError, match="role_missing"):
        bench.broker.revoke("acme", usable, by=person("kim"), reason="mine")


@pytest.mark.parametrize("tenant", ["other", ""])
def test_an_approval_of_another_tenant_is_not_there(bench: Bench, tenant: str) -> None:
    approval_id = approved(bench)
    vote, tess = bench.signed(approval_id, "theo"), person("tess")
    broker = bench.broker
    for wanted in (approval_id, NOBODY):
        for step in (
            lambda wanted=wanted: broker.show(tenant, wanted, who="tess"),
            lambda wanted=wanted: broker.cast(tenant, wanted, vote),
            lambda wanted=wanted: broker.revoke(tenant, wanted, by=tess, reason="why"),
            lambda wanted=wanted: broker.dismiss(tenant, wanted, by=tess, reason="why"),
            lambda wanted=wanted: broker.erase(tenant, wanted, by=tess),
        ):
            with pytest.raises(ApprovalNotFoundError) as caught:
                step()
            assert str(caught.value) == "no such approval"
    assert bench.record(approval_id).state is S.APPROVED
    assert bench.store.access_log(None, None) == []


def test_an_approval_that_vanishes_while_it_is_decided_is_not_there(store: ApprovalStore) -> None:
    class Forgetful(Watched):
        """As after a restore of an older database."""

        def __getattr__(self, name: str) -> Any:
            if name in {"vote", "end"}:
                return lambda *arguments: getattr(self.inner, name)("elsewhere", *arguments[1:])
            return super().__getattr__(name)

    bench = Bench(Forgetful(store))  # type: ignore[arg-type] # a watched store
    approval_id = bench.opened()
    with pytest.raises(ApprovalNotFoundError):
        bench.vote(approval_id)
    with pytest.raises(ApprovalNotFoundError):
        bench.broker.dismiss("acme", approval_id, by=person("tess"), reason="why")


# --- votes


def test_votes_that_come_too_late_change_nothing_and_are_told_so(store: ApprovalStore) -> None:
    watched = Watched(store)
    bench = Bench(watched)  # type: ignore[arg-type] # a watched store
    approval_id = approved(bench)
    late = bench.signed(approval_id, "theo", "rejected")
    with pytest.raises(VoteRefusedError) as caught:
        bench.broker.cast("acme", approval_id, late)
    assert (caught.value.code, len(bench.record(approval_id).votes)) == ("not_pending", 1)
    racing = bench.opened(call_id="2")
    vote = bench.signed(racing, "theo")
    watched.after["get"] = lambda: store.end("acme", racing, ApprovalEvent.DISMISS, "p-tess", "first")
    with pytest.raises(VoteRefusedError, match="too late") as caught:
        bench.broker.cast("acme", racing, vote)
    assert caught.value.code == "not_pending"
    watched.after.clear()
    assert (bench.record(racing).state, bench.record(racing).votes) == (S.DISMISSED, ())


# --- looking


def test_show_writes_the_access_log_before_it_reads_the_arguments(store: ApprovalStore) -> None:
    watched = Watched(store)
    bench = Bench(watched)  # type: ignore[arg-type] # a watched store
    approval_id = bench.opened()
    watched.asked.clear()
    record = bench.broker.show("acme", approval_id, who="tess")
    assert json.loads(record.payload or "")["requestedArguments"] == {"amount": 500}
    assert watched.asked == ["get", "log_access", "get"]
    (entry,) = store.access_log("acme", approval_id)
    assert (entry.who, entry.action, entry.approval_id, entry.tenant) == ("tess", "show", approval_id, "acme")


def test_what_cannot_be_logged_is_not_shown(store: ApprovalStore) -> None:
    watched = Watched(store)
    bench = Bench(watched)  # type: ignore[arg-type] # a watched store
    approval_id = bench.opened()
    watched.failing["log_access"] = ApprovalStoreError("down")
    with pytest.raises(ApprovalStoreError, match="down"):
        bench.broker.show("acme", approval_id, who="tess")


def test_find_gives_what_is_asked_for_by_state_and_tenant_without_arguments(bench: Bench) -> None:
    waiting, usable = bench.opened(call_id="1"), approved(bench, call_id="2")
    other, none = bench.opened(call_id="3", tenant="other"), bench.opened(call_id="4", tenant=None)
    find = bench.broker.find
    assert bench.ids(find("acme")) == [waiting, usable]
    assert bench.ids(find("acme", {S.PENDING})) == [waiting]
    assert bench.ids(find("acme", {S.APPROVED})) == [usable]
    assert bench.ids(find("other")) == [other]
    assert bench.ids(find("")) == [none]
    assert bench.ids(find(None)) == [waiting, usable, other, none]
    assert bench.ids(find(None, limit=2)) == [waiting, usable]
    assert find("acme", {S.REJECTED}) == []
    assert {record.payload for record in find(None)} == {None}


# --- caps


@pytest.mark.parametrize(
    ("caps", "cap", "fits"),
    [
        (PendingCaps(per_run=2), "run", {"run_id": "run-2"}),
        (PendingCaps(per_principal=2), "principal", {"identity": "tess"}),
        (PendingCaps(per_tenant=2), "tenant", {"tenant": "other"}),
    ],
    ids=["run", "principal", "tenant"],
)
def test_pending_requests_are_capped_and_places_come_back(
    store: ApprovalStore, caps: PendingCaps, cap: str, fits: dict[str, str]
) -> None:
    told = Told()
    bench = Bench(store, {"caps": caps, "notifier": told})
    first, _ = (bench.opened(call_id=f"{number}") for number in range(2))
    full = bench.open(call_id="3")
    assert (full.kind, full.cap, full.record) == ("full", cap, None)
    assert len(told.notices) == 2
    assert bench.open(call_id="0").kind == "existing"  # the same again takes no place
    assert bench.open(call_id="4", **fits).kind == "opened"
    bench.vote(first)  # what is decided is no longer pending
    assert bench.open(call_id="3").kind == "opened"
