"""What a voter's side refuses to sign."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa.approvals.keys import AccountHolder, SigningKey
from aioc_opa.approvals.people import Person
from aioc_opa.approvals.votes import verified_votes
from aioc_opa.errors import VoteRefusedError
from tests.approvals.signed_votes import signed
from tests.approvals.vote_cases import (
    BINDINGS,
    BOB,
    CREATED,
    KEYS,
    TERMS,
    TTL,
    payload,
    request,
)  # fmt: skip

if TYPE_CHECKING:
    from aioc_opa.approvals.records import ApprovalRecord


def refusal(record: ApprovalRecord, person: Person = BOB, **changes: Any) -> str:
    with pytest.raises(VoteRefusedError) as refused:
        signed(record, person, **changes)
    assert "canary" not in str(refused.value)
    return refused.value.code


def test_nobody_approves_a_hash_alone() -> None:
    assert refusal(request(payload=None)) == "not_shown"
    assert signed(request(payload=None), verdict="rejected")


@pytest.mark.parametrize("stored", [payload('{"amount":1}'), "{}", "canary", '{"argsCanonicalJson":"canary"}'])
def test_nobody_approves_arguments_that_the_hash_is_not_of(stored: str) -> None:
    assert refusal(request(payload=stored)) == "approval_inconsistent"


def test_nobody_signs_a_record_that_contradicts_its_bindings() -> None:
    assert refusal(request(terms=TERMS.model_copy(update={"ttl_seconds": 1}))) == "approval_inconsistent"
    assert refusal(request(tenant="globex"), verdict="rejected") == "approval_inconsistent"
    assert refusal(request(expires_at_ms=CREATED)) == "approval_inconsistent"


@pytest.mark.parametrize("at_ms", [CREATED - 1, CREATED + TTL * 1000, 10**30, CREATED + 0.5, str(CREATED), None])
def test_nobody_signs_outside_the_life_of_a_request(at_ms: Any) -> None:
    assert refusal(request(), at_ms=at_ms) == "outside_lifetime"


@pytest.mark.parametrize("at_ms", [CREATED, CREATED + TTL * 1000 - 1])
def test_the_life_of_a_request_ends_strictly_before_its_expiry(at_ms: int) -> None:
    assert verified_votes(request(votes=(signed(at_ms=at_ms),)), keys=KEYS)


@pytest.mark.parametrize("reason", ["", " \n\t", "canary" * 400, "canary \ud800"])
def test_every_vote_has_a_reason_that_can_be_kept(reason: str) -> None:
    assert refusal(request(), reason=reason) == "vote_invalid"


def test_what_does_not_fit_into_a_statement_is_refused_and_not_cut() -> None:
    assert refusal(request(), Person("bob", frozenset(f"r{n}" for n in range(65)))) == "vote_invalid"
    assert refusal(request(), Person("", frozenset({"legal"}))) == "vote_invalid"
    assert refusal(request(), verdict="maybe") == "vote_invalid"
    wide = Person("bob", frozenset(f"{n:02}" + "\x01" * 126 for n in range(64)))
    revision = BINDINGS.model_copy(update={"policy_revision": "\x01" * 4096})
    assert refusal(request(bindings=revision), wide, reason="\x01" * 1999 + "x") == "vote_invalid"


def test_a_key_that_the_guard_does_not_hold_is_told_before_it_signs() -> None:
    assert refusal(request(), key=SigningKey.generate(), keys=KEYS) == "key_not_registered"
    assert refusal(request(), key=SigningKey.generate(key_id="authority-1"), keys=KEYS) == "key_not_registered"
    stranger = SigningKey.generate(holder=AccountHolder("bob", "i", "s"))
    assert refusal(request(), key=stranger, keys=KEYS) == "key_not_registered"


def test_a_request_without_a_tenant_is_voted_on_like_any_other() -> None:
    record = request(tenant="", bindings=BINDINGS.model_copy(update={"tenant": None}))
    assert verified_votes(replace(record, votes=(signed(record),)), keys=KEYS)
