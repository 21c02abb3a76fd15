"""Whoever can write to the database makes no grant: "it is done when" 4 of issue 4, on both stores, with real signatures."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa import Principal
from aioc_opa.approvals.broker import ApprovalBroker
from aioc_opa.approvals.keys import SigningKey, VoteKeys
from aioc_opa.core.approvals.digests import terms_digest
from aioc_opa.core.approvals.states import ApprovalState
from aioc_opa.errors import ApprovalNotFoundError, ApprovalStoreError, VoteRefusedError
from tests.approvals.desk import Desk
from tests.approvals.treasury import CALL, ISSUER, KIM, Treasury

if TYPE_CHECKING:
    from collections.abc import Callable

    from aioc_opa.engines.protocol import Engine
    from aioc_opa.models.approval_vote_statement import SignedVote
    from tests.approvals.store_cases import SqlCase

TWO = '{"to": "A7", "amount": 5000}'


class Forger:
    """Somebody who can do anything to the rows, and nothing else."""

    def __init__(self, case: SqlCase, engine: Engine) -> None:
        self.case = case
        self.treasury = Treasury(engine=engine, store=case.store)
        self.desk = Desk(self.treasury)

    def set(self, approval_id: str, **columns: Any) -> None:
        for column, value in columns.items():
            changed = self.case.sql(
                f"UPDATE aioc_approvals SET {column} = :value WHERE approval_id = :id",  # noqa: S608 - our own names
                value=value,
                id=approval_id,
            )
            assert changed == 1

    def column(self, approval_id: str, column: str) -> Any:
        found = self.case.sql(
            f"SELECT {column} FROM aioc_approvals WHERE approval_id = :id",  # noqa: S608 - our own names
            id=approval_id,
        )
        return found[0]

    def insert_vote(self, approval_id: str, vote: SignedVote) -> None:
        self.case.sql(
            "INSERT INTO aioc_approval_votes (approval_id, statement, key_id, signature, at_ms) "
            "VALUES (:id, :body, :key, :signature, :at)",
            id=approval_id,
            body=vote.statement,
            key=vote.key_id,
            signature=vote.signature,
            at=self.case.store.now_ms(),
        )

    def claim_approved(self, approval_id: str, *votes: SignedVote) -> None:
        for vote in votes:
            self.insert_vote(approval_id, vote)
        self.case.put_back(approval_id, ApprovalState.APPROVED)

    def refused(self, approval_id: str, reason: str = "approval_binding_mismatch", **options: Any) -> None:
        self.desk.refuses(reason, approval_id, **options)
        assert self.desk.ran == []


@pytest.fixture
def forger(sql_case: SqlCase, treasury_engines: dict[str, Engine]) -> Forger:
    return Forger(sql_case, treasury_engines["embedded"])


# Edited rows.


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
