"""A guard of the treasury, sync or async, and a store that is watched: what tests of the guard's approvals share."""

from __future__ import annotations

import asyncio
import inspect
import json
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa import AsyncToolGuard, ToolGuard, UnsafeAnyRevision
from aioc_opa.errors import ToolCallPolicyDeniedError
from aioc_opa.models.outcome import Denied
from aioc_opa.models.refusal_result import RefusalResult
from aioc_opa.packs.routes_file import write_routes
from tests.approvals.treasury import CALL, KIM, RUN, Treasury, write_policy

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_CONTEXT_HOLDS = """
# METADATA
# title: In a time of trouble two persons decide
require_approval contains verdict if {
	input.toolName == "transfer"
	object.get(input.runContext.context, "heightened", false) == true
	verdict := verdicts.hold_with("heightened", approvals.by_persons(["cfo", "treasurer"], 2))
}

# METADATA
# title: In a time of trouble nobody closes the books alone
require_approval contains verdict if {
	input.toolName == "close_books"
	object.get(input.runContext.context, "heightened", false) == true
	verdict := verdicts.hold_with("heightened", approvals.by(["treasurer"]))
}
"""


def write_desk_policy(folder: Path, *, stricter: bool = False) -> Path:
    """The treasury's policy, which may ask for more by context; the stricter one asks for two persons above 10."""
    write_policy(folder)
    pack = folder / "aioc" / "packs" / "treasury"
    source = (pack / "treasury.rego").read_text() + _CONTEXT_HOLDS
    (pack / "treasury.rego").write_text(source.replace("amount <= 1000", "amount <= 10") if stricter else source)
    data = json.loads((pack / "data.json").read_text())
    data["manifest"]["codes"] = sorted([*data["manifest"]["codes"], "heightened"])
    for tool in ("close_books", "transfer"):
        data["manifest"]["tools"][tool]["context"]["properties"]["heightened"] = {"type": "boolean"}
    (pack / "data.json").write_text(json.dumps(data))
    write_routes(folder)
    return folder


class Desk:
    """A treasury's guard, called as if it were sync whichever it is. `ran` has what its handlers did."""

    def __init__(self, treasury: Treasury, kind: str = "sync", **settings: Any) -> None:
        self.treasury = treasury
        self.kind = kind
        self.ran: list[Any] = []
        self.inside: Callable[[], Any] = lambda: None
        made = {
            "revision_gate": UnsafeAnyRevision(),
            "approvals": treasury.broker,
            "result_mode": "tool_result",
            **settings,
        }
        self.guard: Any = (ToolGuard if kind == "sync" else AsyncToolGuard)(treasury.engine, **made)
        if kind == "async":

            async def transfer(to: str, amount: float) -> str:
                """Move money."""
                self.ran.append((to, amount))
                gone_on = self.inside()
                return f"moved {amount} to {to}" if gone_on is None else str(await gone_on)
        else:

            def transfer(to: str, amount: float) -> str:  # type: ignore[misc] # the other kind of handler
                """Move money."""
                self.ran.append((to, amount))
                self.inside()
                return f"moved {amount} to {to}"

        def balance() -> str:
            self.ran.append("balance")
            self.inside()
            return "42"

        def close_books() -> str:
            self.ran.append("close_books")
            return "closed"

        self.guard.register_function(transfer, name="transfer", version="1")
        self.guard.register_function(balance, name="balance", once=self.guard._core.effects is not None)
        self.guard.register_function(close_books, name="close_books")

    def authorize(self, tool: str = "transfer", arguments: Any = None, **options: Any) -> Any:
        raw = '{"to": "A7", "amount": 500}' if arguments is None else arguments
        return finished(self.guard.authorize(tool, raw, **{**CALL, **options}))

    def call(self, tool: str = "transfer", arguments: Any = None, **options: Any) -> Any:
        raw = '{"to": "A7", "amount": 500}' if arguments is None else arguments
        return finished(self.guard.call(tool, raw, **{**CALL, **options}))

    def authorize_resume(self, approval_id: str, **options: Any) -> Any:
        return finished(self.guard.authorize_resume(approval_id, **{"principal": KIM, "run_context": RUN, **options}))

    def resume(self, approval_id: str, **options: Any) -> Any:
        return finished(self.guard.resume(approval_id, **{"principal": KIM, "run_context": RUN, **options}))

    def execute(self, permit: Any) -> Any:
        return finished(self.guard.execute(permit))

    def held(self, arguments: Any = None, tool: str = "transfer", **options: Any) -> str:
        """The id of the request that a held call makes."""
        outcome = self.authorize(tool, arguments, **options)
        assert outcome.approval_id is not None, outcome
        return str(outcome.approval_id)

    def approved(self, arguments: Any = None, **options: Any) -> str:
        """The id of a request that tess has approved."""
        approval_id = self.held(arguments, **options)
        assert self.treasury.vote(approval_id).state == "approved"
        return approval_id

    def refuses(self, reason: str, approval_id: str, **options: Any) -> None:
        """Resuming is denied with `reason`, for callers and for the audit, and no handler is entered."""
        before = list(self.ran)
        outcome = self.authorize_resume(approval_id, **options)
        assert isinstance(outcome, Denied), outcome
        assert (outcome.code, outcome.audit_code) == (reason, reason)
        delivered = self.resume(approval_id, **options)
        assert isinstance(delivered, RefusalResult)
        assert (delivered.status, delivered.code) == ("denied", reason)
        assert self.ran == before


def finished(value: Any) -> Any:
    """`value`, or what awaiting it gives."""

    async def awaited() -> Any:
        return await value

    return asyncio.run(awaited()) if inspect.isawaitable(value) else value


def raises_denied(reason: str, act: Callable[[], Any]) -> None:
    """`act` raises the refusal with `reason`, as a guard in mode ``throw`` does."""
    with pytest.raises(ToolCallPolicyDeniedError) as caught:
        act()
    assert (caught.value.code, caught.value.denied.audit_code) == (reason, reason)
    assert caught.value.public_reason == caught.value.denied.public_reason != ""


class Watched:
    """A real store that tells what it is asked, and in which something can go wrong or happen meanwhile.

    Attributes:
        asked: the names of the steps, in order.
        failing: an error to raise, by step, before the step is made.
        after: what happens when a step has been made.
    """

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.asked: list[str] = []
        self.failing: dict[str, BaseException] = {}
        self.after: dict[str, Callable[[], Any]] = {}

    def __getattr__(self, name: str) -> Any:
        step = getattr(self.inner, name)
        if not callable(step):
            return step

        def watched(*args: Any, **kwargs: Any) -> Any:
            self.asked.append(name)
            if name in self.failing:
                raise self.failing[name]
            result = step(*args, **kwargs)
            if name in self.after:
                self.after[name]()
            return result

        return watched
