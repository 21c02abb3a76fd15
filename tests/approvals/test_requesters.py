"""Who asked, and who voted, when the directory knows less or says it otherwise (design 3.5, issue 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa import Principal, RunContext
from aioc_opa.approvals.broker import ApprovalBroker
from aioc_opa.approvals.people import Person
from aioc_opa.approvals.votes import sign_vote
from aioc_opa.core.approvals.states import ApprovalEvent
from aioc_opa.core.reasons import Reason
from aioc_opa.errors import VoteRefusedError
from aioc_opa.models.outcome import Allowed, Denied, Suspended
from tests.approvals.desk import Desk
from tests.approvals.treasury import people

if TYPE_CHECKING:
    from tests.approvals.treasury import Treasury

TROUBLE = RunContext(run_id="run-1", context={"frozen": False, "heightened": True})
QUIET = RunContext(run_id="run-1", context={"frozen": False})
MORE_THAN_100 = '{"to": "A7", "amount": 5000}'


class Directory:
    """The treasury's people, told in another way."""

    def __init__(self, *, requester: Any = None, folds: bool = False) -> None:
        self._people = people()
        self._requester = requester
        self._folds = folds

    def authenticated(self, issuer: str, subject: str) -> Person | None:
        return self._people.authenticated(issuer, subject)

    def current(self, person_id: str) -> Person | None:
        return self._people.current(person_id.lower() if self._folds else person_id)

    def requester(self, identity: str, tenant: str | None) -> str | None:
        return self._people.requester(identity, tenant) if self._requester is None else self._requester


def with_directory(treasury: Treasury, directory: Any) -> Desk:
    treasury.directory = directory
    treasury.broker = ApprovalBroker(treasury.store, keys=treasury.keys, people=directory)
    return Desk(treasury)


@pytest.mark.parametrize("who", [Principal(identity="kim-at-home", tenant="acme"), None], ids=["unknown", "nobody"])
def test_a_requester_whom_nobody_knows_does_not_pass_for_separate_from_the_voter(desk: Desk, who: Any) -> None:
    """The terms let the requester vote; by the time of the resume policy asks that nobody decides on a call of their own."""
    treasury = desk.treasury
    approval_id = desk.held("{}", tool="close_books", principal=who)
    tenant = "" if who is None else "acme"
    record = treasury.record(approval_id, tenant)
    treasury.broker.cast(tenant, approval_id, treasury.signed(approval_id, "kim", record=record))
    outcome = desk.authorize_resume(approval_id, principal=who, run_context=TROUBLE)
    assert isinstance(outcome, Denied), outcome
    assert outcome.code == Reason.APPROVAL_BINDING_MISMATCH
    # Where nothing asks for it, as when the votes were cast, it does not matter who asked.
    assert isinstance(desk.authorize_resume(approval_id, principal=who, run_context=QUIET), Allowed)


def test_a_known_requester_who_did_not_vote_is_separate(desk: Desk) -> None:
    approval_id = desk.held("{}", tool="close_books")
    desk.treasury.vote(approval_id)
    assert isinstance(desk.authorize_resume(approval_id, run_context=TROUBLE), Allowed)


@pytest.mark.parametrize("answer", ["", False, 0, b"p-kim", ["p-kim"]])
def test_what_is_no_person_id_is_no_requester(treasury: Treasury, answer: Any) -> None:
    outcome = with_directory(treasury, Directory(requester=answer)).authorize()
    assert isinstance(outcome, Denied), outcome
    assert outcome.code == Reason.APPROVAL_UNAVAILABLE


def test_one_person_under_two_spellings_of_an_id_is_one_voter(treasury: Treasury) -> None:
    """A directory that folds case finds the person under both; only the spelling that it gives back counts."""
    desk = with_directory(treasury, Directory(folds=True))
    approval_id = desk.held(MORE_THAN_100)
    assert treasury.vote(approval_id).state == "pending"
    for other in ("P-Tess", "P-KIM"):
        record = treasury.record(approval_id)
        vote = sign_vote(
            record,
            Person(other, frozenset({"treasurer"})),
            verdict="approved",
            reason="looked at it",
            key=treasury.authority,
            at_ms=treasury.store.now_ms(),
        )
        with pytest.raises(VoteRefusedError) as refused:
            treasury.broker.cast("acme", approval_id, vote)
        assert refused.value.code == "person_unknown"
    assert isinstance(desk.authorize_resume(approval_id), Suspended)


def test_votes_under_two_spellings_that_stand_in_the_store_count_once(treasury: Treasury) -> None:
    desk = with_directory(treasury, Directory(folds=True))
    approval_id = desk.held(MORE_THAN_100)
    for person_id in ("p-tess", "P-Tess"):
        vote = sign_vote(
            treasury.record(approval_id),
            Person(person_id, frozenset({"treasurer"})),
            verdict="approved",
            reason="looked at it",
            key=treasury.authority,
            at_ms=treasury.store.now_ms(),
        )
        treasury.store.vote(
            "acme", approval_id, vote, lambda record: ApprovalEvent.APPROVE if len(record.votes) > 1 else None
        )
    assert treasury.record(approval_id).state == "approved"
    desk.refuses(Reason.APPROVAL_BINDING_MISMATCH, approval_id)
