"""Each approval reason of design 3.3, on both stores and both engines: "it is done when" 3 of issue 4.

Each test asks a guard that returns refusals and one that raises them; the handler is never entered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa import Principal, RunContext
from aioc_opa.approvals.broker import ApprovalBroker
from aioc_opa.approvals.records import PendingCaps
from aioc_opa.models.refusal_result import RefusalResult
from tests.approvals.desk import Desk, raises_denied
from tests.approvals.treasury import ISSUER, KIM, RUN, Treasury

if TYPE_CHECKING:
    from aioc_opa.engines.protocol import Engine
    from tests.approvals.store_cases import SqlCase


class Office:
    """A treasury over one store and one engine, with both modes of delivery."""

    def __init__(self, case: SqlCase, engine: Engine) -> None:
        self.case = case
        self.treasury = Treasury(engine=engine, store=case.store)
        self.broker = self.treasury.broker
        self.returning = Desk(self.treasury)
        self.throwing = Desk(self.treasury, result_mode="throw")

    def resume_gives(self, reason: str, approval_id: str, **options: Any) -> None:
        self.returning.refuses(reason, approval_id, **options)
        raises_denied(reason, lambda: self.throwing.resume(approval_id, **options))
        assert self.ran == []

    def call_gives(self, reason: str, **options: Any) -> None:
        before = self.ran
        result = self.returning.call(**options)
        assert isinstance(result, RefusalResult)
        assert (result.status, result.code) == ("denied", reason)
        raises_denied(reason, lambda: self.throwing.call(**options))
        assert self.ran == before

    @property
    def ran(self) -> list[Any]:
        return [*self.returning.ran, *self.throwing.ran]

    def person(self, name: str) -> Any:
        return self.treasury.directory.authenticated(ISSUER, name)


@pytest.fixture
def office(sql_case: SqlCase, treasury_engines: dict[str, Engine], engine_name: str) -> Office:
    return Office(sql_case, treasury_engines[engine_name])


def test_approval_timed_out_when_nobody_decides_while_the_call_waits(office: Office) -> None:
    office.call_gives("approval_timed_out", wait=0.02)
    states = [record.state for record in office.broker.find("acme", {"expired", "pending"})]
    assert states == ["expired", "expired"]


def test_approval_rejected_on_resume_and_for_the_same_arguments_in_the_same_run(office: Office) -> None:
    approval_id = office.returning.held()
    office.treasury.vote(approval_id, verdict="rejected")
    office.resume_gives("approval_rejected", approval_id)
    office.call_gives("approval_rejected", call_id="another")
    outcome = office.returning.authorize(call_id="a third")
    assert (outcome.code, outcome.audit_code) == ("approval_rejected", "approval_rejected")


def test_approval_expired_by_the_stores_clock(office: Office) -> None:
    approval_id = office.returning.approved()
    office.case.age(approval_id, 3_600_000)
    office.resume_gives("approval_expired", approval_id)


def test_approval_revoked(office: Office) -> None:
    approval_id = office.returning.approved()
    office.broker.revoke("acme", approval_id, by=office.person("tess"), reason="a mistake")
    office.resume_gives("approval_revoked", approval_id)


def test_approval_consumed_when_it_has_been_used(office: Office) -> None:
    approval_id = office.returning.approved()
    assert office.returning.resume(approval_id) == "moved 500.0 to A7"
    office.returning.ran.clear()
    office.resume_gives("approval_consumed", approval_id)
    assert office.treasury.record(approval_id).state == "completed"


def test_approval_binding_mismatch_when_the_caller_is_another(office: Office) -> None:
    approval_id = office.returning.approved()
    office.resume_gives("approval_binding_mismatch", approval_id, principal=Principal(identity="theo", tenant="acme"))


def test_approval_unavailable_when_there_is_none_when_it_is_dismissed_and_when_no_more_may_be_pending(
    office: Office,
) -> None:
    office.resume_gives("approval_unavailable", "apr_" + "0" * 32)
    approval_id = office.returning.held()
    office.broker.dismiss("acme", approval_id, by=office.person("kim"), reason="not needed")
    office.resume_gives("approval_unavailable", approval_id)
    full = ApprovalBroker(
        office.case.store, keys=office.treasury.keys, people=office.treasury.directory, caps=PendingCaps(per_run=0)
    )
    office.returning = Desk(office.treasury, approvals=full)
    office.throwing = Desk(office.treasury, approvals=full, result_mode="throw")
    office.call_gives("approval_unavailable", call_id="one more")


def test_call_already_executed_when_a_tool_marked_once_is_called_again(office: Office) -> None:
    assert office.returning.call("balance", "{}") == "42"
    office.call_gives("call_already_executed", tool="balance", arguments="{}")


def test_a_policy_that_now_denies_gives_its_own_reason(office: Office) -> None:
    approval_id = office.returning.approved()
    frozen = RunContext(context={"frozen": True})
    office.resume_gives("accounts_frozen", approval_id, run_context=frozen)
    assert office.returning.authorize_resume(approval_id, run_context=frozen).reasons == ("accounts_frozen",)


def test_the_evidence_reaches_policy_and_the_call_runs_once(office: Office) -> None:
    approval_id = office.returning.approved()
    outcome = office.throwing.authorize_resume(approval_id, principal=KIM, run_context=RUN)
    assert outcome.code == "allowed"
    assert office.throwing.execute(outcome.permit) == "moved 500.0 to A7"
    raises_denied("permit_invalid", lambda: office.throwing.execute(outcome.permit))
    assert office.ran == [("A7", 500.0)]
