"""What a guard is configured with, checked at construction."""

from __future__ import annotations

import logging
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, Self, TypedDict

from aioc_opa.core.limits import ARGUMENT_LIMITS, JsonLimits
from aioc_opa.core.policy_question import MAX_BODY_BYTES
from aioc_opa.engines.protocol import HANDOFF_POLICY_PATH, TOOL_POLICY_PATH, DecisionPath
from aioc_opa.errors import ConfigurationError
from aioc_opa.revision_gate import UnsafeAnyRevision, UnsafeAnyRevisionWarning

if TYPE_CHECKING:
    from collections.abc import Collection

    from aioc_opa.access.gate import AccessGate
    from aioc_opa.approvals.broker import ApprovalBroker
    from aioc_opa.approvals.store import ApprovalStore
    from aioc_opa.audit.arguments import ArgumentVault
    from aioc_opa.audit.trail import AuditTrail
    from aioc_opa.revision_gate import RevisionGate
    from aioc_opa.telemetry.observer import DecisionObserver

logger: Final = logging.getLogger("aioc_opa.guard")

DEFAULT_DEADLINE_SECONDS: Final = 5.0
"""Seconds that one whole decision may take."""

MAX_DEADLINE_SECONDS: Final = 3600
_ANY: Final = UnsafeAnyRevision()

ResultMode = Literal["throw", "tool_result"]


