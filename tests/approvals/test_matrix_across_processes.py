"""Rows 6 and 7 of RFC-0015's matrix: who asks, who approves and who runs share only the database."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from aioc_opa.core.fingerprint import tool_proposal_hash
from tests.approvals.desk import Desk
from tests.approvals.treasury import Treasury
from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from aioc_opa.engines.protocol import Engine
    from tests.approvals.store_cases import SqlCase


_CLERK = """
import sys
from pathlib import Path
from typing import Annotated
from pydantic import AfterValidator, BaseModel, model_validator
from aioc_opa import EmbeddedEngine, ToolGuard, UnsafeAnyRevision
from aioc_opa.approvals.broker import ApprovalBroker
from aioc_opa.approvals.keys import VoteKeys
from aioc_opa.approvals.stores import open_store
from tests.approvals.treasury import CALL, KIM, RUN, people
from tests.doubles import Meanwhile

parsed = []

class Transfer(BaseModel):
    to: Annotated[str, AfterValidator(lambda text: text.strip().upper())]
    amount: float
    currency: str = "EUR"

    @model_validator(mode="after")
    def kept(self):
        parsed.append(self)
        return self

def mutate():
    parsed[-1].to = "MALLORY"

target, policy, keys, *steps = sys.argv[1:]
store = open_store(target)
engine = Meanwhile(EmbeddedEngine(Path(policy)))
guard = ToolGuard(
    engine,
    revision_gate=UnsafeAnyRevision(),
    approvals=ApprovalBroker(store, keys=VoteKeys.from_file(keys), people=people()),
    result_mode="tool_result",
)
guard.register_model("transfer", Transfer, lambda made: f"moved {made.amount} {made.currency} to {made.to}", version="1")
for step in steps:
    what, _, value = step.partition(":")
    engine.meanwhile = mutate if what == "mutate" else lambda: None
    if what == "ask":
        sys.stdout.write(guard.authorize("transfer", value, **CALL).approval_id)
    elif what == "propose":
        sys.stdout.write(guard.authorize_resume(value, principal=KIM, run_context=RUN).proposal.model_dump_json(by_alias=True))
    else:
        result = guard.resume(value, principal=KIM, run_context=RUN)
        sys.stdout.write(result if isinstance(result, str) else result.code)
    sys.stdout.write("\\n")
store.close()
"""


@pytest.fixture
def clerk(sql_case: SqlCase, treasury_policy: Path, tmp_path: Path, elsewhere: Treasury) -> Callable[..., list[str]]:
    """Runs steps of a guard in a process of its own."""

    keys = tmp_path / "keys.json"
    keys.write_text(json.dumps({"keys": [elsewhere.authority.public_entry().to_json()]}))

    def run(*steps: str) -> list[str]:
        command = [sys.executable, "-W", "error", "-c", _CLERK, sql_case.target, str(treasury_policy), str(keys)]
        done = subprocess.run([*command, *steps], cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    return run


@pytest.fixture
def elsewhere(sql_case: SqlCase, treasury_engines: dict[str, Engine]) -> Treasury:
    return Treasury(engine=treasury_engines["opa"], store=sql_case.store)


def test_row_6_a_mutation_in_the_process_that_resumes_gives_policy_mutated_arguments_and_nothing_runs(
    elsewhere: Treasury, clerk: Callable[..., list[str]]
) -> None:
    (approval_id,) = clerk('ask:{"to": "a7", "amount": 500}')
    assert elsewhere.vote(approval_id).state == "approved"
    steps = [f"mutate:{approval_id}", f"resume:{approval_id}", f"resume:{approval_id}"]
    # The mutated attempt used nothing up: the approval still stands for what was approved, once.
    assert clerk(*steps) == ["policy_mutated_arguments", "moved 500.0 EUR to A7", "approval_consumed"]


def test_row_7_a_suspended_proposal_keeps_both_views_and_the_effective_hash_in_another_process(
    elsewhere: Treasury, clerk: Callable[..., list[str]]
) -> None:
    (approval_id,) = clerk('ask:{"to": " a7 ", "amount": 500, "note": "stripped"}')
    (line,) = clerk(f"propose:{approval_id}")
    proposal = json.loads(line)
    assert proposal["requestedArguments"] == {"to": " a7 ", "amount": 500, "note": "stripped"}
    assert proposal["parsedArguments"] == {"to": "A7", "amount": 500.0, "currency": "EUR"}
    effective = tool_proposal_hash(
        agent_name="clerk", tool_name="transfer", args_canonical_json='{"amount":500,"currency":"EUR","to":"A7"}'
    )
    assert proposal["proposalHash"] == elsewhere.record(approval_id).bindings.proposal_hash == effective


def test_two_stores_on_one_database_share_one_request(
    sql_case: SqlCase, treasury_engines: dict[str, Engine], engine_name: str
) -> None:
    with closing(sql_case.again()) as second:
        desks = [
            Desk(Treasury(engine=treasury_engines[engine_name], store=store)) for store in (sql_case.store, second)
        ]
        assert len({desk.held() for desk in desks}) == 1
