"""`approvals resume` and `recover`: what runs, what has run, and what nobody knows."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa import EmbeddedEngine, Principal, RunContext, ToolGuard, UnsafeAnyRevision
from aioc_opa.approvals.records import EffectIntent
from aioc_opa.approvals.stores import open_store
from tests.approvals.treasury import write_policy
from tests.cli.approvals_office import Office

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cli.conftest import Command

PROGRAM = Path(sys.executable).parent / "aioc-opa"

SERVICE = """
import dataclasses
import json
import os
from pathlib import Path

from aioc_opa.access.gate import AccessGate
from aioc_opa.access.identities import IdentityBinding, IdentityBindings
from aioc_opa import AsyncToolGuard, EmbeddedEngine, Principal, RunContext, ToolGuard, UnsafeAnyRevision
from aioc_opa.approvals.broker import ApprovalBroker
from aioc_opa.approvals.keys import VoteKeys
from aioc_opa.approvals.people import PeopleFile
from aioc_opa.approvals.resumption import Resumption
from aioc_opa.approvals.stores import open_store
from aioc_opa.errors import ArgumentIssue, ToolArgumentsValidationError

HERE = Path(__file__).parent
engine = EmbeddedEngine(HERE / "policy")
broker = ApprovalBroker(
    open_store(str(HERE / "approvals.db")),
    keys=VoteKeys.from_file(HERE / "keys.json"),
    people=PeopleFile(HERE / "people.json"),
)


def guard_of(kind, mode="throw", access=None):
    guard = kind(engine, revision_gate=UnsafeAnyRevision(), approvals=broker, result_mode=mode, access=access)

    @guard.tool(version="1")
    def transfer(to: str, amount: float, fail: bool = False) -> dict[str, object]:
        "Move money."
        with (HERE / "moved").open("a") as file:
            file.write(f"{to} {amount}\\n")
        if fail:
            raise ValueError("canary-of-the-tool")
        return {"moved": amount, "note": "canary\\u202e"}

    return guard


def made(kind, record, mode="throw", frozen=False):
    principal = Principal(identity=record.bindings.identity, tenant=record.tenant, roles=("clerk",))
    context = RunContext(run_id=record.bindings.run_id, context={"frozen": frozen})
    return Resumption(guard=guard_of(kind, mode), principal=principal, run_context=context)


def resumption(record):
    return made(ToolGuard, record)


def of_async(record):
    return made(AsyncToolGuard, record)


def as_result(record):
    return made(ToolGuard, record, "tool_result")


def frozen(record):
    return made(ToolGuard, record, frozen=True)


def broken(record):
    raise RuntimeError("canary")


def wrong(record):
    return {"guard": record}


def unprintable(record):
    made = resumption(record)
    tool = made.guard._core.registry.find("transfer")
    object.__setattr__(tool, "handler", lambda **_: object())
    return made


class Refusing:
    def resume(self, approval_id, **options):
        issue = ArgumentIssue(code="too_late", path=("amount",), message="not after noon")
        raise ToolArgumentsValidationError(tool_name="transfer", stage="schema", issues=[issue])


def refusing(record):
    return Resumption(guard=Refusing(), principal=None)


def without_approvals(record):
    return Resumption(guard=ToolGuard(engine, revision_gate=UnsafeAnyRevision()), principal=None)


def of_another_run(record, mode="throw"):
    principal = Principal(identity=record.bindings.identity, tenant=record.tenant, roles=("clerk",))
    return Resumption(guard=guard_of(ToolGuard, mode), principal=principal, run_context=RunContext(run_id="run-2"))


def as_result_of_another_run(record):
    return of_another_run(record, "tool_result")


def toolless(record):
    guard = ToolGuard(engine, revision_gate=UnsafeAnyRevision(), approvals=broker)
    return dataclasses.replace(made(ToolGuard, record), guard=guard)


