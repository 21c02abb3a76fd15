"""`approvals resume`: what runs, and what does not."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa import EmbeddedEngine, Principal, RunContext, ToolGuard, UnsafeAnyRevision
from aioc_opa.approvals.stores import open_store
from tests.cli.approvals_service import moved, resume

if TYPE_CHECKING:
    from tests.cli.approvals_office import Office


PROGRAM = Path(sys.executable).parent / "aioc-opa"


@pytest.fixture
def office(service_office: Office) -> Office:
    return service_office


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
