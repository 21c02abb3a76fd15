"""`resume`: states and times, the directory between vote and use, and another process (design 3.5)."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa import ConfigurationError, Principal, ToolGuard, UnsafeAnyRevision
from aioc_opa.approvals.broker import ApprovalBroker
from aioc_opa.approvals.people import PeopleTable, Person, PersonEntry
from aioc_opa.core.approvals.digests import terms_digest
from aioc_opa.models.outcome import Allowed, Denied, Suspended
from tests.approvals.desk import Desk
from tests.approvals.treasury import ISSUER, Treasury
from tests.conftest import ROOT
from tests.doubles import ScriptedEngine, allowing, denying, holding

if TYPE_CHECKING:
    from pathlib import Path

    from aioc_opa.engines.protocol import Engine
    from tests.approvals.store_cases import SqlCase


MISMATCH = "approval_binding_mismatch"


def test_a_pending_resume_is_suspended_with_the_same_approval_id_and_proposal(desk: Desk) -> None:
    first = desk.authorize(arguments='{"amount": 500, "to": "A7"}', turn=3)
    again = desk.authorize_resume(first.approval_id)
    assert isinstance(again, Suspended)
    assert again.approval_id == first.approval_id
    unlike = {"timestamp"}
    assert again.proposal.model_dump(exclude=unlike) == first.proposal.model_dump(exclude=unlike)
    assert (again.code, again.reasons, again.public_reason) == (first.code, first.reasons, first.public_reason)
    delivered = desk.resume(first.approval_id)
    assert (delivered.status, delivered.data["approvalId"]) == ("approval_required", first.approval_id)
    assert desk.ran == []


def test_other_principals_of_the_tenant_never_see_the_proposal(desk: Desk) -> None:
    approval_id = desk.held('{"to": "CANARY", "amount": 500}')
    outcome = desk.authorize_resume(approval_id, principal=Principal(identity="vic", tenant="acme"))
    assert isinstance(outcome, Denied)
    assert outcome.code == MISMATCH
    assert "CANARY" not in repr(outcome)
    assert [entry.action for entry in desk.treasury.store.access_log("acme", approval_id)] == []


def test_every_resume_is_in_the_access_log(desk: Desk) -> None:
    approval_id = desk.held()
    desk.authorize_resume(approval_id)
    entries = desk.treasury.store.access_log("acme", approval_id)
    assert [(entry.who, entry.action) for entry in entries] == [("runtime", "resume")]


def test_a_permit_consumes_nothing_until_it_is_executed(desk: Desk) -> None:
    approval_id = desk.approved()
    for _ in range(2):
        assert isinstance(desk.authorize_resume(approval_id), Allowed)
    assert desk.treasury.record(approval_id).state == "approved"


def test_a_late_permit_runs_nothing_and_leaves_the_grant(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    approval_id = desk.approved()
    permit = desk.authorize_resume(approval_id).permit
    real = time.monotonic
    with monkeypatch.context() as later:
        later.setattr(time, "monotonic", lambda: real() + 30.0)
        assert desk.execute(permit).code == "permit_invalid"
    assert desk.ran == []
    assert desk.treasury.record(approval_id).state == "approved"
    assert desk.resume(approval_id) == "moved 500.0 to A7"


@pytest.mark.parametrize("step", ["expired", "revoked"])
def test_what_ends_between_permit_and_effect_runs_nothing(
    treasury: Treasury, kind: str, sqlite_case: SqlCase, step: str
) -> None:
    desk = Desk(treasury, kind)
    approval_id = desk.approved()
    permit = desk.authorize_resume(approval_id).permit
    if step == "expired":
        sqlite_case.age(approval_id, 3_600_000)
    else:
        treasury.broker.revoke("acme", approval_id, by=treasury.directory.current("p-theo"), reason="no")
    assert desk.execute(permit).code == f"approval_{step}"
    assert desk.ran == []


def test_arguments_that_are_not_kept_any_more_are_unavailable(desk: Desk, sqlite_case: SqlCase) -> None:
    approval_id = desk.approved()
    sqlite_case.sql("UPDATE aioc_approvals SET payload = NULL")
    desk.refuses("approval_unavailable", approval_id)


def test_a_tool_that_is_gone_looks_like_one_that_is_forbidden(treasury: Treasury) -> None:
    approval_id = Desk(treasury).approved()
    empty = Desk(treasury)
    empty.guard = ToolGuard(treasury.engine, revision_gate=UnsafeAnyRevision(), approvals=treasury.broker)
    outcome = empty.authorize_resume(approval_id)
    assert (outcome.code, outcome.audit_code) == ("tool_not_authorized", "tool_not_registered")


def test_without_approvals_there_is_nothing_to_resume(treasury: Treasury, kind: str) -> None:
    with pytest.raises(ConfigurationError, match="has no approvals"):
        Desk(treasury, kind, approvals=None).authorize_resume("apr_x")


def test_a_call_of_nobody_is_resumed_by_nobody(desk: Desk) -> None:
    """Terms without separation of duties need no requester: `close_books` may be approved by who asks."""
    approval_id = desk.held("{}", tool="close_books", principal=None)
    treasury = desk.treasury
    treasury.broker.cast("", approval_id, treasury.signed(approval_id, "theo", record=treasury.record(approval_id, "")))
    desk.refuses("approval_unavailable", approval_id)  # kim is of a tenant
    desk.refuses(MISMATCH, approval_id, principal=Principal(identity="kim"))
    assert desk.resume(approval_id, principal=None) == "closed"


# The directory, between vote and use.


def _directory(*changed: PersonEntry, without: str = "") -> PeopleTable:
    given = {entry.person.person_id: entry for entry in changed}
    names = {"kim": "clerk", "tess": "treasurer", "theo": "treasurer"}
    entries = [
        given.get(
            f"p-{name}",
            PersonEntry(Person(f"p-{name}", frozenset({role}), None), accounts=((ISSUER, name),), identities=(name,)),
        )
        for name, role in names.items()
        if name != without
    ]
    return PeopleTable(entries, services=[])


def _tess(roles: frozenset[str], tenants: frozenset[str] | None = None) -> PersonEntry:
    return PersonEntry(Person("p-tess", roles, tenants), accounts=((ISSUER, "tess"),), identities=("tess",))


@pytest.mark.parametrize(
    "directory",
    [
        pytest.param(_directory(without="tess"), id="voter-gone"),
        pytest.param(_directory(_tess(frozenset({"visitor"}))), id="role-lost"),
        pytest.param(_directory(_tess(frozenset({"treasurer"}), frozenset({"other"}))), id="tenant-left"),
    ],
)
def test_a_voter_who_may_not_vote_any_more_counts_no_more(desk: Desk, directory: PeopleTable) -> None:
    approval_id = desk.approved()
    treasury = desk.treasury
    broker = ApprovalBroker(treasury.store, keys=treasury.keys, people=directory)
    Desk(treasury, desk.kind, approvals=broker).refuses(MISMATCH, approval_id)


def test_a_requester_who_turns_out_to_be_the_voter_makes_the_vote_void(desk: Desk) -> None:
    approval_id = desk.approved()
    entry = PersonEntry(
        Person("p-tess", frozenset({"treasurer"}), None), accounts=((ISSUER, "tess"),), identities=("tess", "kim")
    )
    directory = PeopleTable([entry], services=[])
    broker = ApprovalBroker(desk.treasury.store, keys=desk.treasury.keys, people=directory)
    Desk(desk.treasury, desk.kind, approvals=broker).refuses(MISMATCH, approval_id)


def test_a_requester_whom_the_directory_does_not_know_any_more_could_be_anybody(desk: Desk) -> None:
    approval_id = desk.approved()
    broker = ApprovalBroker(desk.treasury.store, keys=desk.treasury.keys, people=_directory(without="kim"))
    Desk(desk.treasury, desk.kind, approvals=broker).refuses("approval_unavailable", approval_id)


def test_a_directory_that_fails_is_unavailable(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    approval_id = desk.approved()

    class Down:
        def __getattr__(self, name: str) -> Any:
            raise RuntimeError("CANARY")

    broker = ApprovalBroker(desk.treasury.store, keys=desk.treasury.keys, people=Down())  # type: ignore[arg-type] # it is down
    Desk(desk.treasury, desk.kind, approvals=broker).refuses("approval_unavailable", approval_id)
    assert "CANARY" not in caplog.text


# What only a lying engine would do: the same revision, another answer.


@pytest.mark.parametrize(
    ("answer", "revision", "reason"),
    [
        (denying, '{"scripted":"1"}', "because"),
        (denying, '{"scripted":"2"}', "because"),
        (holding, '{"scripted":"1"}', MISMATCH),
        (allowing, '{"scripted":"2"}', MISMATCH),
        (allowing, None, MISMATCH),
        (lambda _: RuntimeError("down"), '{"scripted":"1"}', "policy_unavailable"),
    ],
    ids=["deny", "deny-other-revision", "hold", "allow-other-revision", "no-revision", "down"],
)
def test_only_an_allow_of_the_same_revision_runs(
    sqlite_case: SqlCase, kind: str, answer: Any, revision: str | None, reason: str
) -> None:
    engine = ScriptedEngine(_asks_for_a_treasurer)
    treasury = Treasury(engine=engine, store=sqlite_case.store)
    desk = Desk(treasury, kind)
    approval_id = desk.approved()
    engine.answer, engine.revision = answer, revision
    desk.refuses(reason, approval_id)
    engine.answer, engine.revision = allowing, '{"scripted":"1"}'
    assert desk.resume(approval_id) == "moved 500.0 to A7"


def _asks_for_a_treasurer(question: dict[str, Any]) -> dict[str, Any]:
    held = holding(question)
    held["approval"]["requirements"][0]["approverRoles"] = ["treasurer"]
    return held


def test_the_terms_digest_is_of_the_stored_terms(desk: Desk) -> None:
    record = desk.treasury.record(desk.held())
    assert record.bindings.terms_digest == terms_digest(record.terms)


# Another process.

_RESUME = """
import sys
from pathlib import Path
from aioc_opa import EmbeddedEngine
from aioc_opa.approvals.keys import VoteKeys
from aioc_opa.approvals.stores import open_store
from tests.approvals.desk import Desk
from tests.approvals.treasury import Treasury
from aioc_opa.approvals.broker import ApprovalBroker
target, policy, approval_id, keys = sys.argv[1:]
store = open_store(target)
treasury = Treasury(engine=EmbeddedEngine(Path(policy)), store=store)
broker = ApprovalBroker(store, keys=VoteKeys.from_file(keys), people=treasury.directory)
desk = Desk(treasury, approvals=broker)
for _ in range(2):
    result = desk.resume(approval_id)
    sys.stdout.write((result if isinstance(result, str) else result.code) + "\\n")
store.close()
"""


def test_resume_from_another_process_runs_once(
    sql_case: SqlCase, treasury_engines: dict[str, Engine], tmp_path: Path, treasury_policy: Path
) -> None:
    treasury = Treasury(engine=treasury_engines["opa"], store=sql_case.store)
    desk = Desk(treasury)
    approval_id = desk.approved()
    keys = tmp_path / "keys.json"
    keys.write_text(json.dumps({"keys": [treasury.authority.public_entry().to_json()]}))
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", _RESUME, sql_case.target, str(treasury_policy), approval_id, str(keys)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["moved 500.0 to A7", "approval_consumed"]
    desk.refuses("approval_consumed", approval_id)
    assert treasury.record(approval_id).outcome == "returned"
