"""The runtime itself holds a grant to its terms when it is used: also where policy would not ask for the evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa.approvals.broker import ApprovalBroker
from aioc_opa.approvals.people import Person
from aioc_opa.approvals.people_table import PeopleTable, PersonEntry
from tests.approvals.desk import Desk
from tests.approvals.treasury import ISSUER, Treasury
from tests.doubles import ScriptedEngine, allowing, holding

if TYPE_CHECKING:
    from aioc_opa.approvals.store import ApprovalStore

MANAGER = frozenset({"manager"})


def entry(name: str, roles: frozenset[str], *, tenants: frozenset[str] | None = None, more: str = "") -> PersonEntry:
    names = (name, more) if more else (name,)
    return PersonEntry(Person(f"p-{name}", roles, tenants), accounts=((ISSUER, name),), identities=names)


KIM, TESS = entry("kim", frozenset({"clerk"})), entry("tess", MANAGER)

AFTERWARDS: dict[str, list[PersonEntry]] = {
    "the voter is gone": [KIM],
    "the voter has lost the role": [KIM, entry("tess", frozenset({"visitor"}))],
    "the voter has left the tenant": [KIM, entry("tess", MANAGER, tenants=frozenset({"other"}))],
    "the voter turns out to be the requester": [entry("tess", MANAGER, more="kim")],
}


@pytest.fixture(params=["sync", "async"])
def desk(request: pytest.FixtureRequest, store: ApprovalStore) -> Desk:
    # This policy holds a call that comes, and allows whatever is resumed, without a look at who has voted.
    engine = ScriptedEngine(lambda asked: (allowing if "approval" in asked else holding)(asked))
    return Desk(Treasury(engine=engine, store=store, directory=PeopleTable([KIM, TESS], services=[])), request.param)


def test_votes_that_meet_the_terms_let_it_run(desk: Desk) -> None:
    assert desk.resume(desk.approved()) == "moved 500.0 to A7"


@pytest.mark.parametrize("afterwards", AFTERWARDS)
def test_votes_that_do_not_meet_the_terms_any_more_let_nothing_run_whatever_policy_says(
    desk: Desk, afterwards: str
) -> None:
    approval_id = desk.approved()
    treasury: Any = desk.treasury
    people = PeopleTable(AFTERWARDS[afterwards], services=[])
    broker = ApprovalBroker(treasury.store, keys=treasury.keys, people=people)
    later = Desk(treasury, desk.kind, approvals=broker)
    asked = len(treasury.engine.questions)
    later.refuses("approval_binding_mismatch", approval_id)
    assert len(treasury.engine.questions) == asked
