"""Forgery at the level of one vote (design 3.5): what the store holds counts only as it was signed."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import rfc8785

from aioc_opa.approvals.keys import AuthorityHolder, SigningKey, VoteKeys
from aioc_opa.approvals.votes import VoteForgedError, verified_votes
from aioc_opa.core.approvals.digests import terms_digest
from aioc_opa.core.approvals.vote_text import statement_text
from aioc_opa.errors import VoteRefusedError
from aioc_opa.models.approval_bindings import ApprovalBindings
from aioc_opa.models.approval_vote_statement import SignedVote, VoteStatement
from tests.approvals.signed_votes import signed
from tests.approvals.vote_cases import (
    ANN,
    ANNS_KEY,
    AUTHORITY,
    BINDINGS,
    BOB,
    CREATED,
    KEYS,
    TERMS,
    TTL,
    request,
)  # fmt: skip

if TYPE_CHECKING:
    from aioc_opa.approvals.records import ApprovalRecord


GROUP_ORDER = 2**252 + 27742317777372353535851937790883648493  # RFC 8032 section 5.1


def resigned(vote: SignedVote, key: SigningKey = AUTHORITY, **changes: Any) -> SignedVote:
    """What a holder of `key` can make who does not keep to `sign_vote`."""
    text = rfc8785.dumps({**json.loads(vote.statement), **changes}).decode()
    return SignedVote(statement=text, key_id=key.key_id, signature=key.sign(text.encode()))


def code_of(record: ApprovalRecord, keys: VoteKeys = KEYS) -> str:
    with pytest.raises(VoteForgedError) as forged:
        verified_votes(record, keys=keys)
    assert "canary" not in str(forged.value)
    return forged.value.code


def test_a_vote_carries_voter_roles_time_verdict_reason_expiry_and_every_binding() -> None:
    record = request()
    vote = signed(record, ANN, verdict="rejected", reason="no receipt")
    (found,) = verified_votes(replace(record, votes=(vote,)), keys=KEYS)
    assert found == VoteStatement(
        approval_id=record.approval_id,
        bindings=BINDINGS,
        person_id="ann",
        roles=("finance", "on_call"),
        verdict="rejected",
        reason="no receipt",
        at="2026-07-14T03:33:20.005Z",
        expires_at="2026-07-14T03:48:20.000Z",
        key_id="authority-1",
    )
    assert vote.statement == statement_text(found)


def test_votes_come_back_in_their_order_and_a_record_without_votes_has_none() -> None:
    record = request()
    votes = (signed(record, BOB), signed(record, ANN))
    assert [one.person_id for one in verified_votes(replace(record, votes=votes), keys=KEYS)] == ["bob", "ann"]
    assert verified_votes(record, keys=KEYS) == ()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"personId":"bob"', '"personId":"ann"'),
        ('"verdict":"rejected"', '"verdict":"approved"'),
        ('"roles":["legal"]', '"roles":["finance","legal"]'),
        ('"reason":"seen"', '"reason":"Seen"'),
        ("03:33:20.005Z", "03:33:20.006Z"),
        ("03:48:20.000Z", "23:48:20.000Z"),
    ],
)
def test_an_edited_statement_is_refused(old: str, new: str) -> None:
    vote = signed(verdict="rejected")
    assert old in vote.statement
    edited = vote.model_copy(update={"statement": vote.statement.replace(old, new)})
    assert code_of(request(votes=(edited,))) == "signature_invalid"


def test_a_signature_over_other_bytes_is_refused() -> None:
    one, other = signed(), signed(person=ANN)
    swapped = one.model_copy(update={"signature": other.signature})
    assert code_of(request(votes=(swapped,))) == "signature_invalid"
    hashed = one.model_copy(update={"signature": AUTHORITY.sign(one.statement.encode() + b"\n")})
    assert code_of(request(votes=(hashed,))) == "signature_invalid"


def test_a_vote_copied_to_another_approval_is_refused() -> None:
    other = request(approval_id="apr_" + "2" * 32)
    assert code_of(replace(other, votes=(signed(request()),))) == "bound_to_another"


def changed_binding(name: str) -> ApprovalBindings:
    value = getattr(BINDINGS, name)
    if name == "on_behalf_of":
        new: Any = ("dave",)
    elif name in {"proposal_hash", "tool_digest"}:
        new = "f" * 64
    else:
        new = f"{value}x"
    return BINDINGS.model_copy(update={name: new})


@pytest.mark.parametrize(
    "name", [name for name in ApprovalBindings.model_fields if name not in {"terms_digest", "tenant"}]
)
def test_a_vote_counts_for_no_record_with_another_binding(name: str) -> None:
    vote = signed()
    assert code_of(request(bindings=changed_binding(name), votes=(vote,))) == "bound_to_another"


@pytest.mark.parametrize("name", ["tool_version", "identity", "tenant", "on_behalf_of", "run_started_by"])
def test_a_binding_that_is_taken_away_is_another_binding(name: str) -> None:
    vote = signed()
    bare = BINDINGS.model_copy(update={name: None})
    tenant = "" if name == "tenant" else "acme"
    assert code_of(request(bindings=bare, tenant=tenant, votes=(vote,))) == "bound_to_another"


def test_a_row_moved_to_another_tenant_is_refused_with_or_without_its_binding() -> None:
    vote = signed()
    assert code_of(request(tenant="globex", votes=(vote,))) == "record_inconsistent"
    moved = changed_binding("tenant")
    assert code_of(request(tenant="acmex", bindings=moved, votes=(vote,))) == "bound_to_another"


def test_edited_terms_are_refused_with_or_without_their_digest() -> None:
    vote = signed()
    easier = TERMS.model_copy(update={"separation_of_duties": False})
    assert code_of(request(terms=easier, votes=(vote,))) == "record_inconsistent"
    bindings = BINDINGS.model_copy(update={"terms_digest": terms_digest(easier)})
    assert code_of(request(terms=easier, bindings=bindings, votes=(vote,))) == "bound_to_another"


def test_an_edited_expiry_is_refused_with_or_without_the_creation() -> None:
    vote = signed()
    later = CREATED + TTL * 1000 + 1
    assert code_of(request(expires_at_ms=later, votes=(vote,))) == "record_inconsistent"
    assert code_of(request(created_at_ms=CREATED + 1, expires_at_ms=later, votes=(vote,))) == "bound_to_another"


@pytest.mark.parametrize("time", [None, "1", 1.0, 10**18, -(10**18)])
def test_a_time_that_is_none_is_refused_as_the_edited_row_that_it_is(time: Any) -> None:
    assert code_of(request(created_at_ms=time)) == "record_inconsistent"
    assert code_of(request(expires_at_ms=time)) == "record_inconsistent"


@pytest.mark.parametrize("at", ["2026-07-14T03:33:19.999Z", "2026-07-14T03:48:20.000Z", "2027-01-01T00:00:00.000Z"])
def test_a_vote_from_before_the_request_or_from_its_expiry_on_is_refused(at: str) -> None:
    assert code_of(request(votes=(resigned(signed(), at=at),))) == "outside_lifetime"


@pytest.mark.parametrize(
    "at",
    ["2026-07-14T03:33:20.005+00:00", "2026-07-14T03:33:21Z", "2026-07-14T03:33:20.0050Z", "yesterday, about noon"],
)
def test_a_time_has_one_way_to_be_written(at: str) -> None:
    assert code_of(request(votes=(resigned(signed(), at=at),))) == "statement_invalid"


def test_a_vote_by_a_rotated_out_key_is_refused_however_old_it_is() -> None:
    record = request(votes=(signed(),))
    keys = VoteKeys([AUTHORITY.public_entry()])
    assert len(verified_votes(record, keys=keys)) == 1
    successor = SigningKey.generate(key_id="authority-2")
    keys.replace([AUTHORITY.public_entry(), successor.public_entry()])
    assert len(verified_votes(record, keys=keys)) == 1
    keys.replace([successor.public_entry()])
    assert code_of(record, keys) == "key_unknown"


def test_a_new_key_under_the_old_id_does_not_take_over_old_votes() -> None:
    keys = VoteKeys([SigningKey.generate(key_id="authority-1").public_entry()])
    assert code_of(request(votes=(signed(),)), keys) == "signature_invalid"


@pytest.mark.parametrize(
    "key_id", ["Authority-1", "authority-1 ", "authority-l", "AUTHORITY-1", "authority_1", "authority-1:"]
)
def test_a_look_alike_key_id_is_another_key(key_id: str) -> None:
    vote = signed().model_copy(update={"key_id": key_id})
    assert code_of(request(votes=(vote,))) == "key_unknown"


def test_the_key_inside_the_statement_must_be_the_one_that_verifies_it() -> None:
    vote = resigned(signed(), keyId="ann-1")
    assert code_of(request(votes=(vote,))) == "bound_to_another"


def test_a_persons_key_votes_for_that_person_only() -> None:
    vote = resigned(signed(person=BOB), ANNS_KEY, keyId="ann-1", roles=["finance"])
    assert code_of(request(votes=(vote,))) == "key_not_for_voter"
    with pytest.raises(VoteRefusedError, match="key_not_for_voter"):
        signed(person=BOB, key=ANNS_KEY)


def test_a_persons_key_carries_registered_roles_only() -> None:
    assert code_of(request(votes=(signed(person=ANN, key=ANNS_KEY),))) == "role_not_registered"
    vote = signed(person=ANN, key=ANNS_KEY, keys=KEYS)
    (found,) = verified_votes(request(votes=(vote,)), keys=KEYS)
    assert found.roles == ("finance",)


def test_the_authority_signs_for_any_person_with_all_their_roles() -> None:
    vote = signed(person=ANN, keys=KEYS)
    (found,) = verified_votes(request(votes=(vote,)), keys=KEYS)
    assert found.roles == ("finance", "on_call")


def test_a_persons_key_does_not_become_the_authoritys_by_saying_so() -> None:
    """Whose a key is stands in the set of public keys, not in the file of the private one or in a statement."""
    pretender = SigningKey(b"a" * 32, key_id="ann-1", holder=AuthorityHolder())
    assert code_of(request(votes=(signed(person=BOB, key=pretender),))) == "key_not_for_voter"


def test_a_genuine_signature_over_a_text_that_is_no_canonical_statement_is_refused() -> None:
    vote = signed()
    for text in (
        json.dumps(json.loads(vote.statement)),
        vote.statement.replace('"personId":"bob"', '"personId":"bob","personId":"bob"'),
        vote.statement.replace('"personId":"bob"', '"personId":1'),
        vote.statement.replace('"roles":["legal"]', '"roles":"legal"'),
        vote.statement.replace("approval-vote/1", "approval-vote/2"),
        '{"type":"something else"}',
    ):
        forged = SignedVote(statement=text, key_id="authority-1", signature=AUTHORITY.sign(text.encode()))
        assert code_of(request(votes=(forged,))) == "statement_invalid"


def base64_of(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def test_no_signature_can_be_turned_into_another() -> None:
    vote = signed()
    raw = base64.b64decode(vote.signature)
    s = int.from_bytes(raw[32:], "little")
    last = vote.signature[-3]
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    variants = {
        "S plus the group's order": base64_of(raw[:32] + (s + GROUP_ORDER).to_bytes(32, "little")),
        "unused bits of base64": vote.signature[:-3] + alphabet[alphabet.index(last) | 1] + "==",
        "url alphabet": base64.urlsafe_b64encode(b"\xff" * 64).decode(),
        "cut": base64_of(raw[:63]),
        "longer": base64_of(raw + b"\0"),
        "empty": "",
        "blank": vote.signature + " ",
        "line end": vote.signature + "\n",
        "no padding": vote.signature.rstrip("="),
        "not ASCII": "\u00e9" * 88,
        "zeros": base64_of(bytes(64)),
    }
    for name, signature in variants.items():
        assert signature != vote.signature, name
        forged = vote.model_copy(update={"signature": signature})
        assert code_of(request(votes=(forged,))) == "signature_invalid", name


def test_a_statement_that_is_no_unicode_is_refused() -> None:
    forged = signed().model_copy(update={"statement": "\ud800"})
    assert code_of(request(votes=(forged,))) == "signature_invalid"


def test_one_forged_vote_spoils_all_the_genuine_ones() -> None:
    record = request()
    good = (signed(record, ANN), signed(record, BOB))
    bad = good[0].model_copy(update={"signature": good[1].signature})
    for votes in ((bad, *good), (good[0], bad, good[1]), (*good, bad)):
        assert code_of(replace(record, votes=votes)) == "signature_invalid"


def test_the_message_says_which_vote_and_no_value() -> None:
    record = request()
    bad = signed(record, ANN, reason="canary-reason").model_copy(update={"key_id": "gone"})
    with pytest.raises(VoteForgedError, match="vote 2: its key is not among") as forged:
        verified_votes(replace(record, votes=(signed(record), bad)), keys=KEYS)
    assert "canary" not in str(forged.value)


# What a voter's side refuses to sign
