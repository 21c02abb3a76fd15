"""What the tests of the gate are made of: questions, adapters that answer by a function, and a sink that remembers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from aioc_opa.access.counters import MemoryCounters
from aioc_opa.access.gate import AccessGate, AccessGranted, AccessQuestion, AccessRefused, ToolMetadata
from aioc_opa.access.identities import IdentityBinding, IdentityBindings
from aioc_opa.engines.deadline import Deadline
from aioc_opa.models.principal import Principal
from aioc_opa.models.tool_authorization import ToolAuthorizationRequest, ToolAuthorizationResult

if TYPE_CHECKING:
    from collections.abc import Callable

    from aioc_opa.models.access_event import AccessEvent

SECONDS = 30.0
KIM = IdentityBinding(identity="kim", tenant="acme", tools=frozenset({"refund", "lookup"}))


def question(tool: object = "refund", **changes: Any) -> AccessQuestion:
    facts: dict[str, Any] = {
        "tool_name": tool,
        "registered": ToolMetadata(name=tool, version="1.0", cost=1) if type(tool) is str else None,
        "run_id": "run-1",
        "run_id_given": True,
        "call_id": "call-1",
        "request_id": os.urandom(16).hex(),
        "principal": Principal(identity="kim", tenant="claimed"),
    }
    return AccessQuestion(**(facts | changes))


class Remembering:
    """A sink that keeps every event."""

    def __init__(self) -> None:
        self.events: list[AccessEvent] = []

    def emit(self, event: AccessEvent) -> None:
        self.events.append(event)

    @property
    def types(self) -> list[str]:
        return [event.type for event in self.events]


class Adapter:
    """Sync and async policy adapter whose answer is computed; an exception is raised instead."""

    def __init__(self, answer: Callable[[ToolAuthorizationRequest], Any]) -> None:
        self.answer = answer
        self.requests: list[ToolAuthorizationRequest] = []

    def authorize_sync(self, request: ToolAuthorizationRequest) -> Any:
        self.requests.append(request)
        return self.answer(request)

    async def authorize(self, request: ToolAuthorizationRequest) -> Any:
        return self.authorize_sync(request)


class Approvals:
    """The same for approvals."""

    def __init__(self, answer: Callable[[Any], Any]) -> None:
        self.answer = answer
        self.requests: list[Any] = []

    def request_approval_sync(self, request: Any) -> Any:
        self.requests.append(request)
        return self.answer(request)

    async def request_approval(self, request: Any) -> Any:
        return self.request_approval_sync(request)


def result(decision: Any = "allow", code: Any = "fine") -> ToolAuthorizationResult:
    return ToolAuthorizationResult(decision=decision, reason_code=code)


def answering(decision: str, code: str = "because") -> Adapter:
    return Adapter(lambda _: result(decision, code))


class Gate:
    """A gate with its sink and counters, asked the way that a test is about."""

    def __init__(self, *, bindings: tuple[IdentityBinding, ...] = (KIM,), **settings: Any) -> None:
        self.sink = Remembering()
        self.counters = MemoryCounters()
        settings = {"events": self.sink, "counters": self.counters} | settings
        self.gate = AccessGate(identities=IdentityBindings(bindings), **settings)

    def ask(self, asked: AccessQuestion | None = None, seconds: float = SECONDS) -> AccessGranted | AccessRefused:
        return self.gate.authorize(asked or question(), Deadline.after(seconds))

    async def ask_async(
        self, asked: AccessQuestion | None = None, seconds: float = SECONDS
    ) -> AccessGranted | AccessRefused:
        return await self.gate.authorize_async(asked or question(), Deadline.after(seconds))

    def refused(self, asked: AccessQuestion | None = None, seconds: float = SECONDS) -> tuple[str, str]:
        outcome = self.ask(asked, seconds)
        assert type(outcome) is AccessRefused
        return outcome.reason.value, outcome.detail_code
