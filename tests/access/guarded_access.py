"""A gate with allow-lists, and guards of both kinds behind it."""

from __future__ import annotations

import asyncio
import inspect
import json
from typing import Any

from aioc_opa import (
    AsyncToolGuard,
    Principal,
    RunContext,
    ToolGuard,
    UnsafeAnyRevision,
)
from aioc_opa.access.gate import AccessGate
from aioc_opa.access.identities import IdentityBinding, IdentityBindings
from tests.doubles import ScriptedEngine

CANARY = "sk-canary-51c2"
KIM = Principal(identity="kim", roles=("operator",))
CALL: dict[str, Any] = {
    "agent_name": "support",
    "principal": KIM,
    "run_context": RunContext(run_id="run-1", context={"note": CANARY}),
    "call_id": "call-1",
}
ARGUMENTS = json.dumps({"order": CANARY})


class Both:
    """The same questions to a guard of either kind."""

    def __init__(self, kind: str, engine: ScriptedEngine | None = None, **settings: Any) -> None:
        made: Any = ToolGuard if kind == "sync" else AsyncToolGuard
        self.engine = engine or ScriptedEngine()
        self.entered: list[str] = []
        self.guard = made(self.engine, revision_gate=UnsafeAnyRevision(), **settings)

        @self.guard.tool(cost=2)
        def refund(order: str) -> str:
            self.entered.append(order)
            return "paid back"

        @self.guard.tool()
        def purge(order: str) -> str:
            self.entered.append(order)
            return "gone"

    def authorize(self, tool: str = "refund", arguments: Any = ARGUMENTS, **options: Any) -> Any:
        return self._ran(self.guard.authorize(tool, arguments, **{**CALL, **options}))

    def call(self, tool: str = "refund", arguments: Any = ARGUMENTS, **options: Any) -> Any:
        return self._ran(self.guard.call(tool, arguments, **{**CALL, **options}))

    @staticmethod
    def _ran(value: Any) -> Any:
        async def ran() -> Any:
            return await value

        return asyncio.run(ran()) if inspect.isawaitable(value) else value


def gate(**parts: Any) -> AccessGate:
    binding = IdentityBinding(identity="kim", tenant="acme", tools=frozenset({"refund"}))
    return AccessGate(identities=parts.pop("identities", IdentityBindings([binding])), **parts)
