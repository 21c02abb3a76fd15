"""Engines that do what a real one will not: lie, raise, change the arguments meanwhile, or count the questions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from aioc_opa.core.engine_answer import EngineAnswer

if TYPE_CHECKING:
    from collections.abc import Callable

    from aioc_opa.engines.deadline import Deadline
    from aioc_opa.engines.protocol import DecisionPath


def echoes(question: dict[str, Any]) -> dict[str, Any]:
    return {key: question[key] for key in ("proposalHash", "requestId", "kind")}


def allowing(question: dict[str, Any]) -> dict[str, Any]:
    return {"decision": "allow", "reason": "allowed", "reasons": [], **echoes(question)}


def denying(question: dict[str, Any]) -> dict[str, Any]:
    return {"decision": "deny", "reason": "because", "reasons": ["because"], **echoes(question)}


def holding(question: dict[str, Any]) -> dict[str, Any]:
    return {
        "decision": "approval_required",
        "reason": "ask",
        "reasons": ["ask"],
        "approval": {
            "requirements": [{"code": "ask", "approverRoles": ["manager"], "quorum": 1}],
            "separationOfDuties": True,
            "ttlSeconds": 60,
        },
        **echoes(question),
    }


class ScriptedEngine:
    """Sync and async engine whose answer is computed from the question; an exception is raised instead."""

    name = "scripted"

    def __init__(
        self,
        answer: Callable[[dict[str, Any]], Any] = allowing,
        *,
        revision: str | None = '{"scripted":"1"}',
        meanwhile: Callable[[], object] = lambda: None,
    ) -> None:
        self.answer = answer
        self.revision = revision
        self.meanwhile = meanwhile
        self.questions: list[dict[str, Any]] = []
        self.paths: list[str] = []

    def evaluate(self, path: DecisionPath, body: bytes, deadline: Deadline) -> EngineAnswer:
        question = json.loads(body)["input"]
        self.questions.append(question)
        self.paths.append(path.text)
        self.meanwhile()
        result = self.answer(question)
        if isinstance(result, BaseException):
            raise result
        return EngineAnswer(result=result, policy_revision=self.revision, engine="scripted 1")

    async def evaluate_async(self, path: DecisionPath, body: bytes, deadline: Deadline) -> EngineAnswer:
        return self.evaluate(path, body, deadline)

    def close(self) -> None:
        return None

    async def aclose(self) -> None:
        return None


class Meanwhile:
    """A real engine, around which something happens while policy decides."""

    def __init__(self, inner: Any, meanwhile: Callable[[], object] = lambda: None) -> None:
        self.inner = inner
        self.name = inner.name
        self.meanwhile = meanwhile
        self.questions: list[dict[str, Any]] = []

    def evaluate(self, path: DecisionPath, body: bytes, deadline: Deadline) -> EngineAnswer:
        self.questions.append(json.loads(body)["input"])
        answer: EngineAnswer = self.inner.evaluate(path, body, deadline)
        self.meanwhile()
        return answer

    async def evaluate_async(self, path: DecisionPath, body: bytes, deadline: Deadline) -> EngineAnswer:
        self.questions.append(json.loads(body)["input"])
        answer: EngineAnswer = await self.inner.evaluate_async(path, body, deadline)
        self.meanwhile()
        return answer

    def close(self) -> None:
        self.inner.close()

    async def aclose(self) -> None:
        await self.inner.aclose()