class SettingsDict(TypedDict, total=False):
    """Keyword arguments of the guards; see `GuardSettings`."""

    deadline: float
    result_mode: ResultMode
    empty_arguments: Literal["reject", "object"]
    json_limits: JsonLimits
    max_body_bytes: int
    tool_path: DecisionPath
    handoff_path: DecisionPath
    revision_gate: RevisionGate | None
    access: AccessGate | None
    approvals: ApprovalBroker | None
    effects: ApprovalStore | None
    audit: AuditTrail | None
    audit_codes: Collection[str] | None
    audit_arguments: ArgumentVault | None
    telemetry: DecisionObserver | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardSettings:
    """Settings of one guard.

    Attributes:
        deadline: seconds that one whole decision may take, connecting included.
        result_mode: how `call` delivers a refusal: ``throw`` or ``tool_result``. Policy can override it.
        empty_arguments: ``object`` takes an empty or blank argument string as ``{}``.
        json_limits: limits of the arguments' strict decode.
        max_body_bytes: cap of one question to the engine, bytes.
        tool_path: pinned decision path for tool calls.
        handoff_path: pinned decision path for handoffs.
        revision_gate: which policy revisions count; None takes any, with a warning.
        access: the gate that is asked before arguments are looked at; None lets every registered tool pass step 1.
        approvals: keeps held calls and their votes; without it a held call is only proposed.
        effects: remembers which calls of tools marked ``once`` have run; the store of `approvals` where that is given.
        audit: gets an event of every decision and execution; in ``required`` mode nothing runs that it has not written.
        audit_codes: the reason codes that the packs in force declare; others are ``undeclared`` to audit and telemetry.
            None takes those of the engine's own policy; an OPA elsewhere needs them told, by `declared_codes`.
        audit_arguments: keeps the arguments of judged calls apart from the events; None keeps none.
        telemetry: watches decisions, such as an `OpenTelemetryObserver`; it can neither stop nor change one.
    """

    deadline: float = DEFAULT_DEADLINE_SECONDS
    result_mode: ResultMode = "throw"
    empty_arguments: Literal["reject", "object"] = "reject"
    json_limits: JsonLimits = ARGUMENT_LIMITS
    max_body_bytes: int = MAX_BODY_BYTES
    tool_path: DecisionPath = TOOL_POLICY_PATH
    handoff_path: DecisionPath = HANDOFF_POLICY_PATH
    revision_gate: RevisionGate | None = None
    access: AccessGate | None = None
    approvals: ApprovalBroker | None = None
    effects: ApprovalStore | None = None
    audit: AuditTrail | None = None
    audit_codes: Collection[str] | None = None
    audit_arguments: ArgumentVault | None = None
    telemetry: DecisionObserver | None = None

    def __post_init__(self) -> None:
        """Refuse settings that would fail open, or fail every call.

        Raises:
            ConfigurationError: naming the setting.
        """
        if type(self.deadline) not in {int, float} or not 0 < self.deadline <= MAX_DEADLINE_SECONDS:
            raise ConfigurationError(
                f"deadline must be seconds, above 0 and at most {MAX_DEADLINE_SECONDS}, not {self.deadline!r}"
            )
        if self.result_mode not in {"throw", "tool_result"}:
            raise ConfigurationError(f'result_mode must be "throw" or "tool_result", not {self.result_mode!r}')
        if self.empty_arguments not in {"reject", "object"}:
            raise ConfigurationError(f'empty_arguments must be "reject" or "object", not {self.empty_arguments!r}')
        for name in ("tool_path", "handoff_path"):
            if not isinstance(getattr(self, name), DecisionPath):
                raise ConfigurationError(
                    f"{name} must be a DecisionPath, such as DecisionPath('aioc/tool_policy/decision')"
                )

        if self.revision_gate is not None and not callable(getattr(self.revision_gate, "accepts", None)):
            raise ConfigurationError(
                "revision_gate must have a method accepts(policy_revision) -> bool, such as UnsafeAnyRevision(); "
                f"{type(self.revision_gate).__name__} has none"
            )
        if isinstance(self.audit_codes, str | bytes):  # a part of the text would count as a code
            raise ConfigurationError('audit_codes must be a collection of codes, such as {"amount_above_limit"}')
        self._require_parts()

    def _require_parts(self) -> None:
        for name, wanted, example in (
            ("access", ("authorize", "authorize_async", "visible", "require_usable"), "AccessGate(…)"),
            ("approvals", ("open", "give_up", "store"), "ApprovalBroker(…)"),
            ("audit", ("record", "record_intent", "record_async"), "AuditTrail(…)"),
            ("telemetry", ("began",), "OpenTelemetryObserver()"),
            ("audit_arguments", ("keep", "find"), "ArgumentVault(…)"),
            ("effects", ("intend", "claim", "finish"), "open_store('calls.db')"),
        ):
            part = getattr(self, name)
            if part is not None and not all(hasattr(part, each) for each in wanted):
                raise ConfigurationError(f"{name} must be something like {example}; {type(part).__name__} is not")

    @property
    def codes(self) -> Collection[str]:
        """The codes that audit and telemetry may call by name."""
        return () if self.audit_codes is None else self.audit_codes

    def for_engine(self, engine: object) -> Self:
        """These settings, with `audit_codes` from the policy of `engine` where none are given and it knows them.

        Raises:
            PolicyLoadError: the engine's policy was not checked, and a manifest of it is invalid.
        """
        if self.audit_codes is not None or (self.audit is None and self.telemetry is None):
            return self
        known = getattr(engine, "declared_codes", None)
        if isinstance(known, frozenset):
            return replace(self, audit_codes=known)
        logger.warning(
            "audit_codes is not given, and this engine cannot say which codes its policy declares: every reason of a "
            "pack will be written as `undeclared`. Give audit_codes=declared_codes(load_policy(…))"
        )
        return self

    @property
    def gate(self) -> RevisionGate:
        """The gate in force: the configured one, else `UnsafeAnyRevision`."""
        return _ANY if self.revision_gate is None else self.revision_gate

    def warn_without_gate(self, stacklevel: int) -> None:
        """Warn when no gate is configured (design 3.3). `stacklevel` as in `warnings.warn`, from the caller."""
        if self.revision_gate is None:
            warnings.warn(
                "no revision gate is configured: decisions of ANY policy revision count. "
                "Pass revision_gate=UnsafeAnyRevision() to say that this is meant.",
                UnsafeAnyRevisionWarning,
                stacklevel=stacklevel + 1,
            )
