"""The service of a set-up: a process with guards, which is told on standard input what to call, one JSON line each.

Five guards share an engine, a store and the tools: ``required`` and ``best_effort`` by their audit, ``budget`` with an
access gate, ``hasty`` with bundles that grow too old within seconds, and ``counted``, which asks for a counter and no
age. An effect is a line that is on disk before the
handler returns, so that its count says how often a call has run.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aioc_opa import OpaServerEngine, RunContext, ToolGuard, UnsafeAnyRevision
from aioc_opa.access.budgets import BudgetLimits, Budgets
from aioc_opa.access.gate import AccessGate
from aioc_opa.access.identities import IdentityBinding, IdentityBindings
from aioc_opa.access.sql_budgets import SqlBudgetLedger
from aioc_opa.approvals.broker import ApprovalBroker
from aioc_opa.approvals.keys import VoteKeys
from aioc_opa.approvals.stores import open_store
from aioc_opa.audit.keys import AuditKey
from aioc_opa.audit.sql import SqlSink
from aioc_opa.audit.trail import AuditTrail, Mode
from aioc_opa.bundle_freshness import FreshBundles
from aioc_opa.engines.opa_admin import OpaAdmin
from aioc_opa.revision_gates import AllOf, MinimumCounters
from aioc_opa.storage import postgres_connection
from tests.approvals.treasury import KIM, people

if TYPE_CHECKING:
    from aioc_opa.models.invocation import Invocation
    from aioc_opa.revision_gate import RevisionGate

FROZEN = {"frozen": False}
DEADLINE_SECONDS = 2.0
HASTY_SECONDS = 4.0
LONG_SECONDS = 3600.0


class Service:
    """The guards of one process."""

    def __init__(self, folder: Path, opa: str, database: str, counter: int) -> None:
        self.folder = folder
        self.token_file = folder / "token"
        self.opa = opa
        self.database = database
        self.counter = counter
        self.engine = OpaServerEngine(opa, token_file=self.token_file)
        self.store = open_store(database)
        keys = VoteKeys.from_file(folder / "keys.json")
        self.broker = ApprovalBroker(self.store, keys=keys, people=people(), poll_seconds=0.05)
        self.trails = {mode: self.trail(mode) for mode in ("required", "best_effort")}
        kim = IdentityBinding(identity="kim", tenant="acme", tools=frozenset({"transfer"}))
        budgets = Budgets(SqlBudgetLedger.open(database), BudgetLimits(calls_per_run=1000))
        long = self.fresh(LONG_SECONDS)
        self.guards = {
            "required": self.guard(long, audit=self.trails["required"]),
            "best_effort": self.guard(long, audit=self.trails["best_effort"]),
            "budget": self.guard(long, access=AccessGate(identities=IdentityBindings([kim]), budgets=budgets)),
            "hasty": self.guard(self.fresh(HASTY_SECONDS)),
            "counted": self.guard(UnsafeAnyRevision()),
        }

    def trail(self, mode: Mode) -> AuditTrail:
        key = AuditKey.load(self.folder / "writer.key")
        return AuditTrail(SqlSink(self.database), writer=f"service-{mode}", key=key, mode=mode, timeout_seconds=2.0)

    def fresh(self, seconds: float) -> FreshBundles:
        def connect() -> OpaAdmin:
            return OpaAdmin(self.opa, token_file=self.token_file, timeout_seconds=2.0)

        return FreshBundles(connect, bundles=["tools"], max_age_seconds=seconds, refresh_seconds=0.1)

    def guard(self, age: RevisionGate, **more: Any) -> ToolGuard:
        guard = ToolGuard(
            self.engine,
            revision_gate=AllOf(age, MinimumCounters({"tools": self.counter}, remember=False)),
            approvals=self.broker,
            result_mode="tool_result",
            deadline=DEADLINE_SECONDS,
            **more,
        )

        @guard.tool(version="1", inject={"run": _run_of})
        def transfer(to: str, amount: float, run: str) -> str:
            """Move money."""
            if to == "killed before":
                self.note("entered", run)
                signal.pause()
            self.note("effects", run)
            if to == "killed after":
                self.note("entered", run)
                signal.pause()
            return "ran"

        return guard

    def note(self, name: str, line: str) -> None:
        file = os.open(self.folder / name, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        try:
            os.write(file, f"{line}\n".encode())
            os.fsync(file)
        finally:
            os.close(file)

    def answer(self, told: dict[str, Any]) -> dict[str, Any]:
        guard = self.guards[told["guard"]]
        if told["do"] == "resume":
            run_context = RunContext(context=FROZEN)
            return {"said": _said(guard.resume(told["approval"], principal=KIM, run_context=run_context))}
        if told["do"] == "lost":
            trail = self.trails["best_effort"]
            trail.flush()
            return {"dropped": trail.counts.dropped}
        arguments = json.dumps({"to": told["to"], "amount": told["amount"]})
        around: dict[str, Any] = {
            "agent_name": "clerk",
            "principal": KIM,
            "run_context": RunContext(run_id=told["run"], context=FROZEN),
            "call_id": "call-1",
        }
        if told["do"] == "hold":
            outcome = guard.authorize("transfer", arguments, **around)
            return {"said": outcome.code, "approval": getattr(outcome, "approval_id", None)}
        return {"said": _said(guard.call("transfer", arguments, **around))}


def _said(result: Any) -> str:
    return "ran" if result == "ran" else str(result.code)


def _run_of(invocation: Invocation) -> str:
    return invocation.run_id


def main(folder: str, opa: str, database: str, counter: str) -> None:
    postgres_connection.ANSWER_SECONDS = 2.0  # type: ignore[misc]  # a test need not wait for twelve
    service = Service(Path(folder), opa, database, int(counter))
    for line in sys.stdin:
        sys.stdout.write(json.dumps(service.answer(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
