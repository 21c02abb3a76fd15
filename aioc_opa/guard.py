"""`ToolGuard`: the policy enforcement point in front of an agent's tools, for synchronous code.

The steps of one call (design 2), and where each is:

1. access            identity, tool and budgets, before anything is looked at (`arrival`, `access.gate`)
2. decode            strict JSON (`core.preparation`)
3. parse             the tool's schema, exactly once (`core.preparation`)
4. fingerprint       RFC 8785 text and proposal hash (`core.preparation`)
5. decide            the engine answers, the answer is decoded and bound (`judgement`)
6. recheck           canonicalize again, when the engine returns and again at execution (`guard_core`)
7. permit            single use (`permit`)
8. execute           what the effect takes is used up (`effects`), and the handler receives the object that was judged

A call that policy holds is stored where the guard has `approvals` (`holding`), and runs later by `resume`
(`guard_resume`), or after a wait.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from aioc_opa.approvals.waiting import wait_for_decision
from aioc_opa.arrival import Arrival, access_question, admitted, give_back
from aioc_opa.call_request import CallOptions, CallRequest, HandoffOptions, ResumeOptions, WaitingOptions
from aioc_opa.delivery import deliver
from aioc_opa.engines.deadline import Deadline
from aioc_opa.engines.protocol import Engine
from aioc_opa.errors import ConfigurationError
from aioc_opa.execution import Execution
from aioc_opa.guard_base import GuardBase
from aioc_opa.guard_check import CheckReport, begin_check, handoff_probe, judge_handoff_probe, report, tool_probe
from aioc_opa.guard_core import Attempt
from aioc_opa.guard_resume import ResumingCall, look_up
from aioc_opa.guard_settings import GuardSettings, SettingsDict
from aioc_opa.guard_telemetry import Watch
from aioc_opa.guard_waiting import Waiting, waiting_of
from aioc_opa.handoff_audit import HandoffOutcome, recorded
from aioc_opa.handoff_core import HandoffAttempt, begin_handoff, conclude_handoff
from aioc_opa.holding import hold
from aioc_opa.models.outcome import Allowed, Denied, HandoffAllowed, HandoffDenied, HandoffSuspended, Suspended
from aioc_opa.resume_audit import told

if TYPE_CHECKING:
    from aioc_opa.access.gate import AccessGate
    from aioc_opa.core.engine_answer import EngineAnswer
    from aioc_opa.core.json_value import JsonObject
    from aioc_opa.engines.protocol import DecisionPath
    from aioc_opa.models.refusal_result import RefusalResult


class ToolGuard(GuardBase):
    """Decides and runs tool calls. Thread-safe.

    Args:
        engine: the policy decision point; required.
        **settings: see `GuardSettings`.

    Raises:
        ConfigurationError: no engine, or a setting that cannot be.
    """

    def __init__(self, engine: Engine, **settings: Unpack[SettingsDict]) -> None:
        if not isinstance(engine, Engine):
            raise ConfigurationError(
                "ToolGuard needs an engine, for example OpaServerEngine('http://127.0.0.1:8181'); "
                f"{type(engine).__name__} is none (an engine for event loops goes to AsyncToolGuard)"
            )
        super().__init__(GuardSettings(**settings).for_engine(engine))
        self._engine = engine

    def authorize(
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
            self._core.audit.record(self._core.turned_away(request, arrival))
        return self._decided(arrival)

    def authorize_resume(self, approval_id: str, **options: Unpack[ResumeOptions]) -> Allowed | Denied | Suspended:
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
        found = look_up(approval_id, options, core=self._core, deadline=self._deadline())
        return self._decided(found.arrival, found) if isinstance(found, ResumingCall) else told(self._core, found)

    def resume(self, approval_id: str, **options: Unpack[ResumeOptions]) -> Any:
        """Run a held call that has been approved. Arguments as for `authorize_resume`; delivers as `call` does.

        Raises:
            ConfigurationError: this guard has no approvals.
            ToolArgumentsValidationError: the tool's validators refuse the arguments now.
            ToolCallPolicyDeniedError: denied, in mode ``throw``.
            ToolCallApprovalRequiredError: nobody has decided yet, in mode ``throw``.
            ToolExecutionError: the handler was entered and raised an error of this package's tree.
        """
        return self._delivered(self.authorize_resume(approval_id, **options))

    def execute(self, permit: object) -> Any:
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
        refused, result = Execution(self._core, call).run()
        return result if refused is None else deliver(refused, self.settings.result_mode)

    def call(self, tool_name: str, raw_arguments: str | dict[str, Any], **options: Unpack[WaitingOptions]) -> Any:
        """Decide one call and, if it is allowed, run it. Arguments as for `authorize`.

        With ``wait=seconds`` a held call waits in line for a person, outside the deadline of a decision: approved in
        time it is resumed, else it is denied with ``approval_timed_out`` and its request expires.

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
        outcome = self.authorize(tool_name, raw_arguments, **rest)
        if waiting is not None and isinstance(outcome, Suspended):
            outcome = self._after_waiting(outcome, waiting)
        return self._delivered(outcome)

    def authorize_handoff(
        self, to_agent_name: str, raw_payload: str | dict[str, Any], **options: Unpack[HandoffOptions]
    ) -> HandoffAllowed | HandoffDenied | HandoffSuspended:
        """Decide a handoff from one agent to another; the application carries it out.

        Raises:
            ToolArgumentsValidationError: the payload is no strict JSON object; policy was not asked.
        """
        request = CallRequest.of_handoff(to_agent_name, raw_payload, **options)
        attempt = begin_handoff(request, self._deadline(), self.settings)
        if self.settings.telemetry is None:
            return self._handoff_decided(request, attempt)
        with Watch(self.settings.telemetry, self.settings, attempt, "handoff") as watch:
            return watch.seen(self._handoff_decided(request, attempt))

    def handoff(
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
        outcome = self.authorize_handoff(to_agent_name, raw_payload, **options)
        if isinstance(outcome, HandoffAllowed):
            return outcome.payload
        return deliver(outcome, self.settings.result_mode)

    def check(self, *, handoffs: bool = False) -> CheckReport:
        """Ask the engine for a probe decision, and say in words what is wrong with this set-up.

        Args:
            handoffs: ask for a probe handoff too, at the handoff path.

        Raises:
            GuardCheckError: this guard could not allow anything, or allows what nobody owns.
        """
        probing = begin_check(self._core, self._engine.name)
        deadline = self._deadline()
        if handoffs:
            probe = handoff_probe(self.settings, deadline)
            judge_handoff_probe(probing, probe, self._ask(self.settings.handoff_path, probe))
        attempt = tool_probe(self._core, deadline)
        return report(probing, attempt, self._ask(self.settings.tool_path, attempt))

    def _ask(self, path: DecisionPath, attempt: Attempt | HandoffAttempt) -> EngineAnswer | BaseException:
        try:
            return self._engine.evaluate(path, attempt.body, attempt.deadline)
        except (KeyboardInterrupt, SystemExit, GeneratorExit):
            raise
        except BaseException as error:  # noqa: BLE001 - a panic of an engine in process is a BaseException; it is a deny
            return error

    def _deadline(self) -> Deadline:
        return Deadline.after(self.settings.deadline)

    def _handoff_decided(self, request: CallRequest, attempt: HandoffAttempt | HandoffDenied) -> HandoffOutcome:
        if not isinstance(attempt, HandoffAttempt):
            return recorded(self._core.audit, request, attempt, attempt)
        outcome = conclude_handoff(attempt, self._ask(self.settings.handoff_path, attempt), self.settings)
        return recorded(self._core.audit, request, attempt, outcome)

    def _decided(
        self, arrival: Arrival | Denied, resumption: ResumingCall | None = None
    ) -> Allowed | Denied | Suspended:
        if self.settings.telemetry is None:
            return self._settled(arrival, resumption)
        with Watch(self.settings.telemetry, self.settings, arrival) as watch:
            return watch.seen(self._settled(arrival, resumption))

    def _settled(self, arrival: Arrival | Denied, resumption: ResumingCall | None) -> Allowed | Denied | Suspended:
        gate = self.settings.access
        if isinstance(arrival, Arrival) and gate is not None:
            arrival = self._admitted(gate, arrival)
        if not isinstance(arrival, Arrival):
            return arrival
        outcome: Allowed | Denied | Suspended | None = None
        try:
            outcome = self._judged(arrival, resumption)
        finally:
            if not isinstance(outcome, Allowed):
                give_back(arrival.reservation)
        if self._core.audit is not None:
            kept = self._core.audit.keep(arrival, outcome)
            self._core.audit.record(self._core.audit.decided(arrival, outcome, kept))
        return outcome

    def _admitted(self, gate: AccessGate, arrival: Arrival) -> Arrival | Denied:
        try:
            verdict: object = gate.authorize(access_question(arrival), arrival.deadline)
        except Exception as error:  # noqa: BLE001 - every exception on the way to a tool is a deny
            verdict = error
        outcome = admitted(arrival, verdict, self._core.registry)
        if self._core.audit is not None:
            self._core.audit.record(self._core.audit.access(arrival, outcome if isinstance(outcome, Denied) else None))
        return outcome

    def _judged(self, arrival: Arrival, resumption: ResumingCall | None) -> Allowed | Denied | Suspended:
        resumed = None if resumption is None else resumption.resumed()
        if isinstance(resumed, Denied):
            return resumed
        attempt = self._core.begin(arrival, resumed)
        if not isinstance(attempt, Attempt):
            return attempt
        outcome = self._core.conclude(attempt, self._ask(self.settings.tool_path, attempt))
        if isinstance(outcome, Suspended) and self.settings.approvals is not None:
            return hold(attempt, outcome, self.settings.approvals)
        return outcome

    def _after_waiting(self, suspended: Suspended, waiting: Waiting) -> Allowed | Denied | Suspended:
        approval_id = str(suspended.approval_id)
        try:
            waited = wait_for_decision(waiting.broker, waiting.tenant, approval_id, waiting.seconds)
            refused = waiting.refused(waited, suspended)
            if refused is not None:
                return told(self._core, refused)
            run_context = waiting.options.get("run_context") if waiting.renew is None else waiting.renew()
        except Exception as error:  # noqa: BLE001 - every exception on the way to a tool is a deny
            return told(self._core, waiting.failed(error, suspended))
        return self.authorize_resume(approval_id, **waiting.resume_options(run_context))

    def _delivered(self, outcome: Allowed | Denied | Suspended) -> Any:
        if isinstance(outcome, Allowed):
            return self.execute(outcome.permit)
        return deliver(outcome, self.settings.result_mode)
