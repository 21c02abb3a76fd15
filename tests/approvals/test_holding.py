"""From a held call to one pending request: one a call, capped, and never asked again once rejected (issue 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa import Principal, RunContext, ToolRegistrationError
from aioc_opa.approvals.broker import ApprovalBroker
from aioc_opa.approvals.records import PendingCaps
from aioc_opa.core.reasons import Reason
from aioc_opa.errors import ApprovalStoreError, ConfigurationError, ToolCallApprovalRequiredError
from aioc_opa.models.outcome import Denied, Suspended
from tests.approvals.desk import Desk, Watched
from tests.approvals.treasury import KIM, Treasury
from tests.doubles import ScriptedEngine, holding

if TYPE_CHECKING:
    from aioc_opa.approvals.store import ApprovalStore
    from aioc_opa.engines.protocol import Engine
    from tests.approvals.store_cases import SqlCase


UNAVAILABLE = Reason.APPROVAL_UNAVAILABLE


@pytest.fixture
def anywhere(store: ApprovalStore, treasury_engines: dict[str, Engine], engine_name: str) -> Desk:
    """A desk on each store and each engine."""
    return Desk(Treasury(engine=treasury_engines[engine_name], store=store))


def denied(desk: Desk, reason: str = UNAVAILABLE, **options: Any) -> None:
    outcome = desk.authorize(**options)
    assert isinstance(outcome, Denied), outcome
    assert (outcome.code, outcome.audit_code) == (reason, reason)
    assert desk.ran == []


def pending(desk: Desk) -> int:
    return len(desk.treasury.broker.find(None))


# One request a call.


def test_the_same_call_of_the_same_run_returns_the_pending_one(anywhere: Desk) -> None:
    first, again = anywhere.authorize(), anywhere.authorize(arguments='{"amount": 500.0, "to": "A7"}')
    assert isinstance(again, Suspended)
    assert again.approval_id == first.approval_id
    assert pending(anywhere) == 1


def test_the_same_call_returns_the_approved_one_which_only_resume_uses(anywhere: Desk) -> None:
    approval_id = anywhere.approved()
    assert anywhere.held() == approval_id
    assert anywhere.call().status == "approval_required"
    assert anywhere.ran == []
    assert anywhere.resume(approval_id) == "moved 500.0 to A7"


@pytest.mark.parametrize(
    "options",
    [
        {"call_id": "call-2"},
        {"agent_name": "another"},
        {"arguments": '{"to": "A7", "amount": 501}'},
        {"run_context": RunContext(run_id="run-2", context={"frozen": False})},
        {"principal": Principal(identity="vic", tenant="acme")},
        {"run_started_by": "vic"},
    ],
    ids=["call", "agent", "arguments", "run", "principal", "started-by"],
)
def test_anything_else_gets_its_own(desk: Desk, options: dict[str, Any]) -> None:
    assert desk.held() != desk.held(**options)
    assert pending(desk) == 2


def test_ids_that_the_runtime_makes_are_no_two_calls_the_same(desk: Desk) -> None:
    context = RunContext(context={"frozen": False})
    assert desk.held(call_id=None, run_context=context) != desk.held(call_id=None, run_context=context)


def test_the_proposal_is_rfc_0015s_and_ends_when_the_approval_does(anywhere: Desk) -> None:
    outcome = anywhere.authorize(turn=2)
    record = anywhere.treasury.record(outcome.approval_id)
    proposal = outcome.proposal.model_dump(by_alias=True, exclude_none=True)
    assert proposal["parsedArguments"] == {"amount": 500.0, "to": "A7"}
    assert proposal["rawArguments"] == '{"to": "A7", "amount": 500}'
    assert (proposal["runId"], proposal["callId"], proposal["turn"]) == ("run-1", "call-1", 2)
    assert proposal["proposalHash"] == record.bindings.proposal_hash == outcome.question.proposal_hash
    assert record.expires_at_ms - record.created_at_ms == proposal["approval"]["ttlSeconds"] * 1000
    assert record.requesters == ("p-kim",)
    with pytest.raises(ToolCallApprovalRequiredError) as caught:
        Desk(anywhere.treasury, result_mode="throw").call(turn=2)
    assert caught.value.suspended.approval_id == outcome.approval_id


# A model cannot wear reviewers down.


def test_a_rejected_hash_stays_rejected_for_its_run_and_in_no_other(anywhere: Desk) -> None:
    approval_id = anywhere.held()
    anywhere.treasury.vote(approval_id, verdict="rejected")
    for options in ({}, {"call_id": "call-2"}, {"turn": 5}):
        denied(anywhere, Reason.APPROVAL_REJECTED, **options)
    anywhere.held(run_context=RunContext(run_id="run-2", context={"frozen": False}))
    anywhere.held('{"to": "A7", "amount": 501}')


@pytest.mark.parametrize(
    ("caps", "other"),
    [
        (PendingCaps(per_run=1), {"run_context": RunContext(run_id="run-2", context={"frozen": False})}),
        (PendingCaps(per_principal=1), {"principal": Principal(identity="vic", tenant="acme")}),
        (PendingCaps(per_tenant=1), {"principal": Principal(identity="kim", tenant="other")}),
    ],
    ids=["run", "principal", "tenant"],
)
def test_a_full_cap_denies_until_something_is_decided(anywhere: Desk, caps: PendingCaps, other: dict[str, Any]) -> None:
    treasury = anywhere.treasury
    treasury.broker = ApprovalBroker(treasury.store, keys=treasury.keys, people=treasury.directory, caps=caps)
    desk = Desk(treasury)
    first = desk.held()
    denied(desk, call_id="call-2")
    assert desk.held() == first  # the same call is no second request
    desk.held(**other)
    treasury.vote(first)
    desk.held(call_id="call-3")


# What nobody could ever approve.


def test_without_a_policy_revision_no_approval_can_be_made(store: ApprovalStore, kind: str) -> None:
    desk = Desk(Treasury(engine=ScriptedEngine(holding, revision=None), store=store), kind)
    denied(desk)
    assert pending(desk) == 0


def test_a_requester_whom_nobody_knows_could_be_a_voter(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    stranger = Principal(identity="CANARY-stranger", tenant="acme")
    denied(desk, principal=stranger)
    denied(desk, principal=KIM.model_copy(update={"on_behalf_of": ("CANARY-stranger",)}))
    denied(desk, run_started_by="CANARY-stranger")
    assert "CANARY" not in caplog.text
    assert "no person and no service of the directory" in caplog.text
    # Where the requester may approve, it does not matter who that is.
    assert desk.authorize("close_books", "{}", principal=stranger).approval_id is not None


def test_without_a_principal_separation_of_duties_has_nobody_to_keep_apart(desk: Desk) -> None:
    denied(desk, principal=None)
    assert desk.authorize("close_books", "{}", principal=None).approval_id is not None
    assert [record.tenant for record in desk.treasury.broker.find("")] == [""]


@pytest.mark.parametrize("error", [ApprovalStoreError("down"), RuntimeError("CANARY"), MemoryError()])
def test_a_store_that_is_down_denies(
    treasury: Treasury, kind: str, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    watched = Watched(treasury.store)
    treasury.broker = ApprovalBroker(watched, keys=treasury.keys, people=treasury.directory)  # type: ignore[arg-type] # all of a store
    desk = Desk(treasury, kind)
    approval_id = desk.approved()
    watched.failing = dict.fromkeys(("open", "get"), error)
    denied(desk, call_id="call-2")
    desk.refuses(UNAVAILABLE, approval_id)
    assert "CANARY" not in caplog.text


def test_a_closed_store_denies(sql_case: SqlCase, treasury_engines: dict[str, Engine]) -> None:
    desk = Desk(Treasury(engine=treasury_engines["embedded"], store=sql_case.again()))
    approval_id = desk.approved()
    desk.treasury.store.close()
    denied(desk, call_id="call-2")
    desk.refuses(UNAVAILABLE, approval_id)


def test_a_name_that_is_too_long_to_be_bound_denies(desk: Desk) -> None:
    long = KIM.model_copy(update={"on_behalf_of": tuple(f"person-{number}" for number in range(2000))})
    outcome = desk.authorize(principal=long)
    assert isinstance(outcome, Denied)
    assert pending(desk) == 0


def test_without_approvals_a_held_call_is_only_proposed(treasury: Treasury, kind: str) -> None:
    desk = Desk(treasury, kind, approvals=None)
    outcome = desk.authorize()
    assert isinstance(outcome, Suspended)
    assert outcome.approval_id is None
    assert "approvalId" not in desk.call().data
    assert pending(desk) == 0


@pytest.mark.parametrize("name", ["approvals", "effects"])
def test_what_is_no_broker_and_no_store_is_refused_at_construction(treasury: Treasury, name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{name} must be something like"):
        Desk(treasury, **{name: "approvals.db"})


def test_once_needs_a_store_that_remembers(treasury: Treasury, kind: str) -> None:
    desk = Desk(treasury, kind, approvals=None)
    with pytest.raises(ToolRegistrationError, match="once needs a store"):
        desk.guard.register_function(lambda: None, name="again", once=True)
    desk = Desk(treasury, kind, approvals=None, effects=treasury.store)
    desk.guard.register_function(lambda: None, name="again", once=True)


# RFC-0015's matrix, rows 6 and 7, across processes: who asks, who approves and who runs share only the database.
