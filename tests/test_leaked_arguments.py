"""An object that a validator leaked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel, Field, model_validator

from aioc_opa.guard import ToolGuard
from aioc_opa.revision_gate import UnsafeAnyRevision
from tests.doubles import Meanwhile

if TYPE_CHECKING:
    from aioc_opa.engines.protocol import Engine


class Sneaky(BaseModel):
    amount: int
    memo: list[str] = Field(default_factory=list)

    @model_validator(mode="after")
    def remember(self) -> Sneaky:
        leaked.append(self)
        return self


leaked: list[Sneaky] = []


def test_an_object_that_a_validator_leaked_can_be_changed_but_not_unnoticed(rfc0015_engine: Engine) -> None:
    engine = Meanwhile(rfc0015_engine, lambda: leaked[-1].memo.append("changed"))
    guard = ToolGuard(engine, revision_gate=UnsafeAnyRevision())
    guard.register_model("sneaky", Sneaky, lambda arguments: arguments)
    assert guard.authorize("sneaky", '{"amount": 1}', agent_name="teller").code == "policy_mutated_arguments"
