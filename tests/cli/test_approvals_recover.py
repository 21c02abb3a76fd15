"""`approvals recover`: what may have run, and what an operator writes down about it."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from aioc_opa.approvals.records import EffectIntent
from aioc_opa.approvals.stores import open_store
from tests.cli.approvals_service import recover

if TYPE_CHECKING:
    from tests.cli.approvals_office import Office


@pytest.fixture
def office(service_office: Office) -> Office:
    return service_office


def intended(office: Office, *, consumed: bool, approval_id: str | None = None) -> str:
    """An effect of a process that has ended before it could say how."""
    intent = EffectIntent(
        execution_id="0" * 31 + ("1" if consumed else "2"),
        tenant="acme",
        run_id="run\u202e",
        call_id=f"call-{consumed}",
        tool_name="pay",
        proposal_hash="0" * 64,
        approval_id=approval_id,
    )
    with closing(open_store(office.store)) as store:
        store.intend(intent)
        if consumed:
            assert store.claim(intent) if approval_id is None else store.consume(intent).moved
    return intent.execution_id


def test_recover_lists_what_may_have_run_and_what_cannot_have(office: Office) -> None:
    approval_id = office.hold()
    may, cannot = intended(office, consumed=True), intended(office, consumed=False, approval_id=approval_id)
    found = recover(office)
    assert found.status == 1
    for text in (may, cannot, "MAY HAVE RUN", "did not run", approval_id, "a call that needed no approval", "\\u202e"):
        assert text in found.out
    listed = {each["executionId"]: each["mayHaveRun"] for each in recover(office, "--json").document["unfinished"]}
    assert listed == {may: True, cannot: False}
    assert recover(office, "--tenant", "other").status == 0
    young = office.run("recover")
    assert young.out == "nothing is unfinished\n"  # a minute has not passed, and that is said
    assert "2 younger than 60 s not listed" in young.err
    assert office.run("recover", "--json").document == {"unfinished": [], "younger": 2}
    assert office.run("recover", "--json", "--tenant", "other").document["younger"] == 0


def test_an_operator_settles_what_was_found_out(office: Office) -> None:
    may, cannot = intended(office, consumed=True), intended(office, consumed=False)
    wrong = recover(office, "--settle", f"{may}=returned", "--settle", f"{cannot}=returned")
    assert wrong.status == 3
    assert "its outcome is not_entered" in wrong.err
    assert len(recover(office, "--json").document["unfinished"]) == 2  # nothing of it was written
    one = recover(office, "--settle", f"{may}=raised")
    assert one.status == 1
    assert f"{may} is settled: raised" in one.err
    rest = recover(office, "--settle", f"{cannot}=not_entered")
    assert (rest.status, rest.out) == (0, "nothing is unfinished\n")
    assert recover(office, "--settle", f"{may}=returned").status == 3
    for text in ("x", f"{may}=done"):
        assert recover(office, "--settle", text).status == 2
    logged = office.run("access-log", "--json").document["accesses"]
    assert [(each["approvalId"], each["who"], each["action"]) for each in logged] == [
        (may, "ann", f"settle {may} raised"),
        (cannot, "ann", f"settle {cannot} not_entered"),
    ]


def test_nobody_settles_without_a_name_or_in_another_tenant(office: Office) -> None:
    may = intended(office, consumed=True)
    nobody = office.run("recover", "--older-than", "0", "--settle", f"{may}=returned")
    assert nobody.status == 2
    assert "--signing-key" in nobody.err
    people = json.loads((office.folder / "people.json").read_text())
    people["people"][0]["tenants"] = ["other"]
    office.write("people.json", people)
    refused = recover(office, "--settle", f"{may}=returned")
    assert refused.status == 1
    assert "tenant_not_allowed" in refused.err
    assert len(recover(office, "--json").document["unfinished"]) == 1


def test_an_approval_whose_effect_nobody_knows_says_so(office: Office) -> None:
    approval_id = office.hold()
    assert office.approve("ann", approval_id).status == 0
    execution_id = intended(office, consumed=True, approval_id=approval_id)
    assert office.record(approval_id).state == "consumed"
    assert recover(office, "--settle", f"{execution_id}=unknown").status == 0
    assert office.record(approval_id).state == "outcome_unknown"
    assert "effect          : unknown" in office.show(approval_id).out
