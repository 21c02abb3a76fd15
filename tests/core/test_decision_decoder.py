"""The decoder is total and closed (design 3.3): exactly one shape passes, and every other one has its reason."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioc_opa.core.decision_decoder import (
    MAX_METADATA_CHARACTERS,
    DecisionRefusedError,
    decode_decision,
    expiry,
)
from aioc_opa.core.engine_answer import UNDEFINED
from aioc_opa.core.reasons import RESERVED, Reason

HASH = "a" * 64
ECHO = {"proposalHash": HASH, "requestId": "r1", "kind": "tool"}
ALLOW: dict[str, Any] = {"decision": "allow", "reason": "allowed", "reasons": [], **ECHO}
DENY: dict[str, Any] = {"decision": "deny", "reason": "too_large", "reasons": ["too_large"], **ECHO}
TERMS: dict[str, Any] = {
    "requirements": [{"code": "big", "approverRoles": ["manager"], "quorum": 1}],
    "separationOfDuties": True,
    "ttlSeconds": 60,
}
HOLD: dict[str, Any] = {"decision": "approval_required", "reason": "big", "reasons": ["big"], "approval": TERMS, **ECHO}


def decode(result: Any) -> Any:
    return decode_decision(result, proposal_hash=HASH, request_id="r1", kind="tool")


def refusal(result: Any) -> Reason:
    with pytest.raises(DecisionRefusedError) as caught:
        decode(result)
    return caught.value.reason


def test_the_three_effects_pass() -> None:
    assert decode(ALLOW).decision == "allow"
    assert decode(DENY).reasons == ("too_large",)
    assert decode(HOLD).approval.requirements[0].quorum == 1


def test_the_default_deny_has_no_reasons() -> None:
    assert decode({**DENY, "reason": "no_rule_allows", "reasons": []}).reason == "no_rule_allows"


def test_optional_fields_pass() -> None:
    decision = decode(
        {
            **DENY,
            "publicReason": "Too much.",
            "policyVersion": "v7",
            "resultMode": "tool_result",
            "expiresAt": "2026-01-01T00:00:00Z",
            "metadata": {"too_large": {"limit": 5}},
        }
    )
    assert decision.public_reason == "Too much."
    assert decision.result_mode == "tool_result"
    moment = expiry(decision)
    assert moment is not None
    assert moment.utcoffset() is not None
    assert expiry(decode(DENY)) is None


def test_undefined_has_its_own_reason() -> None:
    assert refusal(UNDEFINED) is Reason.POLICY_UNDEFINED


@pytest.mark.parametrize(
    "result",
    [
        True, False, None, 0, 1, "deny", "allow", [], {}, [ALLOW], {"allow": True}, {"allow": False},
        {"decision": "allow"}, {**ALLOW, "extra": 1}, {**ALLOW, "decision": "Allow"}, {**ALLOW, "decision": "require_approval"},
        {**ALLOW, "decision": True}, {**ALLOW, "reasons": {}}, {**ALLOW, "reasons": "x"},
        {**ALLOW, "reasons": None}, {**ALLOW, "public_reason": "x"}, {**ALLOW, "publicReason": None},
        {**ALLOW, "publicReason": ""}, {**ALLOW, "publicReason": "  "}, {**ALLOW, "publicReason": "a\nb"},
        {**ALLOW, "publicReason": "\u202egnp"}, {**ALLOW, "publicReason": "x" * 1025}, {**ALLOW, "policyVersion": 1},
        {**ALLOW, "policyVersion": " "}, {**ALLOW, "resultMode": "return"}, {**ALLOW, "expiresAt": "tomorrow"},
        {**ALLOW, "expiresAt": "2026-01-01"}, {**ALLOW, "expiresAt": "2026-01-01T00:00:00"}, {**ALLOW, "expiresAt": 1},
        {**ALLOW, "expiresAt": "2026-02-30T00:00:00Z"}, {**ALLOW, "approval": TERMS}, {**DENY, "approval": TERMS},
        {**ALLOW, "metadata": []}, {**ALLOW, "metadata": {"x": "y" * MAX_METADATA_CHARACTERS}},
        {**ALLOW, "reason": "too_large"}, {**ALLOW, "reasons": ["too_large"]}, {**DENY, "reason": "allowed"},
        {**DENY, "reason": "other"}, {**DENY, "reasons": []}, {**DENY, "reasons": ["too_large", "too_large"]},
        {**DENY, "reasons": ["too_large", "a"]}, {**DENY, "reasons": ["Too_Large"]}, {**DENY, "reason": ""},
        {**DENY, "reason": " ", "reasons": [" "]}, {**DENY, "reason": "a" * 65, "reasons": ["a" * 65]},
        {**DENY, "reason": "too_large\n", "reasons": ["too_large\n"]}, {**DENY, "reason": "no_rule_allows"},
        {**DENY, "reason": "no_rule_allows", "reasons": ["no_rule_allows"]}, {**DENY, "reasons": ["allowed", "too_large"]},
        {**HOLD, "reason": "no_rule_allows", "reasons": []}, {**HOLD, "approval": {**TERMS, "requirements": []}},
        {k: v for k, v in HOLD.items() if k != "approval"}, {**HOLD, "approval": {**TERMS, "ttlSeconds": 0}},
        {**HOLD, "approval": {**TERMS, "ttlSeconds": 60.0}}, {**HOLD, "approval": {**TERMS, "ttlSeconds": True}},
        {**HOLD, "approval": {**TERMS, "separationOfDuties": 1}}, {**HOLD, "approval": {**TERMS, "more": 1}},
        {**HOLD, "approval": {**TERMS, "requirements": [{"code": "big", "approverRoles": [], "quorum": 1}]}},
        {**HOLD, "approval": {**TERMS, "requirements": [{"code": "big", "approverRoles": [" "], "quorum": 1}]}},
        {**HOLD, "approval": {**TERMS, "requirements": [{"code": "big", "approverRoles": ["m"], "quorum": 0}]}},
        {**HOLD, "approval": {**TERMS, "requirements": [{"code": "big", "approverRoles": ["m"], "quorum": True}]}},
        {**HOLD, "approval": {**TERMS, "requirements": [{"code": "other", "approverRoles": ["m"], "quorum": 1}]}},
        {k: v for k, v in ALLOW.items() if k != "proposalHash"}, {**ALLOW, "proposalHash": None},
        {**ALLOW, "requestId": 1}, {**ALLOW, "kind": None},
    ],
    ids=lambda value: json.dumps(value)[:70],
)  # fmt: skip
def test_any_other_shape_is_malformed(result: Any) -> None:
    assert refusal(result) is Reason.POLICY_MALFORMED_DECISION


@pytest.mark.parametrize("reserved", sorted(RESERVED))
def test_a_reason_that_only_the_runtime_may_use_is_malformed(reserved: str) -> None:
    assert refusal({**DENY, "reason": reserved, "reasons": [reserved]}) is Reason.POLICY_MALFORMED_DECISION
    assert refusal({**DENY, "reasons": sorted(["too_large", reserved])}) is Reason.POLICY_MALFORMED_DECISION


@pytest.mark.parametrize(
    ("echo", "value"),
    [
        ("proposalHash", "b" * 64),
        ("proposalHash", HASH.upper()),
        ("proposalHash", ""),
        ("requestId", "r2"),
        ("kind", "handoff"),
    ],
)
def test_another_echo_is_a_mismatch(echo: str, value: str) -> None:
    for effect in (ALLOW, DENY, HOLD):
        assert refusal({**effect, echo: value}) is Reason.POLICY_BINDING_MISMATCH


def test_metadata_without_canonical_form_is_malformed() -> None:
    assert refusal({**ALLOW, "metadata": {"x": 2**60}}) is Reason.POLICY_MALFORMED_DECISION


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["allow", "deny", HASH]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from([*HOLD, "publicReason", "metadata"]) | st.text(max_size=4), inner, max_size=9)
    ),
    max_leaves=12,
)


@given(json_values, st.sampled_from([ALLOW, DENY, HOLD]), st.sampled_from([*HOLD, "publicReason", "expiresAt"]))
def test_whatever_comes_in_it_is_a_decision_or_a_refusal(value: Any, base: dict[str, Any], key: str) -> None:
    for result in (value, {**base, key: value}):
        reason = None
        try:
            decision = decode(result)
        except DecisionRefusedError as error:
            reason = error.reason
        else:
            assert (decision.proposal_hash, decision.request_id, decision.kind) == (HASH, "r1", "tool")
        assert reason in {None, Reason.POLICY_MALFORMED_DECISION, Reason.POLICY_BINDING_MISMATCH}
