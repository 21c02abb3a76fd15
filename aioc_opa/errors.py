"""The error tree. Every leaf means: *the tool did not run*.

::

    AiocOpaError
    ├── ConfigurationError                  the operator must change something
    │   ├── ToolRegistrationError           a tool that cannot be judged faithfully
    │   ├── EngineConfigurationError        an engine that cannot be started or addressed
    │   ├── PolicyLoadError                 policy files that are refused
    │   ├── InputFileError                  a file that cannot be read or is not what it should be
    │   ├── AuditLogError                   an audit log that cannot be written to as it is
    │   └── GuardCheckError                 guard.check(): the set-up would deny every call
    ├── ToolArgumentsValidationError        the model's arguments: stage "json" or "schema" (RFC-0015)
    ├── ApprovalError                       voting on, looking up or ending an approval
    │   ├── ApprovalStoreError              the store cannot be used now
    │   ├── ApprovalNotFoundError           there is none of this id, or it is another tenant's
    │   ├── VoteRefusedError                a vote that changes nothing
    │   ├── VoteForgedError                 what the store holds is not what was signed (approvals.votes)
    │   ├── GrantRecordError                a grant record of the application's is none (core.approvals.grant_records)
    │   └── WebhookVerificationError        a webhook that is not from us (approvals.webhook_signature)
    └── PolicyRefusalError                  policy, or the runtime on its behalf, refused
        ├── ToolCallPolicyDeniedError
        ├── ToolCallApprovalRequiredError   carries the suspended proposal
        ├── HandoffPolicyDeniedError
        └── HandoffApprovalRequiredError

    ToolExecutionError                      outside the tree on purpose: the handler HAS been entered
    └── ToolOutcomeUnknownError             it did not end within its deadline
    AuditUnavailableError                   internal: the guard turns it into the denial `audit_unavailable`

`ToolExecutionError` wraps an error of this tree that the handler itself raised (a nested guard's denial, say), so
that nobody who catches `AiocOpaError` retries a call whose effect may have happened (design 3.4).

The leaf names of refusals are those of the TypeScript runtime (aioc RFC-0002, RFC-0005).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aioc_opa.models.outcome import Denied, HandoffDenied, HandoffSuspended, Suspended


class AiocOpaError(Exception):
    """Root of the tree. Whoever catches it knows that the tool did not run."""


class ConfigurationError(AiocOpaError):
    """The operator has to change something; the message says what."""


class ToolRegistrationError(ConfigurationError):
    """A tool cannot be registered: its arguments could not be judged faithfully."""


class EngineConfigurationError(ConfigurationError):
    """An engine cannot be built from what it was given."""


class PolicyLoadError(ConfigurationError):
    """Policy or data files are refused before anything is evaluated."""


class InputFileError(ConfigurationError):
    """A file cannot be read, or is not what it should be."""


class AuditLogError(ConfigurationError):
    """An audit log cannot be written to: another process does, or what is there is not what was written."""


class GuardCheckError(ConfigurationError):
    """`guard.check()` found that this set-up cannot allow anything, or allows too much."""


@dataclass(frozen=True, slots=True)
class ArgumentIssue:
    """One place in the arguments and what is wrong there. Never the value itself.

    Attributes:
        code: stable word, e.g. ``duplicate_key`` (stage json) or pydantic's error type (stage schema).
        path: place, as keys and indexes from the root.
        message: what is wrong, without the rejected value.
        offset: character offset in the raw text, for stage json.
    """

    code: str
    path: tuple[str | int, ...]
    message: str
    offset: int | None = None


class ToolArgumentsValidationError(AiocOpaError):
    """The arguments are not strict JSON, or the tool's schema rejects them (RFC-0015, "Validation Failures").

    Not a policy decision: no policy was asked and no decision is emitted. Always raised, whatever the
    delivery mode.

    Attributes:
        stage: ``"json"`` or ``"schema"``.
        code: code of the first issue.
        issues: at least one.
        tool_name: the tool (or the handoff target) that was called.
    """

    def __init__(self, *, tool_name: str, stage: Literal["json", "schema"], issues: Sequence[ArgumentIssue]) -> None:
        first = issues[0]
        place = "".join(f"[{part!r}]" for part in first.path)
        at = "" if first.offset is None else f" at character {first.offset}"
        super().__init__(
            f"arguments of {tool_name!r} refused at stage {stage!r}{at}: ${place}: {first.message} ({first.code})"
        )
        self.tool_name = tool_name
        self.stage: Literal["json", "schema"] = stage
        self.issues: tuple[ArgumentIssue, ...] = tuple(issues)

    @property
    def code(self) -> str:
        """Code of the first issue."""
        return self.issues[0].code


class ApprovalError(AiocOpaError):
    """Something about an approval cannot be done. No message of this branch holds stored arguments."""


class ApprovalStoreError(ApprovalError):
    """The store cannot be used now: closed, locked for too long, unreachable, or what it holds cannot be read."""


class ApprovalNotFoundError(ApprovalError):
    """There is no such approval here. One of another tenant is not here either."""


class VoteRefusedError(ApprovalError):
    """A vote, a revocation or a dismissal that changes nothing.

    Attributes:
        code: stable word, such as ``already_voted``, ``role_missing``, ``requester_may_not_vote``, ``not_pending``.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{message} ({code})")
        self.code = code


class PolicyRefusalError(AiocOpaError):
    """Policy, or the runtime on its behalf, refused. `code` is stable; `public_reason` may be shown to a model."""

    def __init__(self, code: str, public_reason: str) -> None:
        super().__init__(f"{code}: {public_reason}")
        self.code = code
        self.public_reason = public_reason


class ToolCallPolicyDeniedError(PolicyRefusalError):
    """The call is denied. `denied` has the decision."""

    def __init__(self, denied: Denied) -> None:
        super().__init__(denied.code, denied.public_reason)
        self.denied = denied


class ToolCallApprovalRequiredError(PolicyRefusalError):
    """A person has to approve first. `suspended` has the decision and the proposal."""

    def __init__(self, suspended: Suspended) -> None:
        super().__init__(suspended.code, suspended.public_reason)
        self.suspended = suspended


class HandoffPolicyDeniedError(PolicyRefusalError):
    """The handoff is denied."""

    def __init__(self, denied: HandoffDenied) -> None:
        super().__init__(denied.code, denied.public_reason)
        self.denied = denied


class HandoffApprovalRequiredError(PolicyRefusalError):
    """A person has to approve the handoff first."""

    def __init__(self, suspended: HandoffSuspended) -> None:
        super().__init__(suspended.code, suspended.public_reason)
        self.suspended = suspended


class ToolExecutionError(Exception):
    """The handler HAS been entered and raised an error of our tree; its effect may have happened. Do not retry.

    Attributes:
        __cause__: the error that the handler raised.
    """


class ToolOutcomeUnknownError(ToolExecutionError):
    """The handler HAS been entered and did not end within the tool's `handler_seconds`. It may still run.

    Attributes:
        code: ``outcome_unknown``; no denial, and no reason of a policy.
    """

    code: Literal["outcome_unknown"] = "outcome_unknown"


class AuditUnavailableError(Exception):
    """A required record is not known to be durable. The guard answers ``audit_unavailable``; nobody else sees this."""
