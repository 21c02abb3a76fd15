"""`AsyncToolGuard`: the policy enforcement point in front of an agent's tools, for event loops.

The same pipeline as `ToolGuard` over the same core; only asking the engine and running the handler await.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Unpack

from aioc_opa.approvals.waiting import wait_for_decision_async
from aioc_opa.arrival import Arrival, access_question, admitted
from aioc_opa.async_execution import AsyncExecution, given, given_back
from aioc_opa.call_request import CallOptions, CallRequest, HandoffOptions, ResumeOptions, WaitingOptions
from aioc_opa.delivery import deliver
from aioc_opa.engines.deadline import Deadline
from aioc_opa.engines.embedded import EmbeddedEngine
from aioc_opa.engines.local_opa import LocalOpaEngine
from aioc_opa.engines.opa_server_async import AsyncOpaServerEngine
from aioc_opa.engines.protocol import AsyncEngine
from aioc_opa.errors import ConfigurationError
from aioc_opa.guard_base import GuardBase
from aioc_opa.guard_check import CheckReport, begin_check, handoff_probe, judge_handoff_probe, report, tool_probe
from aioc_opa.guard_core import Attempt
from aioc_opa.guard_resume import ResumingCall, look_up
from aioc_opa.guard_settings import GuardSettings, SettingsDict
from aioc_opa.guard_telemetry import Watch
from aioc_opa.guard_waiting import Waiting, waiting_of
from aioc_opa.handoff_audit import HandoffOutcome, recorded_async
from aioc_opa.handoff_core import HandoffAttempt, begin_handoff, conclude_handoff
from aioc_opa.holding_async import hold_async
from aioc_opa.models.outcome import Allowed, Denied, HandoffAllowed, HandoffDenied, HandoffSuspended, Suspended
from aioc_opa.resume_audit import told_async

if TYPE_CHECKING:
    from aioc_opa.access.gate import AccessGate
    from aioc_opa.core.engine_answer import EngineAnswer
    from aioc_opa.core.json_value import JsonObject
    from aioc_opa.engines.protocol import DecisionPath
    from aioc_opa.models.refusal_result import RefusalResult


class AsyncToolGuard(GuardBase):
    """Decides and runs tool calls. Task-safe within one event loop.

    A handler that is a plain function runs in a thread (`asyncio.to_thread`), an async one in the loop.

    Args:
        engine: the policy decision point; required.
        **settings: see `GuardSettings`.

    Raises:
        ConfigurationError: no engine, or a setting that cannot be.
    """

    _takes_async_handlers = True

    def __init__(self, engine: AsyncEngine, **settings: Unpack[SettingsDict]) -> None:
        if not isinstance(engine, AsyncEngine):
            raise ConfigurationError(
                "AsyncToolGuard needs an engine, for example AsyncOpaServerEngine('http://127.0.0.1:8181'); "
                f"{type(engine).__name__} is none (a synchronous engine goes to ToolGuard)"
            )
        super().__init__(GuardSettings(**settings).for_engine(engine))
        self._engine = engine
        # Exactly our own engines, which are tested to keep their deadlines; any other one is held to it here.
        self._engine_keeps_deadlines = type(engine) in (AsyncOpaServerEngine, LocalOpaEngine, EmbeddedEngine)

    async def authorize(
        self, tool_name: str, raw_arguments: str | dict[str, Any], **options: Unpack[CallOptions]
    ) -> Allowed | Denied | Suspended:
        """Decide one call, without running it.

        Args:
            tool_name: the registered tool.
            raw_arguments: the provider's exact string; or a plain dict, where a framework has decoded it already.
            **options: ``agent_name`` and what else surrounds the call, see `CallOptions`.

        Returns:
            `Allowed` with a single-use permit, `Denied`, or `Suspended` with the proposal.

        Raises:
            ToolArgumentsValidationError: the arguments are refused; policy was not asked.
        """
        request = CallRequest.of_call(tool_name, raw_arguments, **options)
        arrival = self._core.arrive(request, self._deadline())
        if isinstance(arrival, Denied) and self._core.audit is not None:
            await self._core.audit.record_async(self._core.turned_away(request, arrival))
        return await self._decided(arrival)

    async def authorize_resume(
        self, approval_id: str, **options: Unpack[ResumeOptions]
    ) -> Allowed | Denied | Suspended:
        """Judge a held call again, with the approval as evidence, without running it (design 3.5).

        Args:
            approval_id: of the stored request.
            **options: the authenticated ``principal`` and a ``run_context`` fetched anew, see `ResumeOptions`.

        Returns:
            `Allowed` with a single-use permit, which consumes the approval when it is executed; `Suspended` while
            nobody has decided; `Denied` in every other case.

        Raises:
            ConfigurationError: this guard has no approvals.
            ToolArgumentsValidationError: the tool's validators refuse the arguments now.
        """
        found = await asyncio.to_thread(look_up, approval_id, options, core=self._core, deadline=self._deadline())
        if isinstance(found, ResumingCall):
            return await self._decided(found.arrival, found)
        return await told_async(self._core, found)

    async def resume(self, approval_id: str, **options: Unpack[ResumeOptions]) -> Any:
        """Run a held call that has been approved. Arguments as for `authorize_resume`; delivers as `call` does.

        Raises:
            ConfigurationError: this guard has no approvals.
            ToolArgumentsValidationError: the tool's validators refuse the arguments now.
            ToolCallPolicyDeniedError: denied, in mode ``throw``.
            ToolCallApprovalRequiredError: nobody has decided yet, in mode ``throw``.
            ToolExecutionError: the handler was entered and raised an error of this package's tree.
        """
        return await self._delivered(await self.authorize_resume(approval_id, **options))

    async def execute(self, permit: object) -> Any:
        """Run the call that `permit` stands for, once.

        Returns:
            What the handler returns; or a `RefusalResult` in mode ``tool_result`` when the permit is refused.

        Raises:
            ToolCallPolicyDeniedError: the permit is used, late or another guard's, or the arguments have changed.
            ToolExecutionError: the handler was entered and raised an error of this package's tree.
        """
        call = self._core.redeem(permit)
        if isinstance(call, Denied):
            return deliver(self._core.refused(None, call), self.settings.result_mode)
        refused, result = await AsyncExecution(self._core, call).run()
        return result if refused is None else deliver(refused, self.settings.result_mode)

    async def call(self, tool_name: str, raw_arguments: str | dict[str, Any], **options: Unpack[WaitingOptions]) -> Any:
        """Decide one call and, if it is allowed, run it. Arguments as for `authorize`.

        With ``wait=seconds`` a held call waits in line for a person, outside the deadline of a decision: approved in
        time it is resumed, else it is denied with ``approval_timed_out`` and its request expires. Cancelling the wait
        dismisses the request.

        Returns:
            What the handler returns; or a `RefusalResult` in mode ``tool_result``.

        Raises:
            ConfigurationError: ``wait`` is no number of seconds, or this guard has no approvals to wait for.
            ToolArgumentsValidationError: the arguments are refused; policy was not asked.
            ToolCallPolicyDeniedError: denied, in mode ``throw``.
            ToolCallApprovalRequiredError: a person must approve first, in mode ``throw``.
            ToolExecutionError: the handler was entered and raised an error of this package's tree.
        """
        waiting, rest = waiting_of(options, self._core)
        outcome = await self.authorize(tool_name, raw_arguments, **rest)
        if waiting is not None and isinstance(outcome, Suspended):
            outcome = await self._after_waiting(outcome, waiting)
        return await self._delivered(outcome)

    async def authorize_handoff(
        self, to_agent_name: str, raw_payload: str | dict[str, Any], **options: Unpack[HandoffOptions]
    ) -> HandoffAllowed | HandoffDenied | HandoffSuspended:
        """Decide a handoff from one agent to another; the application carries it out.

        Raises:
            ToolArgumentsValidationError: the payload is no strict JSON object; policy was not asked.
        """
        request = CallRequest.of_handoff(to_agent_name, raw_payload, **options)
        attempt = begin_handoff(request, self._deadline(), self.settings)
        if self.settings.telemetry is None:
            return await self._handoff_decided(request, attempt)
        with Watch(self.settings.telemetry, self.settings, attempt, "handoff") as watch:
            return watch.seen(await self._handoff_decided(request, attempt))

    async def handoff(
        self, to_agent_name: str, raw_payload: str | dict[str, Any], **options: Unpack[HandoffOptions]
    ) -> JsonObject | RefusalResult:
        """Decide a handoff and deliver the answer, as `call` does for tools.

        Returns:
            The payload that was judged, for the application to hand over; or a `RefusalResult` in mode ``tool_result``.

        Raises:
            ToolArgumentsValidationError: the payload is no strict JSON object; policy was not asked.
            HandoffPolicyDeniedError: denied, in mode ``throw``.
            HandoffApprovalRequiredError: a person must approve first, in mode ``throw``.
        """
        outcome = await self.authorize_handoff(to_agent_name, raw_payload, **options)
        if isinstance(outcome, HandoffAllowed):
            return outcome.payload
        return deliver(outcome, self.settings.result_mode)

    async def check(self, *, handoffs: bool = False) -> CheckReport:
        """Ask the engine for a probe decision, and say in words what is wrong with this set-up.

        Args:
            handoffs: ask for a probe handoff too, at the handoff path.

        Raises:
            GuardCheckError: this guard could not allow anything, or allows what nobody owns.
        """
        probing = await asyncio.to_thread(begin_check, self._core, self._engine.name)
        deadline = self._deadline()
        if handoffs:
            probe = handoff_probe(self.settings, deadline)
            judge_handoff_probe(probing, probe, await self._ask(self.settings.handoff_path, probe))
        attempt = tool_probe(self._core, deadline)
        return report(probing, attempt, await self._ask(self.settings.tool_path, attempt))

    async def _ask(self, path: DecisionPath, attempt: Attempt | HandoffAttempt) -> EngineAnswer | BaseException:
        try:
            if self._engine_keeps_deadlines:
                return await self._engine.evaluate_async(path, attempt.body, attempt.deadline)
            async with asyncio.timeout(attempt.deadline.remaining()):
                return await self._engine.evaluate_async(path, attempt.body, attempt.deadline)
        except (KeyboardInterrupt, SystemExit, GeneratorExit, asyncio.CancelledError):
            raise
        except BaseException as error:  # noqa: BLE001 - a panic of an engine in process is a BaseException; it is a deny
            return error

    def _deadline(self) -> Deadline:
        return Deadline.after(self.settings.deadline)

    async def _handoff_decided(self, request: CallRequest, attempt: HandoffAttempt | HandoffDenied) -> HandoffOutcome:
        if not isinstance(attempt, HandoffAttempt):
            return await recorded_async(self._core.audit, request, attempt, attempt)
        outcome = conclude_handoff(attempt, await self._ask(self.settings.handoff_path, attempt), self.settings)
        return await recorded_async(self._core.audit, request, attempt, outcome)

    async def _decided(
        self, arrival: Arrival | Denied, resumption: ResumingCall | None = None
    ) -> Allowed | Denied | Suspended:
        if self.settings.telemetry is None:
            return await self._settled(arrival, resumption)
        with Watch(self.settings.telemetry, self.settings, arrival) as watch:
            return watch.seen(await self._settled(arrival, resumption))

    async def _settled(
        self, arrival: Arrival | Denied, resumption: ResumingCall | None
    ) -> Allowed | Denied | Suspended:
        gate = self.settings.access
        if isinstance(arrival, Arrival) and gate is not None:
            arrival = await self._admitted(gate, arrival)
        if not isinstance(arrival, Arrival):
            return arrival
        outcome: Allowed | Denied | Suspended | None = None
        try:
            outcome = await self._judged(arrival, resumption)
        finally:
            if not isinstance(outcome, Allowed):
                given_back(arrival.reservation)
        if self._core.audit is not None:
            audit = self._core.audit
            kept = None if audit.vault is None else await asyncio.to_thread(audit.keep, arrival, outcome)
            await audit.record_async(audit.decided(arrival, outcome, kept))
        return outcome

    async def _admitted(self, gate: AccessGate, arrival: Arrival) -> Arrival | Denied:
        try:
            verdict: object = await gate.authorize_async(access_question(arrival), arrival.deadline)
        except Exception as error:  # noqa: BLE001 - every exception on the way to a tool is a deny
            verdict = error
        outcome = admitted(arrival, verdict, self._core.registry)
        if self._core.audit is not None:
            event = self._core.audit.access(arrival, outcome if isinstance(outcome, Denied) else None)
            await self._core.audit.record_async(event)
        return outcome

    async def _judged(self, arrival: Arrival, resumption: ResumingCall | None) -> Allowed | Denied | Suspended:
        resumed = None if resumption is None else await asyncio.to_thread(resumption.resumed)
        if isinstance(resumed, Denied):
            return resumed
        attempt = self._core.begin(arrival, resumed)
        if not isinstance(attempt, Attempt):
            return attempt
        outcome = self._core.conclude(attempt, await self._ask(self.settings.tool_path, attempt))
        if isinstance(outcome, Suspended) and self.settings.approvals is not None:
            return await hold_async(attempt, outcome, self.settings.approvals)
        return outcome

    async def _after_waiting(self, suspended: Suspended, waiting: Waiting) -> Allowed | Denied | Suspended:
        approval_id = str(suspended.approval_id)
        try:
            waited = await wait_for_decision_async(waiting.broker, waiting.tenant, approval_id, waiting.seconds)
            refused = waiting.refused(waited, suspended)
            if refused is not None:
                return await told_async(self._core, refused)
            run_context = waiting.options.get("run_context") if waiting.renew is None else await given(waiting.renew())
        except Exception as error:  # noqa: BLE001 - every exception on the way to a tool is a deny
            return await told_async(self._core, waiting.failed(error, suspended))
        return await self.authorize_resume(approval_id, **waiting.resume_options(run_context))

    async def _delivered(self, outcome: Allowed | Denied | Suspended) -> Any:
        if isinstance(outcome, Allowed):
            return await self.execute(outcome.permit)
        return deliver(outcome, self.settings.result_mode)
