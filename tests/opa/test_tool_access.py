"""`data.aioc.tool_access.decision`: total, the same on both engines, and never looser for what is taken away."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa.access.adapters import NoAnswerError
from aioc_opa.access.opa_adapter import OpaToolPolicy
from aioc_opa.core.reasons import Reason
from aioc_opa.engines.embedded import EmbeddedEngine
from aioc_opa.engines.local_opa import LocalOpaEngine
from aioc_opa.models.tool_access import ToolAccessDecision
from aioc_opa.models.tool_authorization import ToolAuthorizationRequest
from aioc_opa.packs.policy_folder import load_policy
from tests.opa.take_away import looser, remove_key, tables
from tests.opa.test_total import JUNK, mutated, places
from tests.packs.evaluation import copy_policy, on_opa, on_regorus
from tests.packs.folders import write

if TYPE_CHECKING:
    from pathlib import Path

Json = Any

RULE = "data.aioc.tool_access.decision"
COUNT = 400
REQUEST = {
    "requestId": "r",
    "identity": "support-bot",
    "tenantId": "acme",
    "toolName": "support_issue_refund",
    "toolVersion": "1",
    "capability": "customer_service",
    "provider": "example-provider",
    "model": "example-model",
    "deadlineSeconds": 5.0,
    "resourceBudget": 1,
}
NAMES: dict[str, list[Any]] = {
    "identity": ["support-bot", "airline-agent", "nobody"],
    "tenantId": ["acme", "globex", "other"],
    "toolName": [
        "support_issue_refund",
        *["support_close_account"] * 3,
        "support_purge_logs",
        "send_certificate",
        "unknown",
    ],
    "capability": ["customer_service", "other"],
    "provider": ["example-provider", "other"],
    "model": ["example-model", "other"],
    "resourceBudget": [1, 4, 16],
}


def question(request: Json) -> Json:
    return {"contractVersion": "1", "kind": "access", "requestId": "r", "requestDigest": "0" * 64, "request": request}


def random_questions() -> list[Json]:
    rng = random.Random(4)  # noqa: S311 - reproducible on purpose
    asked = []
    for _ in range(COUNT):
        request = {**REQUEST, **{key: rng.choice([*values[:1] * 5, *values]) for key, values in NAMES.items()}}
        for key in ("tenantId", "capability", "provider", "model", "toolVersion"):
            if rng.random() < 0.25:
                del request[key]
        asked.append(question(request))
    return asked


@pytest.fixture
def policy(repository: Path, tmp_path: Path) -> Path:
    return copy_policy(repository / "rego", tmp_path / "policy")


def test_random_requests_on_random_tables_get_the_same_decision_on_both_engines(policy: Path, opa_binary: Path) -> None:
    rng = random.Random(9)  # noqa: S311 - reproducible on purpose
    file = policy / "aioc/access/data.json"
    whole = json.loads(file.read_text())
    decisions: list[str] = []
    for number in range(6):
        access = whole if number == 0 else spoilt(rng, whole, entries=8)
        file.write_text(json.dumps(access))
        asked = random_questions()
        answers = on_opa(opa_binary, policy, asked, RULE)
        assert on_regorus(policy, asked, RULE) == answers
        decisions += [ToolAccessDecision.model_validate(answer).decision for answer in answers]
    assert min(map(decisions.count, ("allow", "approval_required", "deny"))) > COUNT // 20, decisions


def spoilt(rng: random.Random, access: Json, *, entries: int) -> Json:
    """The tables with restrictions, effects and junk in places."""
    changed = json.loads(json.dumps(access))
    lists = ["identities", "groups", "tenants", "tools", "versions", "capabilities", "providers", "models"]
    values = [*(value for choices in NAMES.values() for value in choices), "support", "airline", "1"]
    for _ in range(entries):
        table = changed[rng.choice(["tools", "tools", "identities", "tenants", "capabilities", "providers"])]
        entry = table[rng.choice(sorted(table))]
        roll = rng.random()
        if roll < 0.3:
            entry["effect"] = rng.choice(["allow", "allow", "approval_required", "deny", "permit"])
        elif roll < 0.6:
            entry[rng.choice(lists)] = rng.sample(values, 8)
        elif roll < 0.7:
            entry[rng.choice(["mostResourceBudget", "mostDeadlineSeconds"])] = rng.choice([1, 4, 5, 16])
        elif roll < 0.75:
            entry[rng.choice([*lists, "memberOf", "more"])] = rng.choice(JUNK)
    return changed


def test_every_input_has_a_decision_and_the_embedded_engine_the_same_or_a_deny(policy: Path, opa_binary: Path) -> None:
    rng = random.Random(3)  # noqa: S311 - reproducible on purpose
    assert places(REQUEST)
    asked = [*JUNK, *(mutated(rng, each) for each in random_questions())]
    answers = on_opa(opa_binary, policy, asked, RULE)
    assert len(answers) == len(asked)
    refusal = {"decision": "deny", "reason": "engine_failure", "reasons": []}
    for answer, embedded in zip(answers, on_regorus(policy, asked, RULE), strict=True):
        assert embedded in (answer, refusal)
        assert answer["decision"] in {"allow", "approval_required", "deny"}
        assert answer.keys() <= {"decision", "reason", "kind", "requestId", "requestDigest"}


def test_no_table_no_entry_and_no_file_that_is_taken_away_makes_it_looser(policy: Path, opa_binary: Path) -> None:
    asked = random_questions()[:60]
    before = on_regorus(policy, asked, RULE)
    assert before == on_opa(opa_binary, policy, asked, RULE)
    own = policy / "aioc/access_rules/access_rules.rego"
    for file in (own, policy / "aioc/access/data.json", policy / "aioc/tool_access/table/table.rego"):
        text = file.read_text()
        file.unlink()
        for after in (on_regorus(policy, asked, RULE), on_opa(opa_binary, policy, asked, RULE)):
            assert not looser(before, after)
            assert {answer["decision"] for answer in after} <= {"deny"}
        file.write_text(text)
    taken = [(file, path) for file, path in tables(policy) if file.parent.name in {"access", "lib"}]
    assert len(taken) > 20
    for file, path in taken:
        text = remove_key(file, path)
        assert not looser(before, on_regorus(policy, asked, RULE)), path
        file.write_text(text)


def test_rules_of_ones_own_decide_where_the_table_says_so(policy: Path, opa_binary: Path) -> None:
    own = """package aioc.access_rules

