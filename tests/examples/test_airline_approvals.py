"""The airline calls that policy holds, from the agent to the record, on a real OPA (issue 4).

The same on the embedded engine is what the README shows, and `tests/docs` compares it word by word.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from aioc_opa.approvals.keys import VoteKeys
from aioc_opa.approvals.sqlite_store import open_sqlite_store
from aioc_opa.approvals.votes import verified_votes
from aioc_opa.core.approvals.states import ApprovalState
from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from aioc_opa.approvals.records import ApprovalRecord

AIRLINE = ROOT / "examples" / "airline"


class Ran(NamedTuple):
    folder: Path
    said: str
    records: dict[str, ApprovalRecord]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory, opa_binary: Path) -> Ran:
    """The example, once, on OPA."""
    folder = tmp_path_factory.mktemp("airline") / "held-calls"
    done = subprocess.run(
        [sys.executable, AIRLINE / "approvals.py", folder, "--engine", "local"],
        env={**os.environ, "AIOC_OPA_BIN": str(opa_binary)},
        capture_output=True,
        text=True,
        check=True,
    )
    with closing(open_sqlite_store(folder / "approvals.db")) as store:
        listed = store.find("airline", set(ApprovalState), 1000)
        records = {each.bindings.call_id: store.get("airline", each.approval_id) for each in listed}
    return Ran(folder, done.stdout, {call_id: record for call_id, record in records.items() if record is not None})


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (AIRLINE / name).read_text().splitlines()]


def test_the_calls_that_policy_holds_are_stored_and_no_others(ran: Ran) -> None:
    held = [each["id"] for each in lines("expected.jsonl") if each["decision"] == "approval_required"]
    assert list(ran.records) == held  # the order of the record is that of the calls


def test_opa_and_the_embedded_engine_of_the_readme_tell_the_same_story(ran: Ran) -> None:
    (shown,) = re.findall(r"```text output\n(.*?)```", (AIRLINE / "README.md").read_text(), re.DOTALL)
    assert ran.said == shown


def test_some_are_approved_some_rejected_and_some_left_to_expire(ran: Ran) -> None:
    states = Counter(record.state for record in ran.records.values())
    assert states == {ApprovalState.COMPLETED: 18, ApprovalState.REJECTED: 10, ApprovalState.EXPIRED: 3}


def test_every_vote_is_signed_over_the_call_that_was_run(ran: Ran) -> None:
    keys = VoteKeys.from_file(ran.folder / "vote-keys.json")
    voters = Counter(vote.person_id for each in ran.records.values() for vote in verified_votes(each, keys=keys))
    assert voters == {"nora": 10, "omar": 18}


def test_the_tools_were_told_exactly_what_was_approved(ran: Ran) -> None:
    calls = {call["id"]: call for call in lines("calls.jsonl")}
    effects = [json.loads(line) for line in (ran.folder / "effects.jsonl").read_text().splitlines()]
    assert effects == [
        {"tool": calls[call_id]["toolName"], "arguments": json.loads(calls[call_id]["rawArguments"])}
        for call_id, record in ran.records.items()
        if record.state is ApprovalState.COMPLETED
    ]


def test_who_looked_at_the_arguments_is_on_record(ran: Ran) -> None:
    with closing(open_sqlite_store(ran.folder / "approvals.db")) as store:
        looked = Counter((each.who, each.action) for each in store.access_log("airline", None))
    assert (looked["nora", "show"], looked["omar", "show"]) == (10, 18)
    assert looked["runtime", "resume"] == 18  # one that has ended is refused before its arguments are read
