"""A guarded shop, and an order for it."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from aioc_opa.guard import ToolGuard
from aioc_opa.revision_gate import UnsafeAnyRevision

CANARY = "canary-5up3rs3cr3t"


class Item(BaseModel):
    sku: str
    count: int = 1


class Order(BaseModel):
    model_config = ConfigDict(extra="forbid")
    items: list[Item]
    notes: dict[str, str] = Field(default_factory=dict)


class Shop:
    def __init__(self, engine: Any, **settings: Any) -> None:
        self.ran: list[Order] = []
        self.engine = engine
        self.guard = ToolGuard(engine, revision_gate=UnsafeAnyRevision(), **settings)
        self.guard.register_model("order", Order, self._order, version="3")

    def _order(self, order: Order) -> str:
        self.ran.append(order)
        return "done"


ORDER = '{"items": [{"sku": "a"}]}'
