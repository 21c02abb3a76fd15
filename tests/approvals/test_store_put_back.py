"""What has ended stays ended, whoever puts its row back."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import false, literal, select

from aioc_opa.approvals.records import PendingCaps
from aioc_opa.core.approvals.states import OPEN, ApprovalState
from tests.approvals.endings_cases import E, S, consume, end, get, opened
from tests.approvals.store_cases import (
    SqlCase,
    approved,
    intent_for,
    new_approval,
    signed_vote,
)
from tests.approvals.treasury import CALL, Treasury

if TYPE_CHECKING:
    from collections.abc import Callable

    from aioc_opa.approvals.store import ApprovalStore
    from aioc_opa.engines.protocol import Engine
    from tests.approvals.store_cases import StoreCase


ENDINGS = [("revoked", S.REVOKED), ("dismissed", S.DISMISSED), ("expired", S.EXPIRED), ("erased", S.DISMISSED)]


@pytest.mark.parametrize("put_back", [S.APPROVED, S.PENDING])
@pytest.mark.parametrize(("how", "state"), [*ENDINGS, ("rejected", S.REJECTED)])
def test_a_row_put_back_while_its_end_stands_is_never_used(
    case: StoreCase, how: str, state: ApprovalState, put_back: ApprovalState
) -> None:
    store = case.store
    new = opened(store, "1") if how == "rejected" else approved(store, call_id="1")
    end(store, new, how)
    before = get(store, new)
    case.put_back(new.approval_id, put_back)
    assert get(store, new) == before
    assert before.state is state
    assert before.ended_at_ms is not None
    assert consume(store, new) == (False, state)
    assert not store.vote("acme", new.approval_id, signed_vote(), lambda _: E.APPROVE).moved
    for event in (E.EXPIRE, E.DISMISS, E.REVOKE):
        assert not store.end("acme", new.approval_id, event, "p-eve", "mine").moved
    assert store.find("acme", OPEN, 9) == []
    assert [r.approval_id for r in store.find("acme", {state}, 9)] == [new.approval_id]
    assert get(store, new) == before
    # It counts under no cap, and is not what the next request of the call gets.
    caps = PendingCaps(per_run=1, per_principal=1, per_tenant=1)
    again = store.open(new_approval(call_id="1"), caps).kind
    assert again == ("rejected" if how == "rejected" else "opened")


@pytest.mark.parametrize(("how", "state"), ENDINGS)
def test_the_genuine_votes_of_an_ended_approval_yield_no_permit_when_its_row_is_put_back(
    sql_case: SqlCase, treasury_engines: dict[str, Engine], how: str, state: ApprovalState
) -> None:
    treasury = Treasury(engine=treasury_engines["embedded"], store=sql_case.store)
    guard = treasury.guard()
    approval_id = treasury.held(guard)
    treasury.vote(approval_id)
    record = treasury.record(approval_id)
    if how == "erased":
        assert sql_case.store.erase("acme", approval_id)
        sql_case.sql("UPDATE aioc_approvals SET payload = :payload", payload=record.payload)
    else:
        event = {"revoked": E.REVOKE, "dismissed": E.DISMISS, "expired": E.EXPIRE}[how]
        assert sql_case.store.end("acme", approval_id, event, "p-tess", "why").moved
    sql_case.put_back(approval_id, S.APPROVED)
    assert treasury.record(approval_id).state is state
    outcome = guard.authorize_resume(approval_id, principal=CALL["principal"], run_context=CALL["run_context"])
    expected = {S.REVOKED: "approval_revoked", S.EXPIRED: "approval_expired", S.DISMISSED: "approval_unavailable"}
    assert outcome.code == expected[state]  # type: ignore[union-attr] # a denial
    assert treasury.effects == []


def test_the_permit_of_an_approval_that_is_revoked_meanwhile_runs_nothing(
    sql_case: SqlCase, treasury_engines: dict[str, Engine]
) -> None:
    treasury = Treasury(engine=treasury_engines["embedded"], store=sql_case.store)
    guard = treasury.guard()
    approval_id = treasury.held(guard)
    treasury.vote(approval_id)
    allowed = guard.authorize_resume(approval_id, principal=CALL["principal"], run_context=CALL["run_context"])
    assert sql_case.store.end("acme", approval_id, E.REVOKE, "p-tess", "why").moved
    sql_case.put_back(approval_id, S.APPROVED)
    assert guard.execute(allowed.permit).code == "approval_revoked"  # type: ignore[union-attr] # an allowed one
    assert treasury.effects == []


def test_of_a_revocation_and_a_use_at_once_exactly_one_wins(store: ApprovalStore) -> None:
    for number in range(6):
        new = approved(store, call_id=str(number))
        intent = intent_for(new)
        store.intend(intent)
        ready = threading.Barrier(4)
        won: list[str] = []

        def go(name: str, step: Callable[[], bool], ready: threading.Barrier = ready, won: list[str] = won) -> None:
            ready.wait(30)
            if step():
                won.append(name)

        def revoke(approval_id: str = new.approval_id) -> bool:
            return store.end("acme", approval_id, E.REVOKE, "p-lee", "why").moved

        def dismiss(approval_id: str = new.approval_id) -> bool:
            return store.end("acme", approval_id, E.DISMISS, "p-lee", "why").moved

        def use(intent: object = intent) -> bool:
            return store.consume(intent).moved  # type: ignore[arg-type] # bound early, for this turn

        other = replace(intent, execution_id="f" * 31 + str(number))
        store.intend(other)
        steps = [("revoked", revoke), ("dismissed", dismiss), ("consumed", use)]
        threads = [threading.Thread(target=go, args=step) for step in steps]
        threads.append(threading.Thread(target=go, args=("consumed", lambda other=other: store.consume(other).moved)))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert won == [str(get(store, new).state)]


def test_an_end_that_somebody_else_has_written_first_moves_nothing_and_keeps_no_vote(
    sql_case: SqlCase, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, new = sql_case.store, opened(sql_case.store, "1")
    monkeypatch.setattr("aioc_opa.approvals.sql_base.write_ending", lambda _: select(literal(1)).where(false()))
    assert not store.end("acme", new.approval_id, E.DISMISS, "p-lee", "why").moved
    assert not store.vote("acme", new.approval_id, signed_vote(), lambda _: E.REJECT).moved
    assert (get(store, new).state, get(store, new).votes) == (S.PENDING, ())
