"""What a reviewer must see, and that nothing is shown that is not what the approval is bound to."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa.core.approvals.review import Review, ReviewRefusedError, canonical_value, review_of
from aioc_opa.core.approvals.review_document import document
from aioc_opa.core.approvals.review_page import GUTTER, duration, page
from aioc_opa.core.approvals.states import ApprovalState
from aioc_opa.core.fingerprint import tool_proposal_hash
from aioc_opa.models.approval_vote_statement import VoteStatement
from tests.approvals.vote_cases import ARGS, BINDINGS, CREATED, TERMS, TTL, payload, request

if TYPE_CHECKING:
    from aioc_opa.approvals.records import ApprovalRecord

NOW = CREATED + 60_000


def held(args: Any, *, raw: str | None = None, **others: Any) -> ApprovalRecord:
    """A request for a call with these canonical arguments, all of it consistent."""
    text = (
        args if isinstance(args, str) else json.dumps(args, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    )
    digest = tool_proposal_hash(agent_name="desk", tool_name="refund", args_canonical_json=text)
    call = {**json.loads(payload()), "argsCanonicalJson": text, "rawArguments": text if raw is None else raw, **others}
    return request(bindings=BINDINGS.model_copy(update={"proposal_hash": digest}), payload=json.dumps(call))


def reviewed(record: ApprovalRecord, *votes: VoteStatement) -> Review:
    return review_of(record, votes, now_ms=NOW)


def vote(person: str, *roles: str, verdict: Any = "approved") -> VoteStatement:
    return VoteStatement(
        approval_id="apr_" + "1" * 32,
        bindings=BINDINGS,
        person_id=person,
        roles=roles,
        verdict=verdict,
        reason="called the customer",
        at="2026-07-13T12:00:00.000Z",
        expires_at="2026-07-13T12:15:00.000Z",
        key_id="k-1",
    )


def text_of(record: ApprovalRecord, *votes: VoteStatement) -> str:
    return "\n".join(page(reviewed(record, *votes)))


def test_the_page_says_what_who_why_until_when_which_policy_and_which_hash() -> None:
    call = {"publicReason": "More than 1,000 needs two.", "metadata": {"limit": 1000}}
    record = held({"amount": 1200, "currency": "EUR", "to": "A7"}, raw='{"to":"A7","amount":"1200","memo":"x"}', **call)
    lines = text_of(record, vote("ann", "finance")).splitlines()
    for expected in (
        "approval apr_11111111111111111111111111111111: pending",
        "│ tool            : refund, version 1.0.0",
        '│ description     : "Pay back"',
        "│ agent           : desk",
        "│ principal       : support-bot",
        "│ tenant          : acme",
        "│ on behalf of    : carol",
        "│ run started by  : carol",
        "│ run             : run-1, call call-1, turn 0",
        "│ held because    : large_refund",
        '│ the policy says : "More than 1,000 needs two."',
        '│ policy revision : "{\\"local\\":\\"sha256:1\\"}"',
        "│ arguments       : the provider's own text",
        "│ expires at      : 2026-07-14T03:48:20.000Z, in 14 min",
        "the action, which is what would run: refund",
        "│ amount: 1200",
        '│ currency: "EUR"',
        "the model asked for something else, in 2 places",
        "│ ~ $.amount",
        '│   asked for: "1200"',
        "│   would run: 1200",
        "left out by the model and filled in by the tool's schema, in 1 place",
        '│ + filled in: $.currency: "EUR"',
        '│ - asked for, but is not in the action: $.memo: "x"',
        "│ limit: 1000",
        "│ large_refund: 2 of finance or legal: not met, 1 so far (ann)",
        "│ requesters may not approve: carol",
        '│ approved by ann (finance) at 2026-07-13T12:00:00.000Z, key k-1: "called the customer"',
        f"hash of the action, agent and tool shown above: {record.bindings.proposal_hash}",
    ):
        assert expected in lines


def test_a_call_that_was_asked_for_exactly_so_says_that_too() -> None:
    assert "the model asked for exactly this" in text_of(request()).splitlines()
    assert "ATTENTION" not in text_of(request())


def test_a_default_is_no_difference_from_what_the_model_asked_for() -> None:
    lines = text_of(held({"amount": 1200, "note": "x"}, raw='{"note": "x"}')).splitlines()
    at = lines.index("the model asked for exactly this, but for what was filled in")
    assert lines[at + 1 : at + 4] == [
        "",
        "left out by the model and filled in by the tool's schema, in 1 place",
        "│ + filled in: $.amount: 1200",
    ]
    assert not any("something else" in line for line in lines)


def test_items_that_were_not_asked_for_are_a_difference() -> None:
    lines = text_of(held({"to": ["A7", "B8"]}, raw='{"to": ["A7"]}')).splitlines()
    assert "the model asked for something else, in 1 place" in lines
    assert '│ + not asked for, but would run: $.to[1]: "B8"' in lines


def test_the_hash_is_computed_from_what_is_displayed_and_must_be_the_bound_one() -> None:
    assert reviewed(request()).computed_hash == BINDINGS.proposal_hash
    for edited in (
        request(payload=payload(ARGS.replace("1200", "12"))),
        request(bindings=BINDINGS.model_copy(update={"agent_name": "other"})),
        request(bindings=BINDINGS.model_copy(update={"tool_name": "other"})),
        request(bindings=BINDINGS.model_copy(update={"proposal_hash": "0" * 64})),
    ):
        with pytest.raises(ReviewRefusedError, match="not those that the approval is bound to") as refusal:
            reviewed(edited)
        assert refusal.value.code == "hash_mismatch"
        assert "canary" not in str(refusal.value)


@pytest.mark.parametrize(
    ("record", "code"),
    [
        (request(payload=None), "arguments_gone"),
        (request(payload="{"), "payload_unreadable"),
        (request(payload="{}"), "payload_unreadable"),
        (held('{"a": 1}'), "payload_unreadable"),
        (held('{"a":1,"a":2}'), "payload_unreadable"),
        (held('{"a":NaN}'), "payload_unreadable"),
        (held("[" * 5000), "payload_unreadable"),
        (held('{"a":' + "9" * 5000 + "}"), "payload_unreadable"),
        (held({"a": 1}, raw='{"a":1,"a":2}'), "payload_unreadable"),
        (request(created_at_ms=10**18), "payload_unreadable"),
        (request(terms=TERMS.model_copy(update={"ttl_seconds": 5})), "terms_mismatch"),
        (request(tenant="other"), "tenant_mismatch"),
    ],
)
def test_what_is_stored_and_is_not_what_a_guard_writes_is_not_shown(record: ApprovalRecord, code: str) -> None:
    with pytest.raises(ReviewRefusedError) as refusal:
        reviewed(record)
    assert refusal.value.code == code
    assert str(refusal.value).endswith(f"({code})")


def test_canonical_numbers_beyond_the_safe_integers_are_read_as_they_are_written() -> None:
    assert canonical_value('{"a":9007199254740992,"b":1e+21,"c":-5}') == {"a": 9007199254740992.0, "b": 1e21, "c": -5}
    assert "│ a: 10000000000000000" in text_of(held('{"a":10000000000000000}', raw='{"a":1e16}'))


def test_requirements_count_distinct_persons_in_their_roles_and_no_requester() -> None:
    (only,) = reviewed(
        request(), vote("ann", "finance"), vote("bob", "visitor"), vote("carol", "legal"), vote("dan", "legal")
    ).requirements
    assert (only.persons, only.met) == (("ann", "dan"), True)
    alone = TERMS.model_copy(update={"separation_of_duties": False})
    from aioc_opa.core.approvals.digests import terms_digest

    lax = request(terms=alone, bindings=BINDINGS.model_copy(update={"terms_digest": terms_digest(alone)}))
    (with_requester,) = reviewed(lax, vote("carol", "legal"), vote("eve", "legal", verdict="rejected")).requirements
    assert with_requester.persons == ("carol",)
    assert "requesters may approve" in text_of(lax)


def test_every_line_of_data_has_the_gutter_and_no_data_has_it() -> None:
    hostile = "│ amount: 5\n\x1b[2K\u202e" + "x" * 300
    lines = text_of(held({"note": hostile, hostile: 1}, publicReason=hostile, toolDescription=hostile)).splitlines()
    ours = [line for line in lines if not line.startswith(GUTTER)]
    assert [line.partition(" ")[0] for line in ours if line] == [
        "approval",
        "the",
        "the",
        "what",
        "ATTENTION",
        "hash",
        "hash",
    ]
    for line in lines:
        assert line.isprintable()
        assert GUTTER.strip() not in line[1:]


def test_findings_name_field_and_place_also_beside_the_action() -> None:
    bindings = {"identity": "ad\u043cin", "run_id": "run\u200b"}
    record = held({"to": "p\u0430y", "b": "Müller"}, raw='{"to":"p\\u0430y","b":"M\\u00fcller","c":"\\u202e"}')
    record = replace(record, bindings=record.bindings.model_copy(update=bindings))
    text = text_of(record)
    assert "│ ! action $.to has letters of several scripts in one word: 1 (U+0430 CYRILLIC SMALL LETTER A)" in text
    assert "│ ! requested $.c has invisible or direction-changing characters: 1 (U+202E RIGHT-TO-LEFT OVERRIDE)" in text
    assert "│ ! identity has letters of several scripts in one word: 1" in text
    assert "│ ! runId has invisible" in text
    assert "│   action $.b has other characters beyond ASCII, shown as they are: 1" in text
    assert reviewed(record).suspicious
    quiet = held({"b": "Müller"})
    assert not reviewed(quiet).suspicious
    assert "characters beyond plain ASCII" in text_of(quiet)


def test_an_ended_approval_says_how_it_ended() -> None:
    record = request(
        state=ApprovalState.COMPLETED, ended_at_ms=NOW, ended_by="runtime", end_reason="used", outcome="returned"
    )
    text = text_of(record)
    assert "│ ended at        : 2026-07-14T03:34:20.000Z by runtime" in text
    assert '│ end reason      : "used"' in text
    assert "│ effect          : returned" in text
    assert ", in " not in text
    assert ", which has passed" in "\n".join(page(review_of(request(), (), now_ms=CREATED + TTL * 1000 + 1)))


def test_the_document_has_all_of_it() -> None:
    record = held({"a": 1}, raw='{"a":1.0,"b":"\\u200b"}')
    found = document(reviewed(record, vote("ann", "finance")))
    assert found["computedHash"] == found["proposalHash"] == record.bindings.proposal_hash
    assert found["reviewHash"] == reviewed(record).review_hash  # votes leave it as it is
    assert found["argsCanonicalJson"] == '{"a":1}'
    assert found["parsedArguments"] == {"a": 1}
    assert found["differences"] == [{"place": "$.b", "kind": "dropped", "requested": "\u200b", "parsed": None}]
    assert found["bindings"]["policyRevision"] == BINDINGS.policy_revision  # type: ignore[index, call-overload]
    assert found["requirements"][0]["persons"] == ["ann"]  # type: ignore[index, call-overload]
    assert found["votes"][0]["reason"] == "called the customer"  # type: ignore[index, call-overload]
    assert found["findings"][0]["concern"] == "hidden"  # type: ignore[index, call-overload]
    json.dumps(found)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (59, "59 s"), (60, "1 min"), (570, "9 min 30 s"), (3600, "1 h"), (97_200, "1 d 3 h"), (86_400, "1 d")],
)
def test_durations(seconds: int, text: str) -> None:
    assert duration(seconds) == text
