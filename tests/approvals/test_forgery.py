"""Whoever can write to the database makes no grant: "it is done when" 4 of issue 4, on both stores, with real signatures."""

from __future__ import annotations

import json
from typing import Any

import pytest

from aioc_opa import Principal
from aioc_opa.core.approvals.digests import terms_digest
from aioc_opa.core.approvals.states import ApprovalState
from aioc_opa.errors import ApprovalStoreError, VoteRefusedError
from tests.approvals.forger import TWO, Forger
from tests.approvals.treasury import KIM


def test_edited_the_state_alone_approves_nothing(forger: Forger) -> None:
    approval_id = forger.desk.held()
    forger.claim_approved(approval_id)
    forger.refused(approval_id)


def test_edited_a_rejection_is_not_turned_into_an_approval(forger: Forger) -> None:
    approval_id = forger.desk.held()
    forger.treasury.vote(approval_id, verdict="rejected")
    forger.claim_approved(approval_id)
    forger.refused(approval_id, "approval_rejected")


def test_edited_terms_do_not_lower_what_an_approval_takes(forger: Forger) -> None:
    approval_id = forger.desk.held(TWO)
    forger.treasury.vote(approval_id)
    terms = json.loads(forger.column(approval_id, "terms"))
    for requirement in terms["requirements"]:
        requirement["quorum"] = 1
    forger.set(approval_id, terms=json.dumps(terms))
    forger.claim_approved(approval_id)
    forger.refused(approval_id)


def test_edited_terms_with_the_digest_that_goes_with_them_are_not_those_that_were_voted_on(forger: Forger) -> None:
    approval_id = forger.desk.held(TWO)
    forger.treasury.vote(approval_id)
    record = forger.treasury.record(approval_id)
    lower = record.terms.model_copy(
        update={"requirements": tuple(each.model_copy(update={"quorum": 1}) for each in record.terms.requirements)}
    )
    bindings = record.bindings.model_copy(update={"terms_digest": terms_digest(lower)})
    forger.set(
        approval_id,
        terms=lower.model_dump_json(by_alias=True, exclude_none=True),
        bindings=bindings.model_dump_json(by_alias=True, exclude_none=True),
    )
    forger.claim_approved(approval_id)
    forger.desk.refuses(forger.desk.authorize_resume(approval_id).code, approval_id)
    assert forger.desk.authorize_resume(approval_id).code in {"approval_binding_mismatch", "approval_unavailable"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("proposalHash", "f" * 64),
        ("runId", "run-2"),
        ("callId", "call-2"),
        ("agentName", "another"),
        ("toolName", "close_books"),
        ("toolVersion", "2"),
        ("toolDigest", "f" * 64),
        ("identity", "theo"),
        ("tenant", "other"),
        ("onBehalfOf", ["vic"]),
        ("runStartedBy", "vic"),
        ("policyRevision", '{"local":"sha256:0"}'),
        ("termsDigest", "f" * 64),
    ],
)
def test_edited_bindings_are_not_those_that_were_voted_on(forger: Forger, name: str, value: Any) -> None:
    approval_id = forger.desk.approved()
    bindings = json.loads(forger.column(approval_id, "bindings"))
    assert bindings.get(name) != value
    forger.set(approval_id, bindings=json.dumps({**bindings, name: value}, separators=(",", ":"), sort_keys=True))
    who = KIM
    if name == "identity":
        who = Principal(identity="theo", tenant="acme")
    elif name == "onBehalfOf":
        who = KIM.model_copy(update={"on_behalf_of": ("vic",)})
    outcome = forger.desk.authorize_resume(approval_id, principal=who)
    assert outcome.code in {"approval_binding_mismatch", "approval_unavailable"}
    forger.refused(approval_id, outcome.code, principal=who)


def test_edited_payload_is_not_the_call_that_was_approved(forger: Forger) -> None:
    approval_id = forger.desk.approved()
    payload = json.loads(forger.column(approval_id, "payload"))
    payload["rawArguments"] = '{"to": "MALLORY", "amount": 500}'
    forger.set(approval_id, payload=json.dumps(payload))
    forger.refused(approval_id)


def test_edited_canonical_text_shows_a_reviewer_nothing_that_can_be_approved(forger: Forger) -> None:
    approval_id = forger.desk.held()
    payload = json.loads(forger.column(approval_id, "payload"))
    payload["argsCanonicalJson"] = '{"amount":1,"to":"A7"}'
    forger.set(approval_id, payload=json.dumps(payload))
    with pytest.raises(VoteRefusedError) as caught:
        forger.treasury.signed(approval_id, "tess")
    assert caught.value.code == "approval_inconsistent"


@pytest.mark.parametrize("payload", ["", "{}", "[]", "no JSON", '{"rawArguments": 1}', None])
def test_edited_payload_that_is_no_call_is_unavailable(forger: Forger, payload: str | None) -> None:
    approval_id = forger.desk.approved()
    forger.set(approval_id, payload=payload)
    forger.refused(approval_id, "approval_unavailable")


def test_edited_expiry_does_not_let_an_approval_live_longer(forger: Forger) -> None:
    approval_id = forger.desk.approved()
    record = forger.treasury.record(approval_id)
    forger.set(approval_id, expires_at_ms=record.expires_at_ms + 3_600_000)
    forger.refused(approval_id)
    forger.set(approval_id, created_at_ms=record.created_at_ms + 3_600_000)
    forger.refused(approval_id)


def test_edited_requesters_do_not_let_the_requester_approve(forger: Forger) -> None:
    approval_id = forger.desk.held()
    forger.set(approval_id, requesters="[]")
    with pytest.raises(VoteRefusedError) as caught:
        forger.treasury.vote(approval_id, "kim")
    assert caught.value.code == "requester_may_not_vote"
    forger.claim_approved(approval_id, forger.treasury.signed(approval_id, "kim"))
    forger.refused(approval_id)


