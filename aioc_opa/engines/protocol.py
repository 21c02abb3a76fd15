"""What every policy engine offers: bytes of ``{"input": …}`` and a deadline in, the decoded answer out.

Callers cannot tell engines apart by their verdicts (design 4). An engine gives an `EngineAnswer` or raises
`EngineFailureError`; whatever else escapes it, the guard turns into a deny.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from aioc_opa.errors import EngineConfigurationError

if TYPE_CHECKING:
    from aioc_opa.core.json_value import JsonValue
    from aioc_opa.core.reasons import Reason
    from aioc_opa.engines.deadline import Deadline

_SEGMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Undefined(Enum):
    """The engine's "no value": an undefined rule, a wrong path, or no bundle yet. Not a JSON null."""

    UNDEFINED = "undefined"


UNDEFINED: Final = Undefined.UNDEFINED


class DecisionPath:
    """A pinned path of a decision rule below ``data``, such as ``aioc/tool_policy/decision``.

    Checked when it is configured and never derived from a tool or agent name (CVE-2025-46569; reference opa.md, rule 8).

    Attributes:
        text: the segments joined by ``/``.
        segments: the segments.
        rule: the Rego reference, ``data.aioc.tool_policy.decision``.

    Raises:
        EngineConfigurationError: a segment is not ``[A-Za-z_][A-Za-z0-9_]*``, or there is none.
    """

    __slots__ = ("rule", "segments", "text")

    def __init__(self, text: str) -> None:
        segments = tuple(text.split("/"))
        for segment in segments:
            if _SEGMENT.fullmatch(segment) is None:
                raise EngineConfigurationError(
                    f"decision path {text!r}: segment {segment!r} is not [A-Za-z_][A-Za-z0-9_]*; "
                    "write it like aioc/tool_policy/decision, without a leading or trailing slash"
                )
        self.text: Final = text
        self.segments: Final = segments
        self.rule: Final = "data." + ".".join(segments)

    def __repr__(self) -> str:
        return f"DecisionPath({self.text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DecisionPath) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)


TOOL_POLICY_PATH: Final = DecisionPath("aioc/tool_policy/decision")
HANDOFF_POLICY_PATH: Final = DecisionPath("aioc/handoff_policy/decision")


@dataclass(frozen=True, slots=True)
class EngineAnswer:
    """What an engine answered, decoded by the strict decoder but not yet judged.

    Attributes:
        result: the decision document, or `UNDEFINED`.
        policy_revision: RFC 8785 text of ``{bundle: revision}``; None when the engine names no revision.
        decision_id: OPA's, when decision logging is on.
        engine: name and version, e.g. ``opa 1.22.4`` or ``regorus 0.13.0``.
    """

    result: JsonValue | Undefined
    policy_revision: str | None = None
    decision_id: str | None = None
    engine: str = ""


class EngineFailureError(Exception):
    """An engine could not answer. Becomes a deny with `reason`.

    Attributes:
        reason: one of the reserved ``policy_*`` reasons.
        detail: for operators' logs only: it can hold argument values (reference opa.md, rule 10).
    """

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


@runtime_checkable
class Engine(Protocol):
    """A policy decision point, asked synchronously. Thread-safe."""

    @property
    def name(self) -> str:
        """``"opa"``, ``"local"`` or ``"embedded"``, for people."""
        ...

    def evaluate(self, path: DecisionPath, body: bytes, deadline: Deadline) -> EngineAnswer:
        """Evaluate the rule at `path` with the request `body` (bytes of ``{"input": …}``).

        Raises:
            EngineFailureError: no usable answer within the deadline.
        """
        ...

    def close(self) -> None:
        """Release what the engine holds. Later calls of `evaluate` raise `EngineFailureError`."""
        ...


@runtime_checkable
class AsyncEngine(Protocol):
    """A policy decision point, asked from an event loop. Task-safe within one loop."""

    @property
    def name(self) -> str:
        """As in `Engine`."""
        ...

    async def evaluate_async(self, path: DecisionPath, body: bytes, deadline: Deadline) -> EngineAnswer:
        """As `Engine.evaluate`. Cancelling it abandons the question."""
        ...

    async def aclose(self) -> None:
        """As `Engine.close`."""
        ...
