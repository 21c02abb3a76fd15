"""The helpers of the TypeScript runtime: its own cases (first part), then what is stricter here."""

from __future__ import annotations

import json
from datetime import timedelta, timezone

import pytest

from aioc_opa.core.approvals.grant_records import (
    create_approval_request_seed,
    find_active_approval_grant,
    is_approval_grant_active,
    to_active_approval_grant_map,
    to_approved_proposal_hashes,
)
from aioc_opa.models.approval_grant_record import ApprovalGrantRecord
from aioc_opa.models.suspended_proposal import SuspendedHandoffProposal
from tests.core.approvals.grant_cases import BASE, NOW, ONE, THREE, TWO, grant, tool_proposal


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
