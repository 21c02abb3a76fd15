"""Who may vote, and what votes come to: design 3.5, and the issue's "how many distinct persons"."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aioc_opa.core.approvals.states import ApprovalEvent
from aioc_opa.core.approvals.tally import refuse_vote, tally
from aioc_opa.errors import VoteRefusedError
from aioc_opa.models.approval_bindings import ApprovalBindings
from aioc_opa.models.approval_vote_statement import VoteStatement
from aioc_opa.models.decision import ApprovalRequirement, ApprovalTerms

if TYPE_CHECKING:
    from collections.abc import Iterable
    from random import Random

    Votes = list[VoteStatement]

BINDINGS = ApprovalBindings(
    proposal_hash="a" * 64,
    run_id="run",
    call_id="call",
    agent_name="agent",
    tool_name="refund",
    tool_digest="b" * 64,
    policy_revision='{"local":"1"}',
    terms_digest="c" * 64,
)
APPROVE, REJECT = ApprovalEvent.APPROVE, ApprovalEvent.REJECT


def vote(person: str, roles: Iterable[str], verdict: str = "approved") -> VoteStatement:
    return VoteStatement.model_validate(
        {
            "approvalId": "apr_" + "0" * 32,
            "bindings": BINDINGS.model_dump(),
            "personId": person,
            "roles": list(roles),
            "verdict": verdict,
            "reason": "seen",
            "at": "2026-07-01T12:00:00.000Z",
            "expiresAt": "2026-07-01T13:00:00.000Z",
            "keyId": "k",
        }
    )


def terms(*requirements: tuple[Iterable[str], int], separation: bool = True) -> ApprovalTerms:
    return ApprovalTerms(
        requirements=tuple(
            ApprovalRequirement(code=f"hold_{index}", approver_roles=tuple(roles), quorum=quorum)
            for index, (roles, quorum) in enumerate(requirements)
        ),
        separation_of_duties=separation,
        ttl_seconds=60,
    )


def test_every_requirement_must_be_met() -> None:
    both = terms((["finance"], 1), (["legal"], 1))
    assert tally(both, [vote("ann", ["finance"])], requesters=()) is None
    assert tally(both, [vote("ann", ["finance"]), vote("bob", ["legal"])], requesters=()) is APPROVE


def test_one_vote_may_count_for_several_requirements() -> None:
    both = terms((["finance"], 1), (["legal"], 1))
    assert tally(both, [vote("ann", ["finance", "legal"])], requesters=()) is APPROVE


def test_one_person_counts_once_for_a_requirement_whatever_number_of_accounts_votes() -> None:
    two = terms((["finance", "legal"], 2))
    one_person = [vote("ann", ["finance"]), vote("ann", ["legal"]), vote("ann", ["finance", "legal"])]
    assert tally(two, one_person, requesters=()) is None
    assert tally(two, [*one_person, vote("bob", ["legal"])], requesters=()) is APPROVE


def test_one_eligible_rejecting_vote_rejects_and_an_ineligible_one_does_not() -> None:
    one = terms((["finance"], 1))
    assert tally(one, [vote("ann", ["finance"]), vote("bob", ["finance"], "rejected")], requesters=()) is REJECT
    assert tally(one, [vote("ann", ["finance"]), vote("bob", ["intern"], "rejected")], requesters=()) is APPROVE


@pytest.mark.parametrize("verdict", ["approved", "rejected"])
def test_under_separation_of_duties_no_requester_counts_for_or_against(verdict: str) -> None:
    one = terms((["finance"], 1))
    assert tally(one, [vote("ann", ["finance"], verdict)], requesters={"ann"}) is None
    with pytest.raises(VoteRefusedError, match="requester_may_not_vote"):
        refuse_vote(vote("ann", ["finance"], verdict), terms=one, requesters={"ann"}, earlier=())


def test_without_separation_of_duties_the_requester_counts() -> None:
    one = terms((["finance"], 1), separation=False)
    assert tally(one, [vote("ann", ["finance"])], requesters={"ann"}) is APPROVE
    refuse_vote(vote("ann", ["finance"]), terms=one, requesters={"ann"}, earlier=())


def test_nobody_has_voted_is_pending() -> None:
    assert tally(terms((["finance"], 1)), [], requesters=()) is None


@pytest.mark.parametrize(
    ("earlier", "now", "code"),
    [
        (["approved"], "approved", "already_voted"),
        (["rejected"], "rejected", "already_voted"),
        (["approved"], "rejected", "contradicts_earlier_vote"),
        (["rejected"], "approved", "contradicts_earlier_vote"),
        (["approved", "rejected"], "approved", "contradicts_earlier_vote"),
    ],
)
def test_double_and_contradictory_votes_are_told_so(earlier: list[str], now: str, code: str) -> None:
    before = [vote("ann", ["finance"], verdict) for verdict in earlier]
    with pytest.raises(VoteRefusedError) as refused:
        refuse_vote(vote("ann", ["finance"], now), terms=terms((["finance"], 1)), requesters=(), earlier=before)
    assert refused.value.code == code
    refuse_vote(vote("bob", ["finance"], now), terms=terms((["finance"], 1)), requesters=(), earlier=before)


@pytest.mark.parametrize("roles", [[], ["intern"], ["Finance"], ["finance "], ["fin\u0430nce"]])
def test_a_role_is_exactly_that_role(roles: list[str]) -> None:
    with pytest.raises(VoteRefusedError) as refused:
        refuse_vote(vote("ann", roles), terms=terms((["finance"], 1), (["legal"], 1)), requesters=(), earlier=())
    assert refused.value.code == "role_missing"


ROLES = ["r1", "r2", "r3", "r4"]
PERSONS = ["p1", "p2", "p3", "p4", "p5"]
some_terms = st.builds(
    lambda requirements, separation: terms(*requirements, separation=separation),
    st.lists(
        st.tuples(st.lists(st.sampled_from(ROLES), min_size=1, unique=True), st.integers(1, 3)), min_size=1, max_size=3
    ),
    st.booleans(),
)
some_vote = st.builds(
    vote,
    st.sampled_from(PERSONS),
    st.lists(st.sampled_from(ROLES), unique=True),
    st.sampled_from(["approved"] * 5 + ["rejected"]),
)
some_votes = st.lists(some_vote, max_size=7)
some_requesters = st.frozensets(st.sampled_from(PERSONS), max_size=2)
RANK = {None: 0, APPROVE: 1, REJECT: 2}


@settings(deadline=None)
@given(some_terms, some_votes, some_requesters, st.randoms())
def test_tally_does_not_depend_on_the_order_of_votes(
    asked: ApprovalTerms, votes: Votes, requesters: frozenset[str], random: Random
) -> None:
    shuffled = list(votes)
    random.shuffle(shuffled)
    assert tally(asked, votes, requesters=requesters) is tally(asked, shuffled, requesters=requesters)


@settings(deadline=None)
@given(some_terms, some_votes, some_vote, some_requesters)
def test_a_further_vote_only_takes_it_forward(
    asked: ApprovalTerms, votes: Votes, more: VoteStatement, requesters: frozenset[str]
) -> None:
    before, after = (tally(asked, some, requesters=requesters) for some in (votes, [*votes, more]))
    assert RANK[after] >= RANK[before]


@settings(deadline=None)
@given(some_terms, some_votes, some_requesters)
def test_repeating_votes_changes_nothing(asked: ApprovalTerms, votes: Votes, requesters: frozenset[str]) -> None:
    assert tally(asked, votes, requesters=requesters) is tally(asked, votes * 2, requesters=requesters)


@settings(deadline=None)
@given(some_terms, some_votes, some_requesters)
def test_tally_is_what_the_rule_says_counted_another_way(
    asked: ApprovalTerms, votes: Votes, requesters: frozenset[str]
) -> None:
    wanted = {role for requirement in asked.requirements for role in requirement.approver_roles}
    barred = requesters if asked.separation_of_duties else frozenset()
    valid = [one for one in votes if one.person_id not in barred and wanted & set(one.roles)]
    if any(one.verdict == "rejected" for one in valid):
        expected = REJECT
    else:
        roles_of: dict[str, set[str]] = {}
        for one in valid:
            roles_of.setdefault(one.person_id, set()).update(one.roles)
        met = all(
            sum(bool(roles & set(requirement.approver_roles)) for roles in roles_of.values()) >= requirement.quorum
            for requirement in asked.requirements
        )
        expected = APPROVE if met else None
    assert tally(asked, votes, requesters=requesters) is expected


@settings(deadline=None)
@given(some_terms, some_votes, some_vote, some_requesters)
def test_a_vote_that_may_not_be_cast_would_count_for_nothing(
    asked: ApprovalTerms, votes: Votes, one: VoteStatement, requesters: frozenset[str]
) -> None:
    try:
        refuse_vote(one, terms=asked, requesters=requesters, earlier=votes)
    except VoteRefusedError as refused:
        if refused.code in {"requester_may_not_vote", "role_missing"}:
            assert tally(asked, [*votes, one], requesters=requesters) is tally(asked, votes, requesters=requesters)
    else:
        assert all(kept.person_id != one.person_id for kept in votes)
        if one.verdict == "rejected":
            assert tally(asked, [*votes, one], requesters=requesters) is REJECT
