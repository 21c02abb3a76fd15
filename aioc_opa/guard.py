"""`ToolGuard`: the policy enforcement point in front of an agent's tools, for synchronous code.

The steps of one call (design 2), and where each is:

1. access            a tool that is not registered is denied before anything is looked at (`guard_core.begin`)
2. decode            strict JSON (`core.preparation`)
3. parse             the tool's schema, exactly once (`core.preparation`)
4. fingerprint       RFC 8785 text and proposal hash (`core.preparation`)
5. decide            the engine answers, the answer is decoded and bound (`judgement`)
6. recheck           canonicalize again, when the engine returns and again at execution (`guard_core`)
7. permit            single use (`permit`)
8. execute           the handler receives the object that was judged (`_run` below)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from aioc_opa.call_request import CallOptions, CallRequest, HandoffOptions
from aioc_opa.delivery import deliver, escaped_from_handler
from aioc_opa.engines.deadline import Deadline
from aioc_opa.engines.protocol import Engine
from aioc_opa.errors import AiocOpaError, ConfigurationError
from aioc_opa.guard_base import GuardBase
from aioc_opa.guard_check import CheckReport, handoff_probe, judge_handoff_probe, report, tool_probe
from aioc_opa.guard_core import Attempt
from aioc_opa.guard_settings import GuardSettings, SettingsDict
from aioc_opa.handoff_core import HandoffAttempt, begin_handoff, conclude_handoff
from aioc_opa.models.outcome import Allowed, Denied, HandoffAllowed, HandoffDenied, HandoffSuspended, Suspended

if TYPE_CHECKING:
    from aioc_opa.core.engine_answer import EngineAnswer
    from aioc_opa.core.json_value import JsonObject
    from aioc_opa.engines.protocol import DecisionPath
    from aioc_opa.models.refusal_result import RefusalResult
    from aioc_opa.permit import PermittedCall


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
        super().__init__(GuardSettings(**settings))
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
        attempt = self._core.begin(request, Deadline.after(self.settings.deadline))
        if not isinstance(attempt, Attempt):
            return attempt
        return self._core.conclude(attempt, self._ask(self.settings.tool_path, attempt))

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
            return deliver(call, self.settings.result_mode)
        return self._run(call)

    def call(self, tool_name: str, raw_arguments: str | dict[str, Any], **options: Unpack[CallOptions]) -> Any:
        """Decide one call and, if it is allowed, run it. Arguments as for `authorize`.

        Returns:
            What the handler returns; or a `RefusalResult` in mode ``tool_result``.

        Raises:
            ToolArgumentsValidationError: the arguments are refused; policy was not asked.
            ToolCallPolicyDeniedError: denied, in mode ``throw``.
            ToolCallApprovalRequiredError: a person must approve first, in mode ``throw``.
            ToolExecutionError: the handler was entered and raised an error of this package's tree.
        """
        outcome = self.authorize(tool_name, raw_arguments, **options)
        if isinstance(outcome, Allowed):
            return self.execute(outcome.permit)
        return deliver(outcome, self.settings.result_mode)

    def authorize_handoff(
        self, to_agent_name: str, raw_payload: str | dict[str, Any], **options: Unpack[HandoffOptions]
    ) -> HandoffAllowed | HandoffDenied | HandoffSuspended:
        """Decide a handoff from one agent to another; the application carries it out.

        Raises:
            ToolArgumentsValidationError: the payload is no strict JSON object; policy was not asked.
        """
        request = CallRequest.of_handoff(to_agent_name, raw_payload, **options)
        attempt = begin_handoff(request, Deadline.after(self.settings.deadline), self.settings)
        if not isinstance(attempt, HandoffAttempt):
            return attempt
        return conclude_handoff(attempt, self._ask(self.settings.handoff_path, attempt), self.settings)

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
        deadline = Deadline.after(self.settings.deadline)
        if handoffs:
            probe = handoff_probe(self.settings, deadline)
            judge_handoff_probe(self._core, self._engine.name, probe, self._ask(self.settings.handoff_path, probe))
        attempt = tool_probe(self._core, deadline)
        return report(self._core, self._engine.name, attempt, self._ask(self.settings.tool_path, attempt))

    def _ask(self, path: DecisionPath, attempt: Attempt | HandoffAttempt) -> EngineAnswer | BaseException:
        try:
            return self._engine.evaluate(path, attempt.body, attempt.deadline)
        except (KeyboardInterrupt, SystemExit, GeneratorExit):
            raise
        except BaseException as error:  # noqa: BLE001 - a panic of an engine in process is a BaseException; it is a deny
            return error

    def _run(self, call: PermittedCall) -> Any:
        # Providers first: whatever they do to the arguments, the recheck after them sees.
        try:
            injected = self._core.injected(call)
        except Exception as error:  # noqa: BLE001 - the handler was not entered: a deny
            return deliver(self._core.injection_failed(call, error), self.settings.result_mode)
        refused = self._core.ready(call)
        if refused is not None:
            return deliver(refused, self.settings.result_mode)
        args, kwargs = call.tool.schema.bind(call.parsed)
        try:
            return call.tool.handler(*args, **kwargs, **injected)
        except AiocOpaError as error:
            raise escaped_from_handler(error, call.tool.name) from error
