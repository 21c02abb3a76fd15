"""The call that every contender asks about: an order of about 300 bytes."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel

from aioc_opa.arrival import Arrival
from aioc_opa.call_request import CallRequest
from aioc_opa.engines.deadline import Deadline
from aioc_opa.engines.protocol import EngineAnswer
from aioc_opa.guard import ToolGuard
from aioc_opa.guard_core import Attempt
from aioc_opa.models.run_context import RunContext
from aioc_opa.revision_gate import UnsafeAnyRevision


class Line(BaseModel):
    sku: str
    quantity: int
    price: float


class Order(BaseModel):
    customer: str
    lines: list[Line]
    currency: str = "EUR"
    note: str | None = None
    express: bool = False


RAW = json.dumps(
    {
        "customer": "cust_48213",
        "lines": [{"sku": f"sku-{n}", "quantity": n + 1, "price": 9.99 + n} for n in range(4)],
        "note": "please ring twice and leave it with the neighbour at number 12",
        "express": True,
    }
)
OPTIONS = {"agent_name": "shop_agent", "run_context": RunContext(run_id="run-1"), "turn": 3, "call_id": "call-1"}


def register(guard: object) -> None:
    guard.register_model("order", Order, lambda order: order)  # type: ignore[attr-defined] # either guard


class _Capture:
    name = "capture"
    body = b""

    def evaluate(self, _path: object, body: bytes, _deadline: object) -> EngineAnswer:
        self.body = body
        raise RuntimeError

    def close(self) -> None:
        return None


def question_bytes(**more: Any) -> bytes:
    """The very bytes that the guard posts, with these options more."""
    capture = _Capture()
    guard = ToolGuard(capture, revision_gate=UnsafeAnyRevision())
    register(guard)
    guard.authorize("order", RAW, **OPTIONS, **more)
    return capture.body


def prepare_only(guard: ToolGuard) -> None:
    """Steps 2 to 4 and the question's bytes, without asking."""
    request = CallRequest.of_call("order", RAW, **OPTIONS)
    core = guard._core  # noqa: SLF001 - the bench takes the pipeline apart
    arrival = core.arrive(request, Deadline.after(5.0))
    if not isinstance(arrival, Arrival) or not isinstance(core.begin(arrival), Attempt):
        raise SystemExit("bench: no question was made; the numbers would mean nothing")
