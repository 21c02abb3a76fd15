"""An answer's echo, and a deadline that nothing reaches."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aioc_opa.core.engine_answer import EngineAnswer

LONG = 20.0


def echo(answer: EngineAnswer) -> object:
    assert isinstance(answer.result, dict)
    return answer.result["requestId"]
