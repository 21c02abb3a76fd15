"""Evidence lifts all holds of a call or none: random holds and votes, on a real OPA and on the embedded engine.

What a set of votes comes to is said a second time in Python (`aioc_opa.core.approvals.tally`), which is what counts when
votes are cast: the two agree.
"""

from __future__ import annotations

import copy
import json
import random
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa.core.approvals.states import ApprovalEvent
from aioc_opa.core.approvals.tally import tally
from aioc_opa.engines.embedded import EmbeddedEngine
from aioc_opa.models.approval_bindings import ApprovalBindings
from aioc_opa.models.approval_vote_statement import VoteStatement
from aioc_opa.models.decision import ApprovalTerms
from aioc_opa.packs.policy_folder import LoadedPolicy, load_policy
from aioc_opa.packs.samples import read_samples
from tests.differential.comparison import ask_embedded
from tests.opa.evidence import everybody, evidence, resumed, vote
from tests.opa.test_total import JUNK, places
from tests.packs.evaluation import copy_policy, on_opa, on_regorus

if TYPE_CHECKING:
    from pathlib import Path

Json = Any

ROLES = ["lead", "cfo", "board", "guest"]
PERSONS = ["ann", "bob", "cyd", "kim", "bot", "desk"]
COUNT = 800
HASH = "a" * 64
# What the packs say comes with the question: the rest is the library as it is.
ROUTES = """package aioc.routes

import future.keywords.not

deny contains verdict if some verdict in input.runContext.context.deny

require_approval contains verdict if some verdict in input.runContext.context.holds

allow contains verdict if some verdict in input.runContext.context.allow
"""


