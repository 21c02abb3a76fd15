"""The OPA-backed policy adapter: asks ``data.aioc.tool_access.decision`` (`rego/aioc/tool_access/`).

Through the same engines as step 5, so OPA's server, a local OPA and the embedded engine all serve. Two thin edges over
`opa_question`.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from aioc_opa.access.opa_question import failure, opa_question, read_answer
from aioc_opa.engines.deadline import Deadline
from aioc_opa.engines.protocol import TOOL_ACCESS_PATH, AsyncEngine, DecisionPath, Engine
from aioc_opa.errors import ConfigurationError

if TYPE_CHECKING:
    from aioc_opa.models.tool_authorization import ToolAuthorizationRequest, ToolAuthorizationResult
    from aioc_opa.revision_gate import RevisionGate


class OpaToolPolicy:
    """Asks an engine synchronously: for `ToolGuard`. Thread-safe.

    Args:
        engine: any engine; keeps the deadline.
        revision_gate: which policy revisions count; None takes any, as step 5 judges the revision once more.
        path: pinned decision path.

    Raises:
        ConfigurationError: the engine is none.
    """

    keeps_deadlines: Final = True

    def __init__(
        self, engine: Engine, *, revision_gate: RevisionGate | None = None, path: DecisionPath = TOOL_ACCESS_PATH
    ) -> None:
        if not isinstance(engine, Engine):
            raise ConfigurationError(
                f"OpaToolPolicy needs an engine; {type(engine).__name__} is none "
                "(one for event loops goes to AsyncOpaToolPolicy)"
            )
        self._engine: Final = engine
        self._gate: Final = revision_gate
        self._path: Final = path

    def authorize_sync(self, request: ToolAuthorizationRequest) -> ToolAuthorizationResult:
        """Decide `request`.

        Raises:
            NoAnswerError: with the reserved reason.
        """
        deadline = Deadline.after(request.deadline_seconds)
        question = opa_question(request)
        try:
            answer = self._engine.evaluate(self._path, question.body, deadline)
        except (KeyboardInterrupt, SystemExit, GeneratorExit):
            raise
        except BaseException as error:  # noqa: BLE001 - a panic of an engine in process is a BaseException; it is a deny
            raise failure(error, deadline) from None
        return read_answer(answer, question, deadline=deadline, gate=self._gate)


class AsyncOpaToolPolicy:
    """Asks an engine from an event loop: for `AsyncToolGuard`. Task-safe. As `OpaToolPolicy` otherwise."""

    def __init__(
        self, engine: AsyncEngine, *, revision_gate: RevisionGate | None = None, path: DecisionPath = TOOL_ACCESS_PATH
    ) -> None:
        if not isinstance(engine, AsyncEngine):
            raise ConfigurationError(
                f"AsyncOpaToolPolicy needs an engine for event loops; {type(engine).__name__} is none"
            )
        self._engine: Final = engine
        self._gate: Final = revision_gate
        self._path: Final = path

    async def authorize(self, request: ToolAuthorizationRequest) -> ToolAuthorizationResult:
        """Decide `request`.

        Raises:
            NoAnswerError: with the reserved reason.
        """
        deadline = Deadline.after(request.deadline_seconds)
        question = opa_question(request)
        try:
            answer = await self._engine.evaluate_async(self._path, question.body, deadline)
        except (KeyboardInterrupt, SystemExit, GeneratorExit, asyncio.CancelledError):
            raise
        except BaseException as error:  # noqa: BLE001 - as above
            raise failure(error, deadline) from None
        return read_answer(answer, question, deadline=deadline, gate=self._gate)