def gated(record, capability=None):
    bound = IdentityBinding(identity="kim", tenant="acme", tools=frozenset({"transfer"}))
    gate = AccessGate(identities=IdentityBindings([bound]), capabilities={"payments": ["transfer"]})
    guard = guard_of(ToolGuard, access=gate)
    return dataclasses.replace(made(ToolGuard, record), guard=guard, capability=capability)


def gated_and_capable(record):
    return gated(record, "payments")


def without_arguments(record):
    assert record.payload is None and record.bindings.tool_name == "transfer"
    return made(ToolGuard, record)


number = 5
"""


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_policy(tmp_path_factory.mktemp("treasury") / "policy")


@pytest.fixture
def office(tmp_path: Path, aioc: Command, policy: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Office]:
    made = Office(tmp_path, str(tmp_path / "approvals.db"), aioc)
    made.set_up("treasurer")
    (tmp_path / "policy").symlink_to(policy)
    (tmp_path / "service.py").write_text(SERVICE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    yield made
    service = sys.modules.pop("service", None)
    if service is not None:
        service.broker.store.close()
        service.engine.close()


def held(office: Office, arguments: str = '{"to": "A7", "amount": 500}') -> str:
    """A transfer that a guard of this process has held."""
    with closing(EmbeddedEngine(office.folder / "policy")) as engine, closing(open_store(office.store)) as store:
        guard = ToolGuard(engine, revision_gate=UnsafeAnyRevision(), approvals=office.broker(store))

        @guard.tool(version="1")
        def transfer(to: str, amount: float, fail: bool = False) -> dict[str, object]:  # noqa: FBT002 - an argument
            "Move money."
            return {}

        outcome: Any = guard.authorize(
            "transfer",
            arguments,
            agent_name="clerk",
            principal=Principal(identity="kim", tenant="acme", roles=("clerk",)),
            run_context=RunContext(run_id="run-1", context={"frozen": False}),
        )
    assert outcome.approval_id, outcome
    return str(outcome.approval_id)


def resume(office: Office, approval_id: str, factory: str = "resumption", *more: str) -> Any:
    return office.run("resume", approval_id, "--tenant", "acme", "--app", f"service:{factory}", *more)


def moved(office: Office) -> list[str]:
    path = office.folder / "moved"
    return path.read_text().splitlines() if path.exists() else []


def test_an_approved_call_runs_in_another_process_once_and_its_result_is_not_printed(office: Office) -> None:
    approval_id = held(office)
    assert office.approve("ann", approval_id).status == 0
    command = [PROGRAM, "approvals", "resume", approval_id, "--store", office.store, "--tenant", "acme", "--app", "service:resumption"]  # fmt: skip
    first, second = (
        subprocess.run(command, cwd=office.folder, capture_output=True, text=True, check=False) for _ in range(2)
    )
    assert (first.returncode, first.stdout) == (0, "the tool ran and returned a value of type dict\n"), first.stderr
    assert second.returncode == 10
    assert "approval_consumed" in second.stderr
    assert moved(office) == ["A7 500.0"]
    assert office.record(approval_id).outcome == "returned"
    looked = office.run("access-log", approval_id, "--json").document["accesses"]
    assert [each["action"] for each in looked].count("resume") >= 2


def test_the_result_is_shown_on_request_without_characters_that_act(office: Office) -> None:
    approval_id = held(office)
    assert office.approve("ann", approval_id).status == 0
    found = resume(office, approval_id, "of_async", "--show-result")
    assert found.status == 0
    assert found.out.splitlines()[1:] == ["moved: 500", 'note: "canary\\u202e"']


def test_a_result_that_is_no_json_is_not_printed(office: Office) -> None:
    approval_id = held(office)
    assert office.approve("ann", approval_id).status == 0
    found = resume(office, approval_id, "unprintable", "--show-result")
    assert found.out == "the tool ran and returned a value of type object\n"
    assert "no JSON value" in found.err


def test_a_refusal_says_its_code_and_what_an_operator_can_do(office: Office) -> None:
    approval_id = held(office)
    assert office.approve("ann", approval_id).status == 0
    for factory, code, advice in (
        ("of_another_run", "approval_binding_mismatch", "a run_context of another run"),
        ("as_result_of_another_run", "approval_binding_mismatch", "a run_context of another run"),
        ("gated", "tool_not_authorized", "Resumption(capability=…)"),
        ("toolless", "tool_not_registered", "register it"),
    ):
        found = resume(office, approval_id, factory)
        assert found.status == 10, found
        assert f"{code}: " in found.err
        assert advice in found.err
        assert "--verbose" in found.err
    assert office.record(approval_id).state == "approved"
    assert moved(office) == []
    capable = resume(office, approval_id, "gated_and_capable")
    assert capable.status == 0, capable.err
    assert "no audit record is made of this: the guard of --app has no audit trail" in capable.err


def test_the_factory_is_given_the_record_without_arguments(office: Office) -> None:
    approval_id = held(office)
    assert office.approve("ann", approval_id).status == 0
    assert resume(office, approval_id, "without_arguments").status == 0


def test_what_nobody_has_decided_does_not_run(office: Office) -> None:
    approval_id = held(office)
    for factory in ("resumption", "as_result"):
        found = resume(office, approval_id, factory)
        assert found.status == 11
        assert "the tool did not run" in found.err
    assert moved(office) == []


def test_a_policy_that_now_denies_wins(office: Office) -> None:
    approval_id = held(office)
    assert office.approve("ann", approval_id).status == 0
    found = resume(office, approval_id, "frozen")
    assert found.status == 10
    assert "accounts_frozen" in found.err
    assert moved(office) == []
    assert office.record(approval_id).state == "approved"


def test_a_rejected_call_is_denied_in_either_mode(office: Office) -> None:
    approval_id = held(office)
    digest = office.review_hash(approval_id)
    assert office.as_person("ann", "reject", approval_id, "--yes-hash", digest).status == 0
    for factory in ("resumption", "as_result"):
        found = resume(office, approval_id, factory)
        assert found.status == 10
        assert "approval_rejected" in found.err


def test_a_tool_that_raises_has_run_and_says_so_without_its_words(office: Office) -> None:
    approval_id = held(office, '{"to": "A7", "amount": 500, "fail": true}')
    assert office.approve("ann", approval_id).status == 0
    found = resume(office, approval_id)
    assert found.status == 1
    assert "the tool ran and raised ValueError: its effect may have happened" in found.err
    assert "canary" not in found.out + found.err
    assert office.record(approval_id).outcome == "raised"
    assert resume(office, approval_id).status == 10


def test_arguments_that_the_tools_own_validators_refuse_now(office: Office) -> None:
    found = resume(office, held(office), "refusing")
    assert found.status == 12
    assert "the tool did not run" in found.err
    assert "not after noon" in found.err


def test_a_guard_without_approvals_is_a_wrong_set_up(office: Office) -> None:
    assert resume(office, held(office), "without_approvals").status == 3


@pytest.mark.parametrize(
    ("app", "status", "said"),
    [
        ("service", 2, "MODULE:FACTORY"),
        ("service:", 2, "MODULE:FACTORY"),
        ("no_such_module:x", 3, "ModuleNotFoundError"),
        ("service:nothing", 3, "AttributeError"),
        ("service:number", 3, "no function"),
        ("service:broken", 3, "the factory raised RuntimeError; the tool did not run"),
        ("service:wrong", 3, "must return an aioc_opa.approvals.resumption.Resumption"),
    ],
)
def test_an_application_that_cannot_be_used(office: Office, app: str, status: int, said: str) -> None:
    found = office.run("resume", held(office), "--tenant", "acme", "--app", app)
    assert found.status == status
    assert said in found.err
    assert "canary" not in found.err


def test_resuming_what_is_not_there(office: Office) -> None:
    found = office.run("resume", "apr_" + "0" * 32, "--app", "service:resumption")
    assert found.status == 3
    assert "give --tenant" in found.err


# -- recover


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


def recover(office: Office, *arguments: str) -> Any:
    own = office.own_files("ann") if "--settle" in arguments else []
    return office.run("recover", "--older-than", "0", *own, *arguments)


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
