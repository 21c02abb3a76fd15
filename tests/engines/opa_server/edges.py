"""The two edges of the OPA server engine behind one face, so that each clause is tested on both."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Self

from aioc_opa.core.engine_answer import EngineFailureError
from aioc_opa.engines.deadline import Deadline
from aioc_opa.engines.opa_server import AsyncOpaServerEngine, OpaServerEngine
from aioc_opa.engines.protocol import TOOL_POLICY_PATH, DecisionPath

if TYPE_CHECKING:
    from aioc_opa.core.engine_answer import EngineAnswer
    from aioc_opa.core.reasons import Reason

LONG = 10.0


class SyncEdge:
    def __init__(self, url: str, **settings: Any) -> None:
        self.engine = OpaServerEngine(url, **settings)

    def ask(self, body: bytes, path: DecisionPath = TOOL_POLICY_PATH, *, seconds: float = LONG) -> EngineAnswer:
        return self.engine.evaluate(path, body, Deadline.after(seconds))

    def close(self) -> None:
        self.engine.close()

    def failure(self, body: bytes, path: DecisionPath = TOOL_POLICY_PATH, *, seconds: float = LONG) -> Reason:
        """The reason for which there is no answer."""
        try:
            answer = self.ask(body, path, seconds=seconds)
        except EngineFailureError as error:
            return error.reason
        raise AssertionError(answer)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncEdge(SyncEdge):
    def __init__(self, url: str, **settings: Any) -> None:
        self.async_engine = AsyncOpaServerEngine(url, **settings)
        self.runner = asyncio.Runner()

    def ask(self, body: bytes, path: DecisionPath = TOOL_POLICY_PATH, *, seconds: float = LONG) -> EngineAnswer:
        return self.runner.run(self.async_engine.evaluate_async(path, body, Deadline.after(seconds)))

    def close(self) -> None:
        self.runner.run(self.async_engine.aclose())
        self.runner.close()


EDGES = {"sync": SyncEdge, "async": AsyncEdge}
