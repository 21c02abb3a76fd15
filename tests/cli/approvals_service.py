"""An application with guards, for `approvals resume --app service:…`, and how the commands are run on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.cli.approvals_office import Office


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


def resume(office: Office, approval_id: str, factory: str = "resumption", *more: str) -> Any:
    return office.run("resume", approval_id, "--tenant", "acme", "--app", f"service:{factory}", *more)


def moved(office: Office) -> list[str]:
    path = office.folder / "moved"
    return path.read_text().splitlines() if path.exists() else []


def recover(office: Office, *arguments: str) -> Any:
    own = office.own_files("ann") if "--settle" in arguments else []
    return office.run("recover", "--older-than", "0", *own, *arguments)
