"""The helpers of the TypeScript runtime: its own cases (first part), then what is stricter here."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioc_opa.core.approvals.grant_records import (
    GrantRecordError,
    create_approval_request_seed,
    find_active_approval_grant,
    is_approval_grant_active,
    to_active_approval_grant_map,
    to_approved_proposal_hashes,
)
from aioc_opa.models.approval_grant_record import ApprovalGrantRecord
from aioc_opa.models.decision import ApprovalRequirement, ApprovalTerms
from aioc_opa.models.suspended_proposal import SuspendedHandoffProposal, SuspendedToolProposal

NOW = datetime(2026, 5, 22, 10, 0, tzinfo=UTC)
ONE, TWO, THREE = "1" * 64, "2" * 64, "3" * 64
CANARY = "canary-51ab"
TERMS = ApprovalTerms(
    requirements=(ApprovalRequirement(code="export", approver_roles=("lead",), quorum=1),),
    separation_of_duties=True,
    ttl_seconds=60,
)
BASE: dict[str, Any] = {
    "timestamp": "2026-05-22T09:59:00.000Z",
    "run_id": "run-1",
    "turn": 1,
    "call_id": "call-1",
    "agent_name": "Finance Agent",
    "proposal_hash": ONE,
    "reason": "approval_export_report",
    "reasons": ("approval_export_report",),
    "approval": TERMS,
}


def grant(proposal_hash: str = ONE, approved_at: str = "2026-05-22T09:00:00.000Z", **more: Any) -> dict[str, Any]:
    return {"proposalHash": proposal_hash, "approvedAt": approved_at, **more}


def tool_proposal(**changes: Any) -> SuspendedToolProposal:
    values = {
        **BASE,
        "public_reason": "Sensitive report exports require explicit approval.",
        "policy_version": "finance-export-policy.v1",
        "expires_at": "2026-05-22T11:00:00.000Z",
        "metadata": {"sensitivity": "high"},
        "tool_name": "export_report",
        "raw_arguments": '{"reportId": "rpt-1"}',
        "parsed_arguments": {"reportId": "rpt-1"},
        "args_canonical_json": '{"reportId":"rpt-1"}',
        **changes,
    }
    return SuspendedToolProposal(**values)


def test_a_seed_of_a_tool_proposal() -> None:
    seed = create_approval_request_seed(tool_proposal())
    assert seed.model_dump(mode="json", by_alias=True, exclude_none=True) == {
        "proposalHash": ONE,
        "kind": "tool",
        "reason": "approval_export_report",
        "publicReason": "Sensitive report exports require explicit approval.",
        "policyVersion": "finance-export-policy.v1",
        "expiresAt": "2026-05-22T11:00:00.000Z",
        "resourceName": "export_report",
        "canonicalPayloadJson": '{"reportId":"rpt-1"}',
    }
    assert "rpt-1" not in repr(seed)


def test_a_seed_of_a_handoff_proposal_leaves_out_what_is_not_there() -> None:
    proposal = SuspendedHandoffProposal(
        **BASE,
        to_agent_name="Escalation Agent",
        handoff_payload={"caseId": "case-1"},
        payload_canonical_json='{"caseId":"case-1"}',
    )
    seed = create_approval_request_seed(proposal)
    assert seed.model_dump(mode="json", by_alias=True, exclude_none=True) == {
        "proposalHash": ONE,
        "kind": "handoff",
        "reason": "approval_export_report",
        "resourceName": "Escalation Agent",
        "canonicalPayloadJson": '{"caseId":"case-1"}',
    }


def test_a_record_is_active_until_it_is_revoked_or_expired() -> None:
    assert is_approval_grant_active(grant(), NOW)
    assert not is_approval_grant_active(grant(revokedAt="2026-05-22T09:30:00.000Z"), NOW)
    assert not is_approval_grant_active(grant(expiresAt="2026-05-22T09:59:59.000Z"), NOW)


def test_the_newest_active_record_wins() -> None:
    older = grant()
    newer = grant(approved_at="2026-05-22T09:30:00.000Z")
    inactive = grant(approved_at="2026-05-22T09:45:00.000Z", revokedAt="2026-05-22T09:50:00.000Z")
    for order in ([older, newer, inactive], [inactive, newer, older]):
        found = find_active_approval_grant(ONE, order, NOW)
        assert found == ApprovalGrantRecord.model_validate(newer)
    assert find_active_approval_grant(TWO, [older, newer], NOW) is None
    assert find_active_approval_grant(ONE, [], NOW) is None


def test_hashes_of_active_records_only() -> None:
    grants = [
        grant(ONE),
        grant(TWO, "2026-05-22T09:05:00.000Z", expiresAt="2026-05-22T09:30:00.000Z"),
        grant(THREE, "2026-05-22T09:10:00.000Z", revokedAt="2026-05-22T09:20:00.000Z"),
    ]
    assert to_approved_proposal_hashes(grants, NOW) == [ONE]


def test_the_map_of_active_records_has_the_newest_of_each_as_plain_json() -> None:
    older = grant(ONE, metadata={"reviewer": "alice"})
    newer = grant(ONE, "2026-05-22T09:30:00.000Z", metadata={"reviewer": "bob"})
    other = grant(TWO, "2026-05-22T09:15:00.000Z")
    made = to_active_approval_grant_map([older, newer, other], NOW)
    assert made == {ONE: newer, TWO: other}
    assert json.loads(json.dumps(made)) == made
    newer["metadata"]["reviewer"] = "mallory"
    assert made[ONE]["metadata"] == {"reviewer": "bob"}


def test_it_is_active_at_exactly_its_expiry_and_not_after() -> None:
    ending = grant(expiresAt="2026-05-22T12:00:00.000+02:00")
    assert is_approval_grant_active(ending, NOW)
    assert is_approval_grant_active(ending, NOW.astimezone(timezone(timedelta(hours=-7))))
    assert not is_approval_grant_active(ending, NOW + timedelta(microseconds=1))


@pytest.mark.parametrize("when", ["2099-01-01T00:00:00Z", "yesterday", ""])
def test_any_revocation_ends_it_whatever_it_says(when: str) -> None:
    assert not is_approval_grant_active(grant(revokedAt=when), NOW)


def test_of_equally_new_ones_the_first_wins() -> None:
    same = [
        grant(metadata={"reviewer": "alice"}),
        grant(approved_at="2026-05-22T11:00:00+02:00", metadata={"reviewer": "bob"}),
    ]
    found = find_active_approval_grant(ONE, same, NOW)
    assert found is not None
    assert found.metadata == {"reviewer": "alice"}


def test_nothing_is_consumed() -> None:
    grants = [grant()]
    assert [to_approved_proposal_hashes(grants, NOW) for _ in range(3)] == [[ONE]] * 3


MALFORMED: list[Any] = [
    None,
    [],
    "x",
    {},
    {"proposalHash": ONE},
    grant("tool-proposal-hash"),
    grant("A" * 64),
    grant(ONE + "\n"),
    grant(approved_at="2026-05-22"),
    grant(approved_at="2026-05-22T09:00:00"),
    grant(approved_at="2026-02-30T09:00:00Z"),
    {"proposalHash": ONE, "approvedAt": 1_780_000_000},
    {"proposalHash": ONE, "approvedAt": NOW},
    grant(expiresAt="tomorrow"),
    grant(expiresAt=None),
    grant(expiresAt=""),
    grant(revokedAt=None),
    grant(revokedAt=False),
    grant(revokedAt=0),
    grant(metadata=None),
    grant(metadata=[]),
    grant(metadata={"x": float("nan")}),
    grant(metadata={"x": object()}),
    grant(metadata={"x": 2**60}),
    grant(expires_at="2026-05-22T11:00:00Z"),
    grant(status="approved"),
    {**grant(), 1: 2},
    ApprovalGrantRecord.model_construct(proposal_hash=ONE, approved_at="soon"),
]


@pytest.mark.parametrize("record", MALFORMED, ids=lambda record: repr(record)[:60])
def test_a_malformed_record_is_an_error_that_names_its_place_and_never_active(record: Any) -> None:
    with pytest.raises(GrantRecordError, match=r"^grant"):
        is_approval_grant_active(record, NOW)
    for among in ([record, grant()], [grant(), record]):
        with pytest.raises(GrantRecordError) as error:
            find_active_approval_grant(ONE, among, NOW)
        assert error.value.path[:2] == ("grants", among.index(record))
        with pytest.raises(GrantRecordError):
            to_approved_proposal_hashes(among, NOW)
        with pytest.raises(GrantRecordError):
            to_active_approval_grant_map(among, NOW)


@pytest.mark.parametrize(
    "record",
    [
        grant(CANARY),
        grant(approved_at=CANARY),
        grant(expiresAt=CANARY),
        grant(revokedAt=[CANARY]),
        grant(metadata=CANARY),
        grant(status=CANARY),
        grant(metadata={"x": {CANARY}}),
    ],
)
def test_an_error_never_repeats_a_value(record: Any) -> None:
    with pytest.raises(GrantRecordError) as error:
        is_approval_grant_active(record, NOW)
    assert CANARY not in str(error.value)
    assert error.value.__cause__ is None
    assert error.value.__suppress_context__


@pytest.mark.parametrize("now", [datetime(2026, 5, 22), None, "2026-05-22T10:00:00Z", 0])  # noqa: DTZ001 - naive: the point
def test_a_time_without_an_offset_is_no_now(now: Any) -> None:
    for call in (
        lambda: is_approval_grant_active(grant(), now),
        lambda: find_active_approval_grant(ONE, [], now),
        lambda: to_approved_proposal_hashes([], now),
        lambda: to_active_approval_grant_map([], now),
    ):
        with pytest.raises(GrantRecordError, match="now"):
            call()


@pytest.mark.parametrize("proposal", [None, {}, grant(), tool_proposal().model_copy(update={"proposal_hash": CANARY})])
def test_what_is_no_proposal_makes_no_seed(proposal: Any) -> None:
    with pytest.raises(GrantRecordError, match=r"^proposal") as error:
        create_approval_request_seed(proposal)
    assert CANARY not in str(error.value)


TIMES = st.datetimes(timezones=st.timezones() | st.just(UTC)).filter(
    lambda when: when.utcoffset().total_seconds() % 60 == 0  # type: ignore[union-attr] # RFC 3339 has no seconds there
) | st.sampled_from([NOW, NOW + timedelta(microseconds=1), datetime.min.replace(tzinfo=UTC)])
RECORDS = st.builds(
    lambda proposal_hash, approved, expires, revoked: grant(
        proposal_hash,
        approved.isoformat(),
        **({} if expires is None else {"expiresAt": expires.isoformat()}),
        **({} if revoked is None else {"revokedAt": revoked.isoformat()}),
    ),
    st.sampled_from([ONE, TWO, THREE]),
    TIMES,
    st.none() | TIMES,
    st.none() | st.none() | TIMES,
)


@given(st.lists(RECORDS, max_size=8), TIMES)
def test_the_helpers_agree_with_the_definition_and_with_one_another(
    grants: list[dict[str, Any]], now: datetime
) -> None:
    def active(record: dict[str, Any]) -> bool:
        ends = record.get("expiresAt")
        return "revokedAt" not in record and (ends is None or not now > datetime.fromisoformat(ends))

    assert [is_approval_grant_active(record, now) for record in grants] == [active(record) for record in grants]
    made = to_active_approval_grant_map(grants, now)
    assert list(made) == to_approved_proposal_hashes(grants, now)
    assert set(made) == {record["proposalHash"] for record in grants if active(record)}
    for proposal_hash in (ONE, TWO, THREE):
        found = find_active_approval_grant(proposal_hash, grants, now)
        assert (found is not None) == (proposal_hash in made)
        if found is not None:
            assert found.model_dump(by_alias=True, exclude_none=True) == made[proposal_hash]
            newest = max(
                datetime.fromisoformat(record["approvedAt"])
                for record in grants
                if active(record) and record["proposalHash"] == proposal_hash
            )
            assert datetime.fromisoformat(found.approved_at) == newest


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from([ONE, NOW.isoformat()]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@given(
    st.dictionaries(st.sampled_from(["proposalHash", "approvedAt", "expiresAt", "revokedAt", "metadata", "x"]), JSON)
)
def test_whatever_comes_in_is_judged_or_refused_by_the_one_error(record: dict[str, Any]) -> None:
    try:
        active = is_approval_grant_active(record, NOW)
    except GrantRecordError:
        return
    assert not (active and "revokedAt" in record)
