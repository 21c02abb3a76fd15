"""RFC-0015, clause by clause: its six invariants and the seven rows of its test matrix, on both engines."""

from __future__ import annotations

import asyncio
import threading
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any

import pytest
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from aioc_opa.async_guard import AsyncToolGuard
from aioc_opa.engines.embedded import EmbeddedEngine
from aioc_opa.engines.local_opa import LocalOpaEngine
from aioc_opa.errors import ToolArgumentsValidationError
from aioc_opa.guard import ToolGuard
from aioc_opa.models.outcome import Allowed, Denied, Suspended
from aioc_opa.revision_gate import UnsafeAnyRevision
from tests.conftest import ROOT
from tests.doubles import Meanwhile

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from aioc_opa.engines.protocol import Engine

parses = 0


def counted(text: str) -> str:
    global parses  # noqa: PLW0603 - counts how often the schema is parsed
    parses += 1
    return text.strip().upper()


class Line(BaseModel):
    sku: Annotated[str, AfterValidator(counted)] = "NONE"
    tags: list[str] = Field(default_factory=list)


class Transfer(BaseModel):
    model_config = ConfigDict(extra="ignore")
    amount: int
    currency: str = "EUR"
    to: Annotated[str, AfterValidator(counted)]
    on: date = date(2026, 1, 1)
    lines: list[Line] = Field(default_factory=list)
    limits: dict[str, int] = Field(default_factory=dict)


class Bank:
    """A guard with one tool, on a real engine, recording what ran and what was asked."""

    def __init__(self, engine: Engine) -> None:
        self.engine = Meanwhile(engine)
        self.ran: list[Transfer] = []
        self.guard = ToolGuard(self.engine, revision_gate=UnsafeAnyRevision())
        self.guard.register_model("transfer", Transfer, self.ran.append)

    def authorize(self, raw: str) -> Allowed | Denied | Suspended:
        return self.guard.authorize("transfer", raw, agent_name="teller")

    def judged(self) -> Transfer:
        parsed = next(iter(self.guard._core.permits._open.values())).parsed
        assert isinstance(parsed, Transfer)
        return parsed


@pytest.fixture
def bank(rfc0015_engine: Engine) -> Bank:
    return Bank(rfc0015_engine)


def seen(outcome: Allowed | Denied | Suspended) -> dict[str, Any]:
    assert outcome.decision is not None
    assert outcome.decision.metadata is not None
    return outcome.decision.metadata


# --- invariants ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "raw",
    [
        '{"amount": 5, "to": "x"', "{'amount': 5}", '{"amount": 5, "amount": 6, "to": "x"}', '{"amount": NaN, "to": "x"}',
        '{"amount": "many", "to": "x"}', '{"amount": 5}', '{"amount": 5.5, "to": "x"}',
    ],
)  # fmt: skip
def test_invariant_1_decoding_and_schema_come_before_policy(bank: Bank, raw: str) -> None:
    with pytest.raises(ToolArgumentsValidationError):
        bank.authorize(raw)
    assert bank.engine.questions == []


def test_invariant_2_invalid_arguments_reach_neither_policy_nor_tool(bank: Bank) -> None:
    for raw in ("", "null", "[]", '{"amount": 1e999, "to": "x"}', '{"amount": 5, "to": 5}'):
        with pytest.raises(ToolArgumentsValidationError):
            bank.guard.call("transfer", raw, agent_name="teller")
    assert bank.engine.questions == []
    assert bank.ran == []


def test_invariant_3_the_schema_is_parsed_exactly_once_per_attempt(bank: Bank) -> None:
    global parses  # noqa: PLW0603 - see `counted`
    parses = 0
    bank.guard.call("transfer", '{"amount": 5, "to": "x"}', agent_name="teller")
    assert parses == 1
    assert len(bank.ran) == 1


def test_invariant_4_canonical_json_and_hash_describe_what_the_tool_receives(bank: Bank) -> None:
    outcome = bank.authorize('{"to": " x ", "amount": 5, "lines": [{"sku": "a"}]}')
    assert isinstance(outcome, Allowed)
    bank.guard.execute(outcome.permit)
    prepared = bank.guard.prepare("transfer", bank.ran[0].model_dump_json())
    assert prepared.args_canonical_json == seen(outcome)["canonical"]
    assert outcome.question is not None
    assert bank.engine.questions[0]["proposalHash"] == outcome.question.proposal_hash
    assert seen(outcome)["parsed"] == bank.ran[0].model_dump(mode="json")


