"""Records and proposals that are none."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
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
from tests.core.approvals.grant_cases import NOW, ONE, THREE, TWO, grant, tool_proposal

CANARY = "canary-51ab"


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