import data.aioc.lib.verdicts
import future.keywords.not

loaded := true

deny contains verdict if {
	not input.request.identity in data.aioc.access_rules.oncall
	verdict := verdicts.deny("not_on_call")
}

allow contains verdict if {
	input.request.toolName == "page"
	verdict := verdicts.allow("page_somebody")
}
"""
    write(policy, {"aioc/access_rules/access_rules.rego": own, "aioc/access_rules/data.json": {"oncall": ["kim"]}})
    asked = [
        question({"identity": who, "toolName": tool, "deadlineSeconds": 5, "resourceBudget": 1})
        for who in ("kim", "lee")
        for tool in ("page", "other")
    ]
    for decided_by, expected in (
        ("rules", ["allowed", "no_rule_allows", "not_on_call", "not_on_call"]),
        ("table", ["identity_not_listed"] * 4),
    ):
        access = json.loads((policy / "aioc/access/data.json").read_text())
        write(policy, {"aioc/access/data.json": {**access, "decidedBy": decided_by}})
        assert load_policy(policy).modules
        for answers in (on_opa(opa_binary, policy, asked, RULE), on_regorus(policy, asked, RULE)):
            assert [answer["reason"] for answer in answers] == expected
    (policy / "aioc/access_rules/data.json").unlink()
    assert {answer["decision"] for answer in on_opa(opa_binary, policy, asked, RULE)} == {"deny"}


def test_the_adapter_asks_it_on_a_real_opa_and_on_the_embedded_engine(policy: Path, opa_binary: Path) -> None:
    request = ToolAuthorizationRequest.model_validate(REQUEST)
    decided = []
    for engine in (LocalOpaEngine(policy, opa_binary=opa_binary), EmbeddedEngine(policy)):
        adapter = OpaToolPolicy(engine)
        for tool in ("support_issue_refund", "support_close_account", "support_purge_logs", "unknown"):
            result = adapter.authorize_sync(request.model_copy(update={"tool_name": tool}))
            decided.append((result.decision, result.reason_code))
        engine.close()
    assert decided == 2 * [
        ("allow", "allowed"),
        ("approval_required", "access_needs_approval"),
        ("deny", "access_denied_by_table"),
        ("deny", "tool_not_listed"),
    ]


def test_a_policy_without_it_gives_the_adapter_no_answer(policy: Path, opa_binary: Path) -> None:
    for file in (*(policy / "aioc/tool_access").rglob("*.rego"), *(policy / "aioc/access_rules").rglob("*.rego")):
        file.unlink()
    for engine in (LocalOpaEngine(policy, opa_binary=opa_binary), EmbeddedEngine(policy)):
        with pytest.raises(NoAnswerError) as refusal:
            OpaToolPolicy(engine).authorize_sync(ToolAuthorizationRequest.model_validate(REQUEST))
        assert refusal.value.reason is Reason.POLICY_UNDEFINED
        engine.close()