def test_invariant_5_the_tool_receives_the_object_that_policy_judged(bank: Bank) -> None:
    outcome = bank.authorize('{"amount": 5, "to": "x"}')
    assert isinstance(outcome, Allowed)
    judged = bank.judged()
    bank.guard.execute(outcome.permit)
    assert bank.ran[0] is judged


def test_invariant_6_a_policy_that_mutates_the_arguments_is_denied_with_that_reason(bank: Bank) -> None:
    mutate_while_judged(bank, lambda transfer: setattr(transfer, "amount", 99))
    outcome = bank.authorize('{"amount": 5, "to": "x"}')
    assert isinstance(outcome, Denied)
    assert outcome.code == "policy_mutated_arguments"


# --- the minimal test matrix -----------------------------------------------------------------------------------------


def test_row_1_defaults_are_visible_to_policy_and_tool(bank: Bank) -> None:
    outcome = bank.authorize('{"amount": 5, "to": "x"}')
    assert isinstance(outcome, Allowed)
    assert seen(outcome)["parsed"]["currency"] == "EUR"
    assert "currency" not in seen(outcome)["requested"]
    bank.guard.execute(outcome.permit)
    assert bank.ran[0].currency == "EUR"


def test_row_2_coercions_and_transforms_give_policy_and_tool_the_same_value(bank: Bank) -> None:
    outcome = bank.authorize('{"amount": "7", "to": " ann ", "on": "2026-05-01"}')
    assert isinstance(outcome, Allowed)
    parsed = seen(outcome)["parsed"]
    assert (parsed["amount"], parsed["to"], parsed["on"]) == (7, "ANN", "2026-05-01")
    assert seen(outcome)["requested"]["amount"] == "7"
    bank.guard.execute(outcome.permit)
    assert (bank.ran[0].amount, bank.ran[0].to, bank.ran[0].on) == (7, "ANN", date(2026, 5, 1))


def test_row_3_stripped_input_remains_visible_only_in_requested_arguments(bank: Bank) -> None:
    outcome = bank.authorize('{"amount": 5, "to": "x", "force": true}')
    assert seen(outcome)["requested"]["force"] is True
    assert "force" not in seen(outcome)["parsed"]
    assert "force" not in seen(outcome)["canonical"]
    assert isinstance(outcome, Allowed)
    bank.guard.execute(outcome.permit)
    assert not hasattr(bank.ran[0], "force")


def test_row_4_equivalent_normalized_inputs_have_the_same_proposal_hash(bank: Bank) -> None:
    texts = [
        '{"amount":5,"to":"X"}',
        '{ "to" : "x ", "amount" : 5 }',
        '{"amount":"5","to":" x","currency":"EUR"}',
        '{"amount":5.0,"to":"\\u0078","extra":1,"lines":[],"limits":{},"on":"2026-01-01"}',
    ]
    hashes = {outcome.question.proposal_hash for outcome in map(bank.authorize, texts) if outcome.question}
    assert len(hashes) == 1
    other = bank.authorize('{"amount":6,"to":"X"}')
    assert other.question is not None
    assert other.question.proposal_hash not in hashes


@pytest.mark.parametrize(("raw", "stage"), [('{"amount": 5,', "json"), ('{"amount": "five", "to": "x"}', "schema")])
def test_row_5_malformed_and_schema_invalid_input_invoke_neither_policy_nor_tool(
    bank: Bank, raw: str, stage: str
) -> None:
    with pytest.raises(ToolArgumentsValidationError) as caught:
        bank.guard.call("transfer", raw, agent_name="teller")
    assert caught.value.stage == stage
    assert bank.engine.questions == []
    assert bank.ran == []


def mutate_while_judged(bank: Bank, mutation: Callable[[Transfer], object]) -> None:
    """Do to the judged object, while policy decides, what an in-process policy or hook could do."""
    prepare = bank.guard._core.prepare

    def spy(tool: Any, raw: object) -> Any:
        prepared = prepare(tool, raw)
        bank.engine.meanwhile = lambda: mutation(prepared.parsed)  # type: ignore[arg-type] # a Transfer
        return prepared

    bank.guard._core.prepare = spy  # type: ignore[method-assign] # the test reaches the judged object


