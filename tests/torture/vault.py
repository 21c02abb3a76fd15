"""One process's view of a treasury that all of them share: a folder with policy, key and effects, and a database.

An effect is real: a line appended to a file, on disk before the handler returns. Counting the lines says how often each
call has run, whatever a store believes.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from aioc_opa import EmbeddedEngine, RunContext, ToolGuard, UnsafeAnyRevision
from aioc_opa.access.budgets import BudgetLimits, Budgets
from aioc_opa.access.gate import AccessGate
from aioc_opa.access.identities import IdentityBinding, IdentityBindings
from aioc_opa.access.sql_budgets import SqlBudgetLedger
from aioc_opa.approvals.keys import SigningKey
from aioc_opa.approvals.stores import open_store
from tests.approvals.treasury import KIM, Treasury, write_policy

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from aioc_opa.approvals.store import ApprovalStore
    from aioc_opa.models.invocation import Invocation

FROZEN = {"frozen": False}
TOOLS = frozenset({"balance", "close_books", "transfer"})


def found_vault(folder: Path) -> Path:
    """Make what the processes share, except the database."""
    folder.mkdir()
    write_policy(folder / "policy")
    SigningKey.generate().save(folder / "key.json")
    (folder / "effects").touch()
    return folder


def effects(folder: Path) -> Counter[str]:
    """How often each ``tool run`` has had its effect."""
    return Counter((folder / "effects").read_text().splitlines())


def call(run: str, number: int = 0) -> dict[str, Any]:
    """What surrounds a call of `run`."""
    context = RunContext(run_id=run, context=FROZEN)
    return {"agent_name": "clerk", "principal": KIM, "run_context": context, "call_id": f"call-{number}"}


def nothing(_moment: str) -> None:
    """Lets the handler be."""


@dataclass
class Vault:
    """Store, guard and people in this process. Use as a context manager."""

    folder: Path
    target: str
    wrap: Callable[[ApprovalStore], ApprovalStore] = lambda store: store
    in_handler: Callable[[str], None] = nothing
    calls_per_run: int | None = None
    _ledger: SqlBudgetLedger | None = field(default=None, init=False)

    def __enter__(self) -> Self:
        self.engine = EmbeddedEngine(self.folder / "policy")
        self.store = open_store(self.target)
        authority = SigningKey.load(self.folder / "key.json")
        self.treasury = Treasury(self.engine, self.wrap(self.store), authority=authority)
        self.guard = self._guard()
        return self

    def __exit__(self, *_: object) -> None:
        if self._ledger is not None:
            self._ledger.close()
        self.store.close()
        self.engine.close()

    def approved(self, run: str, tool: str = "transfer") -> str:
        """The id of an approval that is ready to be used, for a call of `run`."""
        arguments = '{"to": "A7", "amount": 500}' if tool == "transfer" else "{}"
        held: Any = self.guard.authorize(tool, arguments, **call(run))
        self.treasury.vote(held.approval_id)
        return str(held.approval_id)

    def resume(self, approval_id: str) -> str:
        """``ran``, or the code of the refusal."""
        return said(self.guard.resume(approval_id, principal=KIM, run_context=RunContext(context=FROZEN)))

    def once(self, run: str) -> str:
        """``ran``, or the code of the refusal, of the call of a tool marked ``once``."""
        return said(self.guard.call("balance", "{}", **call(run)))

    def _guard(self) -> ToolGuard:
        guard = ToolGuard(
            self.engine,
            revision_gate=UnsafeAnyRevision(),
            approvals=self.treasury.broker,
            result_mode="tool_result",
            deadline=60.0,
            access=None if self.calls_per_run is None else self._gate(self.calls_per_run),
        )
        inject = {"run": _run_of}

        @guard.tool(inject=inject)
        def transfer(to: str, amount: float, run: str) -> str:
            return self._effect("transfer", run)

        @guard.tool(inject=inject, once=True)
        def close_books(run: str) -> str:
            return self._effect("close_books", run)

        @guard.tool(inject=inject, once=True)
        def balance(run: str) -> str:
            return self._effect("balance", run)

        return guard

    def _gate(self, calls: int) -> AccessGate:
        self._ledger = SqlBudgetLedger.open(self.target)
        kim = IdentityBinding(identity="kim", tenant="acme", tools=TOOLS)
        budgets = Budgets(self._ledger, BudgetLimits(calls_per_run=calls))
        return AccessGate(identities=IdentityBindings([kim]), budgets=budgets)

    def _effect(self, tool: str, run: str) -> str:
        self.in_handler("before its effect")
        file = os.open(self.folder / "effects", os.O_WRONLY | os.O_APPEND)
        try:
            os.write(file, f"{tool} {run}\n".encode())
            os.fsync(file)
        finally:
            os.close(file)
        self.in_handler("after its effect")
        return "ran"


def said(result: Any) -> str:
    return "ran" if result == "ran" else str(result.code)


def _run_of(invocation: Invocation) -> str:
    return invocation.run_id
