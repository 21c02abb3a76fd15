"""Small policies for the tests of the embedded engine."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from aioc_opa.engines.deadline import Deadline
from aioc_opa.engines.protocol import DecisionPath
from aioc_opa.packs.policy_folder import LoadedPolicy

if TYPE_CHECKING:
    from aioc_opa.core.engine_answer import EngineAnswer
    from aioc_opa.engines.embedded import EmbeddedEngine

HEADER = "package fuzz\n\nimport future.keywords.not\n\n"


def policy(*modules: str, data: Any = None, revision: str = "sha256:test") -> LoadedPolicy:
    """A policy of modules named ``m0.rego``, ``m1.rego``, …; each gets a package line unless it has one."""
    texts = [text if text.startswith("package") else HEADER + text for text in modules]
    named = {f"m{number}.rego": text for number, text in enumerate(texts)}
    return LoadedPolicy(modules=named, data=data or {}, files={}, revision=revision)


def body(value: Any) -> bytes:
    """``{"input": value}`` as the guard writes it."""
    return b'{"input":' + json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"}"


def ask(engine: EmbeddedEngine, value: Any = None, *, rule: str = "decision", seconds: float = 30) -> EngineAnswer:
    """Ask ``data.fuzz.<rule>``."""
    question = {} if value is None else value
    return engine.evaluate(DecisionPath(f"fuzz/{rule}"), body(question), Deadline.after(seconds))
