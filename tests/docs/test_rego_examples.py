"""The Rego of the documents does what the text around it says, on both engines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa import (
    Allowed,
    Denied,
    EmbeddedEngine,
    LocalOpaEngine,
    Principal,
    ToolGuard,
    UnsafeAnyRevision,
)
from aioc_opa.packs.scaffolding import new_pack
from aioc_opa.packs.scaffolding_rules import PackRules
from tests.conftest import ROOT
from tests.docs.blocks import blocks

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OPERATOR = Principal(identity="kim", roles=("operator",))


def rego_of(document: str) -> str:
    (block,) = blocks(ROOT / document, "rego")
    return block.text


def rules(text: str) -> list[str]:
    """Rules and imports without METADATA and comments."""
    code = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    return [rule.strip() for rule in re.split(r"\n\n+", code) if rule.strip()]


def test_the_readme_shows_the_rules_that_new_pack_writes(tmp_path: Path) -> None:
    (tmp_path / "aioc" / "tool_policy").mkdir(parents=True)
    library = "aioc/tool_policy/tool_policy.rego"
    (tmp_path / library).write_text((ROOT / "rego" / library).read_text())
    new_pack("payments", tmp_path, tools=["refund"], rules=PackRules.AMOUNTS)
    written = rules((tmp_path / "aioc/packs/payments/payments.rego").read_text())
    shown = rules(rego_of("README.md"))
    assert len(shown) > 5
    assert [rule for rule in shown if rule not in written] == []


@pytest.fixture(params=["embedded", "opa"])
def engine(request: pytest.FixtureRequest, tmp_path: Path, opa_binary: Path) -> Iterator[Any]:
    module = tmp_path / "aioc" / "tool_policy" / "tool_policy.rego"
    module.parent.mkdir(parents=True)
    module.write_text(rego_of("docs/contract.md"))
    made: Any = (
        EmbeddedEngine(tmp_path) if request.param == "embedded" else LocalOpaEngine(tmp_path, opa_binary=opa_binary)
    )
    yield made
    made.close()


def test_the_contracts_entrypoint_decides_as_it_reads(engine: Any) -> None:
    guard = ToolGuard(engine, revision_gate=UnsafeAnyRevision())

    @guard.tool()
    def refund(amount: float, note: str = "") -> float:
        return amount

    @guard.tool()
    def other(amount: float) -> float:
        return amount

    guard.check()
    assert isinstance(guard.authorize("refund", '{"amount": 100}', agent_name="a", principal=OPERATOR), Allowed)
    for tool, amount, principal in [
        ("refund", "100.01", OPERATOR),
        ("refund", "0", OPERATOR),
        ("refund", "-5", OPERATOR),
        ("refund", "5", Principal(identity="kim")),
        ("refund", "5", None),
        ("other", "5", OPERATOR),
    ]:
        outcome = guard.authorize(tool, f'{{"amount": {amount}}}', agent_name="a", principal=principal)
        assert isinstance(outcome, Denied)
        assert outcome.code == "not_permitted"