def test_edited_tenant_makes_the_approval_nobodys(forger: Forger) -> None:
    approval_id = forger.desk.approved()
    forger.set(approval_id, tenant="other")
    forger.refused(approval_id, "approval_unavailable")
    forger.refused(approval_id, principal=Principal(identity="kim", tenant="other", roles=("clerk",)))


@pytest.mark.parametrize("column", ["state", "bindings", "terms", "reasons", "requesters"])
def test_edited_into_something_unreadable_is_unavailable(forger: Forger, column: str) -> None:
    approval_id = forger.desk.approved()
    forger.set(approval_id, **{column: "nonsense"})
    forger.refused(approval_id, "approval_unavailable")


# Swapped and copied rows.


def test_swapped_payloads_of_two_approved_requests_run_neither(forger: Forger) -> None:
    first, second = forger.desk.approved(), forger.desk.approved('{"to": "B8", "amount": 900}', call_id="call-2")
    one, two = forger.column(first, "payload"), forger.column(second, "payload")
    forger.set(first, payload=two)
    forger.set(second, payload=one)
    forger.refused(first)
    forger.refused(second)


def test_copied_votes_of_an_approved_request_do_not_approve_another_one(forger: Forger) -> None:
    good = forger.desk.approved()
    other = forger.desk.held('{"to": "MALLORY", "amount": 900}', call_id="call-2")
    forger.claim_approved(other, *forger.treasury.record(good).votes)
    forger.refused(other)


def test_copied_votes_do_not_approve_the_same_call_once_more(forger: Forger) -> None:
    good = forger.desk.approved()
    assert forger.desk.resume(good) == "moved 500.0 to A7"
    forger.desk.ran.clear()
    again = forger.desk.held()
    assert again != good
    forger.claim_approved(again, *forger.treasury.record(good).votes)
    forger.refused(again)


def test_one_copied_vote_spoils_even_a_request_that_was_really_approved(forger: Forger) -> None:
    good = forger.desk.approved()
    other = forger.desk.approved('{"to": "B8", "amount": 900}', call_id="call-2")
    forger.insert_vote(other, forger.treasury.record(good).votes[0])
    forger.refused(other)


def test_a_copied_row_under_another_id_is_refused_with_its_votes(forger: Forger) -> None:
    good = forger.desk.approved()
    assert forger.desk.resume(good) == "moved 500.0 to A7"
    forger.desk.ran.clear()
    copy = "apr_" + "c" * 32
    names = (
        "tenant, state, run_id, identity, proposal_hash, bindings_digest, bindings, terms, requesters, reason, "
        "reasons, payload, created_at_ms, expires_at_ms"
    )
    forger.case.sql(
        f"INSERT INTO aioc_approvals (approval_id, {names}) SELECT :copy, {names} "  # noqa: S608 - our own names
        "FROM aioc_approvals WHERE approval_id = :id",
        copy=copy,
        id=good,
    )
    forger.claim_approved(copy, *forger.treasury.record(good).votes)
    forger.refused(copy)


# Replayed and restored rows.


def test_a_replayed_vote_counts_once(forger: Forger) -> None:
    approval_id = forger.desk.held(TWO)
    vote = forger.treasury.vote(approval_id).votes[0]
    with pytest.raises(VoteRefusedError) as caught:
        forger.treasury.broker.cast("acme", approval_id, vote)
    assert caught.value.code == "already_voted"
    forger.claim_approved(approval_id, vote)
    forger.refused(approval_id)


@pytest.mark.parametrize("state", [ApprovalState.APPROVED, ApprovalState.PENDING])
def test_a_restored_row_is_consumed_while_its_consumption_stands(forger: Forger, state: ApprovalState) -> None:
    approval_id = forger.desk.approved()
    assert forger.desk.resume(approval_id) == "moved 500.0 to A7"
    forger.desk.ran.clear()
    forger.case.put_back(approval_id, state)
    forger.refused(approval_id, "approval_consumed")


def test_a_row_restored_between_permit_and_effect_is_consumed(forger: Forger) -> None:
    approval_id = forger.desk.approved()
    first, second = forger.desk.authorize_resume(approval_id), forger.desk.authorize_resume(approval_id)
    assert forger.desk.execute(first.permit) == "moved 500.0 to A7"
    forger.case.put_back(approval_id, ApprovalState.APPROVED)
    assert forger.desk.execute(second.permit).code == "approval_consumed"
    assert forger.desk.ran == [("A7", 500.0)]


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM aioc_approval_consumptions",
        "UPDATE aioc_approval_consumptions SET approval_id = 'apr_x'",
        "DELETE FROM aioc_approval_votes",
        "UPDATE aioc_approval_votes SET statement = '{}'",
        "DELETE FROM aioc_call_claims",
        "DELETE FROM aioc_effect_intents",
        "DELETE FROM aioc_effect_ends",
    ],
)
def test_what_must_not_be_undone_cannot_be_deleted_or_updated(forger: Forger, statement: str) -> None:
    approval_id = forger.desk.approved()
    assert forger.desk.resume(approval_id) == "moved 500.0 to A7"
    assert forger.desk.call("balance", "{}") == "42"
    forger.desk.ran.clear()
    with pytest.raises(ApprovalStoreError):
        forger.case.sql(statement)
    forger.case.put_back(approval_id, ApprovalState.APPROVED)
    forger.refused(approval_id, "approval_consumed")
    assert forger.desk.call("balance", "{}").code == "call_already_executed"


# Votes.
