"""What every policy engine offers: bytes of ``{"input": …}`` and a deadline in, the decoded answer out.

Callers cannot tell engines apart by their verdicts (design 4). An engine gives an `EngineAnswer` or raises
`EngineFailureError`; whatever else escapes it, the guard turns into a deny.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from aioc_opa.core.engine_answer import UNDEFINED, EngineAnswer, EngineFailureError, Undefined
from aioc_opa.errors import EngineConfigurationError

if TYPE_CHECKING:
    from aioc_opa.engines.deadline import Deadline

__all__ = [
    "HANDOFF_POLICY_PATH",
    "TOOL_POLICY_PATH",
    "UNDEFINED",
    "AsyncEngine",
    "DecisionPath",
    "Engine",
    "EngineAnswer",
    "EngineFailureError",
    "Undefined",
]

_SEGMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class DecisionPath:
    """A pinned path of a decision rule below ``data``, such as ``aioc/tool_policy/decision``.

    Checked when it is configured and never derived from a tool or agent name (CVE-2025-46569).

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
TOOL_ACCESS_PATH: Final = DecisionPath("aioc/tool_access/decision")


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