def in_another_thread(mutation: Callable[[Transfer], object]) -> Callable[[Transfer], object]:
    def run(transfer: Transfer) -> None:
        thread = threading.Thread(target=mutation, args=(transfer,))
        thread.start()
        thread.join()

    return run


@pytest.mark.parametrize(
    "mutation",
    [
        lambda t: t.lines.append(Line()),
        lambda t: t.lines[0].tags.append("x"),
        lambda t: t.lines[0].tags.clear(),
        lambda t: t.limits.update(daily=1),
        lambda t: t.limits.pop("daily"),
        lambda t: setattr(t.lines[0], "sku", "B"),
        lambda t: t.__dict__.update(amount=50),
        lambda t: t.__dict__.pop("amount"),
        in_another_thread(lambda t: t.lines[0].tags.append("y")),
        in_another_thread(lambda t: t.limits.update(monthly=2)),
    ],
)
def test_row_6_a_mutation_gives_policy_mutated_arguments_and_nothing_runs(
    bank: Bank, mutation: Callable[[Transfer], object]
) -> None:
    mutate_while_judged(bank, mutation)
    raw = '{"amount": 5, "to": "x", "lines": [{"sku": "a", "tags": ["t"]}], "limits": {"daily": 3}}'
    outcome = bank.authorize(raw)
    assert isinstance(outcome, Denied)
    assert outcome.code == "policy_mutated_arguments"
    assert bank.ran == []


def test_row_6_a_mutation_between_permit_and_execution_is_found_too(bank: Bank) -> None:
    from aioc_opa.errors import ToolCallPolicyDeniedError

    outcome = bank.authorize('{"amount": 5, "to": "x", "lines": [{}]}')
    assert isinstance(outcome, Allowed)
    bank.judged().lines[0].tags.append("late")
    with pytest.raises(ToolCallPolicyDeniedError, match="policy_mutated_arguments"):
        bank.guard.execute(outcome.permit)
    assert bank.ran == []


def test_row_7_a_suspended_proposal_keeps_both_views_and_the_effective_hash(bank: Bank) -> None:
    outcome = bank.authorize('{"amount": "500", "to": "x", "force": true}')
    assert isinstance(outcome, Suspended)
    proposal = outcome.proposal
    assert proposal.requested_arguments == {"amount": "500", "to": "x", "force": True}
    assert proposal.parsed_arguments["amount"] == 500
    assert "force" not in proposal.parsed_arguments
    assert proposal.raw_arguments == '{"amount": "500", "to": "x", "force": true}'
    same = bank.authorize('{"to":"X","amount":500}')
    assert isinstance(same, Suspended)
    assert same.proposal.proposal_hash == proposal.proposal_hash == bank.engine.questions[0]["proposalHash"]
    assert bank.ran == []


# --- the same on an event loop, and for handoffs ---------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["opa", "embedded"])
async def test_the_async_guard_holds_the_same_on_both_engines(kind: str, opa_binary: Path) -> None:
    policy = ROOT / "tests" / "policies" / "rfc0015"
    engine = LocalOpaEngine(policy, opa_binary=opa_binary) if kind == "opa" else EmbeddedEngine(policy)
    guard = AsyncToolGuard(engine, revision_gate=UnsafeAnyRevision())
    ran: list[Transfer] = []
    guard.register_model("transfer", Transfer, ran.append)
    try:
        outcomes = await asyncio.gather(
            *(
                guard.authorize("transfer", f'{{"amount": {amount}, "to": "x"}}', agent_name="teller")
                for amount in (5, 500, 5000)
            )
        )
        assert [type(outcome) for outcome in outcomes] == [Allowed, Suspended, Denied]
        await guard.call("transfer", '{"amount": 5, "to": "x"}', agent_name="teller")
    finally:
        await engine.aclose()
    assert len(ran) == 1


@pytest.mark.parametrize(
    ("target", "code"), [("billing", "allowed"), ("refunds", "refunds_handoff"), ("elsewhere", "not_here")]
)
def test_handoffs_share_the_strict_decoding_and_are_decided_by_their_target(bank: Bank, target: str, code: str) -> None:
    assert bank.guard.authorize_handoff(target, '{"why": "x"}', from_agent_name="teller").code == code
    with pytest.raises(ToolArgumentsValidationError):
        bank.guard.authorize_handoff(target, '{"why": "x"', from_agent_name="teller")
