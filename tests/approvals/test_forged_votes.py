"""Nobody makes a vote count that its voter did not cast for this request: "it is done when" 4 of issue 4, on both stores."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa import Principal
from aioc_opa.approvals.broker import ApprovalBroker
from aioc_opa.approvals.keys import SigningKey, VoteKeys
from aioc_opa.errors import ApprovalNotFoundError, VoteRefusedError
from tests.approvals.desk import Desk
from tests.approvals.forger import TWO, Forger
from tests.approvals.treasury import CALL, ISSUER

if TYPE_CHECKING:
    from collections.abc import Callable

    from aioc_opa.models.approval_vote_statement import SignedVote


def test_a_vote_for_another_request_cannot_be_cast(forger: Forger) -> None:
    first, second = forger.desk.held(), forger.desk.held(call_id="call-2")
    vote = forger.treasury.signed(first, "tess")
    with pytest.raises(VoteRefusedError) as caught:
        forger.treasury.broker.cast("acme", second, vote)
    assert caught.value.code == "vote_not_genuine"
    with pytest.raises(ApprovalNotFoundError):
        forger.treasury.broker.cast("other", first, vote)
    assert forger.treasury.record(second).votes == ()


def test_a_vote_by_a_rotated_out_key_counts_for_nothing(forger: Forger) -> None:
    approval_id = forger.desk.approved()
    rotated = VoteKeys([SigningKey.generate().public_entry()])
    broker = ApprovalBroker(forger.case.store, keys=rotated, people=forger.treasury.directory)
    forger.desk = Desk(forger.treasury, approvals=broker)
    forger.refused(approval_id)
    held = forger.desk.held(call_id="call-2")
    with pytest.raises(VoteRefusedError) as caught:
        broker.cast("acme", held, forger.treasury.signed(held, "tess"))
    assert caught.value.code == "vote_not_genuine"


def test_a_vote_by_a_key_of_the_forgers_own_counts_for_nothing(forger: Forger) -> None:
    approval_id = forger.desk.held()
    vote = forger.treasury.signed(approval_id, "tess", key=SigningKey.generate())
    forger.claim_approved(approval_id, vote)
    forger.refused(approval_id)


@pytest.mark.parametrize(
    "change",
    [
        lambda vote: vote.model_copy(update={"statement": vote.statement.replace("p-tess", "p-theo")}),
        lambda vote: vote.model_copy(update={"statement": vote.statement + " "}),
        lambda vote: vote.model_copy(update={"signature": "A" * 86 + "=="}),
        lambda vote: vote.model_copy(update={"signature": "no signature"}),
    ],
    ids=["voter", "space", "signature", "no-signature"],
)
def test_an_edited_vote_counts_for_nothing(forger: Forger, change: Callable[[SignedVote], SignedVote]) -> None:
    approval_id = forger.desk.held()
    forger.claim_approved(approval_id, change(forger.treasury.signed(approval_id, "tess")))
    outcome = forger.desk.authorize_resume(approval_id)
    assert outcome.code in {"approval_binding_mismatch", "approval_unavailable"}
    forger.refused(approval_id, outcome.code)


def test_a_vote_of_a_person_without_the_role_counts_for_nothing(forger: Forger) -> None:
    approval_id = forger.desk.held()
    with pytest.raises(VoteRefusedError) as caught:
        forger.treasury.vote(approval_id, "vic")
    assert caught.value.code == "role_missing"
    forger.claim_approved(approval_id, forger.treasury.signed(approval_id, "vic"))
    forger.refused(approval_id)


def test_one_person_with_two_accounts_counts_once(forger: Forger) -> None:
    approval_id = forger.desk.held(TWO)
    forger.treasury.vote(approval_id, "tess")
    with pytest.raises(VoteRefusedError) as caught:
        forger.treasury.vote(approval_id, "tess-admin")
    assert caught.value.code == "already_voted"
    assert forger.treasury.record(approval_id).state == "pending"
    forger.claim_approved(approval_id, forger.treasury.signed(approval_id, "tess-admin"))
    forger.refused(approval_id)


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"principal": Principal(identity="tess", tenant="acme")}, id="principal"),
        pytest.param({"principal": Principal(identity="tess-admin", tenant="acme")}, id="principals-other-account"),
        pytest.param(
            {"principal": Principal(identity="support-bot", tenant="acme", on_behalf_of=("vic", "tess"))},
            id="onBehalfOf",
        ),
        pytest.param({"run_started_by": "tess"}, id="runStartedBy"),
    ],
)
def test_the_requester_may_not_approve(forger: Forger, options: dict[str, Any]) -> None:
    approval_id = forger.desk.held(**options)
    with pytest.raises(VoteRefusedError) as caught:
        forger.treasury.vote(approval_id, "tess")
    assert caught.value.code == "requester_may_not_vote"
    forger.claim_approved(approval_id, forger.treasury.signed(approval_id, "tess"))
    who = {"principal": options.get("principal", CALL["principal"])}
    forger.refused(approval_id, **who)
    # Somebody else may: nothing but the requester's vote was in the way.
    other = forger.desk.held(**{**options, "call_id": "call-2"})
    assert forger.treasury.vote(other, "theo").state == "approved"
    assert forger.desk.resume(other, **who) == "moved 500.0 to A7"


def test_a_person_of_another_tenant_may_not_approve(forger: Forger) -> None:
    approval_id = forger.desk.held()
    with pytest.raises(VoteRefusedError) as caught:
        forger.treasury.vote(approval_id, "otto")
    assert caught.value.code == "tenant_not_allowed"
    forger.claim_approved(approval_id, forger.treasury.signed(approval_id, "otto"))
    forger.refused(approval_id)


def test_a_vote_that_claims_a_role_its_person_does_not_hold_is_refused(forger: Forger) -> None:
    approval_id = forger.desk.held()
    vic = forger.treasury.directory.authenticated(ISSUER, "vic")
    promoted = replace(vic, roles=frozenset({"treasurer"}))
    real = forger.treasury.directory

    class Promoting:
        def authenticated(self, *_: Any) -> Any:
            return promoted

    forger.treasury.directory = Promoting()
    vote = forger.treasury.signed(approval_id, "vic")
    forger.treasury.directory = real
    with pytest.raises(VoteRefusedError) as caught:
        forger.treasury.broker.cast("acme", approval_id, vote)
    assert caught.value.code == "role_not_held"
    forger.claim_approved(approval_id, vote)
    forger.refused(approval_id)
