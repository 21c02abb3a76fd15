"""`AccessGate`: step 1 of a call. May this identity use this tool at all? Metadata only; before any argument is read.

The gate decides in `steps`; this module waits for what they ask. It never raises but for the caller's cancellation and
the keyboard: whatever goes wrong is a refusal.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from aioc_opa.access.adapters import offers
from aioc_opa.access.allow_lists import AllowLists
from aioc_opa.access.bounded import Threads
from aioc_opa.access.budgets import Budgets
from aioc_opa.access.counters import BoundedSeries
from aioc_opa.access.details import Detail
from aioc_opa.access.effects import METHODS, carry_out, carry_out_async
from aioc_opa.access.events import LoggingSink
from aioc_opa.access.names import is_name
from aioc_opa.access.questions import AccessGranted, AccessQuestion, AccessRefused, ToolMetadata
from aioc_opa.access.steps import Steps
from aioc_opa.access.trail import Reporter
from aioc_opa.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from aioc_opa.access.adapters import (
        SyncToolApprovalAdapter,
        SyncToolPolicyAdapter,
        ToolApprovalAdapter,
        ToolPolicyAdapter,
    )
    from aioc_opa.access.counters import Counters
    from aioc_opa.access.events import EventSink
    from aioc_opa.access.identities import IdentityDirectory
    from aioc_opa.engines.deadline import Deadline
    from aioc_opa.models.principal import Principal

__all__ = ["AccessGate", "AccessGranted", "AccessQuestion", "AccessRefused", "ToolMetadata"]

logger: Final = logging.getLogger("aioc_opa.access")


class AccessGate:
    """Allow-lists, then an adapter, budgets and approvals where they are configured. Thread-safe and task-safe.

    Args:
        identities: which tenant, tools and capabilities an identity is bound to.
        legacy_tools: exactly the tools of an identity without a list of tools; none by default.
        capabilities: the tools of each capability; a call must then name a known one. None: no such lists.
        adapter: asked after the lists; without one they decide.
        approvals: asks a person where the adapter answers ``approval_required``; without one that is a refusal.
        budgets: limits; without them there are none.
        events: where events go; without it to the log (`LoggingSink`).
        counters: counts decisions; without it nothing is counted.

    Raises:
        ConfigurationError: a value is none of what it should be.
    """

    def __init__(
        self,
        *,
        identities: IdentityDirectory,
        legacy_tools: Collection[str] = (),
        capabilities: Mapping[str, Collection[str]] | None = None,
        adapter: ToolPolicyAdapter | SyncToolPolicyAdapter | None = None,
        approvals: ToolApprovalAdapter | SyncToolApprovalAdapter | None = None,
        budgets: Budgets | None = None,
        events: EventSink | None = None,
        counters: Counters | None = None,
    ) -> None:
        self._adapters: Final[dict[str, object]] = {"policy": adapter, "approval": approvals}
        for kind, given in self._adapters.items():
            names = METHODS[kind]
            if given is not None and not any(callable(getattr(given, name, None)) for name in names):
                raise ConfigurationError(f"{type(given).__name__} has neither a method {names[0]} nor {names[1]}")
        if budgets is not None and type(budgets) is not Budgets:
            raise ConfigurationError("budgets must be Budgets(ledger, limits)")
        if events is not None and not callable(getattr(events, "emit", None)):
            raise ConfigurationError("events must have a method emit(event)")
        if counters is not None and not callable(getattr(counters, "add", None)):
            raise ConfigurationError("counters must have a method add(name, labels)")
        self._steps: Final = Steps(
            lists=AllowLists(identities=identities, legacy_tools=legacy_tools, capabilities=capabilities),
            adapter=adapter,
            approvals=approvals,
            budgets=budgets,
            reporter=Reporter(LoggingSink() if events is None else events, counters, BoundedSeries()),
        )
        self._threads: Final = Threads()

    def require_usable(self, *, asynchronous: bool) -> None:
        """Check that the adapters can be asked by a guard of this kind; for its constructor.

        Raises:
            ConfigurationError: a plain guard cannot await an adapter for event loops.
        """
        for kind, adapter in self._adapters.items():
            awaited, plain = METHODS[kind]
            usable = offers(adapter, plain, asynchronous=False) or (
                asynchronous and offers(adapter, awaited, asynchronous=True)
            )
            if adapter is not None and not usable:
                raise ConfigurationError(
                    f"{type(adapter).__name__} has no plain method {plain}; use AsyncToolGuard, or give it one"
                )

    def authorize(self, question: AccessQuestion, deadline: Deadline) -> AccessGranted | AccessRefused:
        """Decide one question, waiting in this thread.

        Args:
            question: who wants to use which tool.
            deadline: of the whole decision.
        """
        steps = self._steps.decide(question, deadline, on_loop=False)
        try:
            effect = next(steps)
            while True:
                try:
                    answer = carry_out(effect, self._threads)
                except BaseException as error:  # noqa: BLE001 - thrown in for what must be undone, and comes out again
                    effect = steps.throw(error)
                else:
                    effect = steps.send(answer)
        except StopIteration as done:
            outcome: AccessGranted | AccessRefused = done.value
            return outcome

    async def authorize_async(self, question: AccessQuestion, deadline: Deadline) -> AccessGranted | AccessRefused:
        """As `authorize`, without blocking the event loop. Cancelling it ends a pending approval."""
        steps = self._steps.decide(question, deadline, on_loop=True)
        try:
            effect = next(steps)
            while True:
                try:
                    answer = await carry_out_async(effect, self._threads)
                except BaseException as error:  # noqa: BLE001 - as above
                    effect = steps.throw(error)
                else:
                    effect = steps.send(answer)
        except StopIteration as done:
            outcome: AccessGranted | AccessRefused = done.value
            return outcome

    def bound(self, principal: Principal | None) -> Principal | None:
        """The caller with the tenant of its binding. None when nobody can say who calls."""
        caller = self._steps.lists.caller(principal)
        return None if isinstance(caller, Detail) else caller.principal

    def visible(
        self, principal: Principal | None, capability: str | None, tools: Iterable[ToolMetadata]
    ) -> tuple[str, ...]:
        """Names of the tools that this caller could use at all, so that no others are offered to a model.

        By the allow-lists alone: neither the adapter, nor a person, nor a budget is asked, and each call is still
        decided. No event is emitted. Fails to an empty tuple.
        """
        try:
            lists = self._steps.lists
            caller = lists.caller(principal)
            if isinstance(caller, Detail) or not (capability is None or is_name(capability)):
                return ()
            return tuple(sorted({tool.name for tool in tools if lists.refuses(caller, capability, tool.name) is None}))
        except Exception as error:  # noqa: BLE001 - nothing is offered rather than too much
            logger.error("no tool is visible: %s", type(error).__name__)  # noqa: TRY400 - exception texts stay out of logs
            return ()