@pytest.fixture(scope="module")
def policy(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("evidence") / "policy"
    copy_policy(repository / "rego/aioc/lib", folder / "aioc/lib")
    copy_policy(repository / "rego/aioc/tool_policy", folder / "aioc/tool_policy")
    (folder / "aioc/routes").mkdir()
    (folder / "aioc/routes/routes.rego").write_text(ROUTES)
    return folder


def random_question(rng: random.Random) -> Json:
    holds = [
        {
            "code": f"hold_{number}",
            "approval": {
                "approverRoles": rng.sample(ROLES, rng.randint(1, 2)),
                "quorum": rng.choice([1, 1, 1, 2, 3]),
                "separationOfDuties": rng.random() < 0.3,
                "ttlSeconds": 60,
            },
        }
        for number in range(rng.randint(1, 3))
    ]
    context = {"deny": [{"code": "over"}] if rng.random() < 0.1 else [], "holds": holds, "allow": [{"code": "fine"}]}
    question: Json = {
        "kind": "tool",
        "requestId": "r",
        "proposalHash": HASH,
        "toolName": "t",
        "runContext": {"context": context},
        "principal": {"identity": "bot", "onBehalfOf": ["desk"]},
    }
    votes = [
        vote(rng.choice(PERSONS[:4] if rng.random() < 0.9 else PERSONS), rng.sample(ROLES, rng.randint(0, 4)))
        for _ in range(rng.randint(0, 5))
    ]
    if votes and rng.random() < 0.15:
        rng.choice(votes)["verdict"] = "rejected"
    return {**question, "approval": evidence(question, votes, requesters=rng.choice([[], ["kim"], ["kim", "cyd"]]))}


@pytest.fixture(scope="module")
def questions() -> list[Json]:
    rng = random.Random(20261201)  # noqa: S311 - reproducible on purpose
    return [random_question(rng) for _ in range(COUNT)]


def is_met(question: Json) -> bool:
    """What the votes come to, said in Python: `tally`, and what the library is stricter in."""
    holds, shown = question["runContext"]["context"]["holds"], question["approval"]
    separate = any(hold["approval"]["separationOfDuties"] for hold in holds)
    terms = ApprovalTerms.model_validate(
        {
            "requirements": [
                {key: each for key, each in {"code": hold["code"], **hold["approval"]}.items() if key in {"code", "approverRoles", "quorum"}}
                for hold in holds
            ],
            "separationOfDuties": separate,
            "ttlSeconds": 60,
        }
    )  # fmt: skip
    asking = {*shown["requesters"], shown["requestedBy"], "bot", "desk"}
    statements = [_statement(each, number) for number, each in enumerate(shown["votes"])]
    if any(each["verdict"] == "rejected" for each in shown["votes"]):
        return False  # also of somebody without a role, whose vote is never cast
    if separate and any(each["personId"] in asking for each in shown["votes"]):
        return False  # such a vote is never cast: something is wrong with the evidence
    return tally(terms, statements, requesters=asking) is ApprovalEvent.APPROVE


def _statement(each: Json, number: int) -> VoteStatement:
    bindings = ApprovalBindings(
        proposal_hash=HASH, run_id="r", call_id="c", agent_name="a", tool_name="t", tool_digest=HASH,
        policy_revision="{}", terms_digest=HASH,
    )  # fmt: skip
    return VoteStatement(
        approval_id=f"apr_{number:032}", bindings=bindings, person_id=each["personId"], roles=tuple(each["roles"]),
        verdict=each["verdict"], reason="x", at=each["at"], expires_at="2026-01-01T01:00:00Z", key_id="k",
    )  # fmt: skip


def embedded(policy: Path, questions: list[Json]) -> list[Json]:
    """By the embedded engine itself, its load checks on."""
    modules = {str(file.relative_to(policy)): file.read_text() for file in sorted(policy.rglob("*.rego"))}
    data: dict[str, Json] = {"aioc": {"lib": json.loads((policy / "aioc/lib/data.json").read_text())}}
    engine = EmbeddedEngine(LoadedPolicy(modules=modules, data=data, files={}, revision="sha256:x"))
    bodies = [json.dumps({"input": each}, separators=(",", ":")).encode() for each in questions]
    outcomes = [ask_embedded(engine, "aioc/tool_policy/decision", body) for body in bodies]
    engine.close()
    return [value if kind == "value" else {"decision": "deny", "reason": kind} for kind, value in outcomes]


def test_random_votes_lift_random_holds_as_the_count_says_on_both_engines(
    policy: Path, questions: list[Json], opa_binary: Path
) -> None:
    answers = on_opa(opa_binary, policy, questions)
    assert embedded(policy, questions) == answers
    without = on_opa(opa_binary, policy, [{**each, "approval": None} for each in questions])
    for question, answer, held in zip(questions, answers, without, strict=True):
        denied = bool(question["runContext"]["context"]["deny"])
        if not is_met(question):
            assert answer == held  # all holds remain, each of them a requirement
        elif denied:
            assert (answer["decision"], answer["reasons"]) == ("deny", ["over"])
        else:
            assert (answer["decision"], answer["reasons"]) == ("allow", [])
    decisions = [answer["decision"] for answer in answers]
    assert min(map(decisions.count, ("allow", "approval_required", "deny"))) > COUNT // 20


def test_spoilt_evidence_never_lifts_what_sound_evidence_does_not(
    policy: Path, questions: list[Json], opa_binary: Path
) -> None:
    rng = random.Random(7)  # noqa: S311 - reproducible on purpose
    spoilt = []
    for question in questions:
        changed = copy.deepcopy(question)
        path = rng.choice(places(changed["approval"]))
        place: Any = changed["approval"]
        for key in path[:-1]:
            place = place[key]
        if isinstance(place, dict) and rng.random() < 0.5:
            del place[path[-1]]
        else:
            place[path[-1]] = copy.deepcopy(rng.choice(JUNK))
        spoilt.append((path, changed))
    answers = on_opa(opa_binary, policy, [changed for _, changed in spoilt])
    assert len(answers) == len(questions)
    for mine, theirs in zip(embedded(policy, [changed for _, changed in spoilt]), answers, strict=True):
        assert mine == theirs or mine["decision"] == "deny"
    for question, (path, _), answer in zip(questions, spoilt, answers, strict=True):
        # A vote against that is gone, or a requester that is, cannot be seen: each vote and the list are signed or made
        # by the runtime. Everything else that is spoilt lifts nothing.
        if answer["decision"] == "allow" and not is_met(question):
            assert path[0] in {"votes", "requesters", "requestedBy"}, path
    assert sum(answer["decision"] == "allow" for answer in answers) > 5


def test_every_sample_that_is_held_is_allowed_once_its_requirements_are_met_and_never_with_less(
    repository: Path, tmp_path: Path, opa_binary: Path
) -> None:
    policy = copy_policy(repository / "rego", tmp_path / "policy")
    packs = sorted(path.parent for path in (repository / "rego/aioc/packs").glob("*/data.json"))
    held = [s.input for pack in packs for s in read_samples(pack / "samples") if s.decision == "approval_required"]
    assert len(held) >= 3
    terms = on_opa(opa_binary, policy, held)
    enough = [resumed(question, everybody(answer)) for question, answer in zip(held, terms, strict=True)]
    less = [resumed(question, everybody(answer)[1:]) for question, answer in zip(held, terms, strict=True)]
    for answers in (on_opa(opa_binary, policy, enough + less), on_regorus(policy, enough + less)):
        assert [each["decision"] for each in answers[: len(held)]] == ["allow"] * len(held)
        assert answers[len(held) :] == terms


def test_a_handoff_has_no_evidence_and_stays_held(repository: Path, tmp_path: Path, opa_binary: Path) -> None:
    policy = copy_policy(repository / "rego", tmp_path / "policy")
    assert load_policy(policy).modules
    asked = {"kind": "handoff", "requestId": "r", "proposalHash": HASH, "fromAgentName": "triage_agent", "toAgentName": "refund_agent"}  # fmt: skip
    rule = "data.aioc.handoff_policy.decision"
    questions = [asked, resumed(asked, [vote("ann", ["approver"])])]
    for held, shown in (on_opa(opa_binary, policy, questions, rule), on_regorus(policy, questions, rule)):
        assert held["decision"] == "approval_required"
        assert shown == held
