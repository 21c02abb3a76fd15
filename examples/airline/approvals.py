"""The life of the 31 airline calls that policy holds: stored, voted on, resumed, each step in a process of its own.

    python examples/airline/approvals.py FOLDER [--engine embedded|local]

FOLDER is made: it gets the store (a SQLite file), the reviewers' keys, and what the tools did. What becomes of each
call follows from its recorded data alone:

- a certificate waits in line while the customer does; nobody looks at it in time, and it expires;
- where nobody knows who the customer is, Nora rejects;
- everything else Omar approves. He has called the customer.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aioc_opa import EmbeddedEngine, LocalOpaEngine, Principal, RunContext, ToolGuard, UnsafeAnyRevision
from aioc_opa.approvals.broker import ApprovalBroker
from aioc_opa.approvals.keys import AccountHolder, SigningKey, VoteKeys
from aioc_opa.approvals.people import PeopleFile
from aioc_opa.approvals.sqlite_store import open_sqlite_store
from aioc_opa.approvals.votes import sign_vote
from aioc_opa.core.approvals.states import ApprovalState
from aioc_opa.core.approvals.vote_text import statement_of
from aioc_opa.models.outcome import Suspended
from aioc_opa.tool_lists import read_tool_list

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aioc_opa.approvals.records import ApprovalRecord

HERE = Path(__file__).resolve().parent
POLICY = HERE.parent.parent / "rego"
ISSUER = "https://login.airline.example"
TENANT = "airline"
WAIT_SECONDS = 0.1
LIMIT = 1000


def recorded_calls() -> dict[str, dict[str, Any]]:
    """The recorded calls by id, in their order."""
    lines = (HERE / "calls.jsonl").read_text(encoding="utf-8").splitlines()
    return {call["id"]: call for call in map(json.loads, lines)}


def principal_of(call: dict[str, Any]) -> Principal:
    """Who calls: the agent, for the customer where it knows who that is."""
    customer = call["runContext"]["context"]["identity"]["userId"]
    return Principal(identity="airline_agent", tenant=TENANT, on_behalf_of=None if customer is None else (customer,))


def run_context_of(call: dict[str, Any]) -> RunContext:
    """The state of the airline's systems. A real application asks them again when it resumes."""
    return RunContext(run_id=call["runContext"]["runId"], context=call["runContext"]["context"])


@contextmanager
def opened(folder: Path, engine_name: str) -> Iterator[tuple[ToolGuard, ApprovalBroker]]:
    """A guard with the airline's tools, whose effect is a line in a file, and its approvals."""
    keys, people = VoteKeys.from_file(folder / "vote-keys.json"), PeopleFile(HERE / "people.json")
    store = open_sqlite_store(folder / "approvals.db")
    engine = (
        EmbeddedEngine(POLICY)
        if engine_name == "embedded"
        else LocalOpaEngine(POLICY, opa_binary=Path(os.environ["AIOC_OPA_BIN"]))
    )
    try:
        broker = ApprovalBroker(store, keys=keys, people=people, poll_seconds=0.02)
        guard = ToolGuard(engine, revision_gate=UnsafeAnyRevision(), approvals=broker, result_mode="tool_result")
        for tool in read_tool_list(HERE / "tools.json"):
            effect = effect_of(folder, tool.name)
            guard.register_json_schema(tool.name, tool.schema, effect, description=tool.description)
        yield guard, broker
    finally:
        engine.close()
        store.close()


def effect_of(folder: Path, tool_name: str) -> Any:
    """What stands for the airline's system: it writes down what it was told to do."""

    def effect(arguments: dict[str, Any]) -> str:
        with (folder / "effects.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps({"tool": tool_name, "arguments": arguments}) + "\n")
        return "done"

    return effect


def prepare(folder: Path) -> None:
    """Keys of the two reviewers: each signs in a file of their own; guards and broker get the public halves."""
    folder.mkdir(mode=0o700)
    entries = []
    for name in ("nora", "omar"):
        key = SigningKey.generate(holder=AccountHolder(name, ISSUER, name))
        key.save(folder / f"{name}.key")
        entries.append(key.public_entry(roles={"approver"}).to_json())
    (folder / "vote-keys.json").write_text(json.dumps({"keys": entries}), encoding="utf-8")


def hold(folder: Path, engine_name: str) -> None:
    """The agent's process: decide all recorded calls, and store those that policy holds."""
    with opened(folder, engine_name) as (guard, _):
        for call_id, call in recorded_calls().items():
            options: dict[str, Any] = {
                "agent_name": call["agentName"],
                "principal": principal_of(call),
                "run_context": run_context_of(call),
                "turn": call["turn"],
                "call_id": call_id,
            }
            outcome = guard.authorize(call["toolName"], call["rawArguments"], **options)
            if isinstance(outcome, Suspended) and call["toolName"] == "send_certificate":
                # The customer is on the line; finds the request that the line above has stored.
                guard.call(call["toolName"], call["rawArguments"], wait=WAIT_SECONDS, **options)


def decide(folder: Path, engine_name: str) -> None:
    """The reviewers' process: look at what waits, and vote."""
    with opened(folder, engine_name) as (_, broker):
        for waiting in broker.find(TENANT, {ApprovalState.PENDING}, LIMIT):
            if "identity_not_established" in waiting.reasons:
                vote(folder, broker, waiting, by="nora", verdict="rejected", reason="nobody knows who is asking")
            else:
                vote(folder, broker, waiting, by="omar", verdict="approved", reason="called the customer, who agrees")


def vote(folder: Path, broker: ApprovalBroker, waiting: ApprovalRecord, *, by: str, verdict: Any, reason: str) -> None:
    """Look at the call (which is logged), and cast a vote that the reviewer's own key signs."""
    key = SigningKey.load(folder / f"{by}.key")
    person = broker.people.authenticated(ISSUER, by)
    if person is None:
        raise SystemExit(f"{by} is nobody in people.json")
    record = broker.show(TENANT, waiting.approval_id, who=by)
    signed = sign_vote(record, person, verdict=verdict, reason=reason, key=key, at_ms=broker.store.now_ms())
    broker.cast(TENANT, record.approval_id, signed)


def resume(folder: Path, engine_name: str) -> None:
    """A worker's process: try to run every held call, and then all of them again."""
    calls = recorded_calls()
    with opened(folder, engine_name) as (guard, broker), (folder / "resumed.jsonl").open("w") as file:
        for record in [*broker.find(TENANT, set(ApprovalState), LIMIT)] * 2:
            call = calls[record.bindings.call_id]
            result = guard.resume(record.approval_id, principal=principal_of(call), run_context=run_context_of(call))
            file.write(json.dumps([record.bindings.call_id, result if result == "done" else result.code]) + "\n")


def show(folder: Path, engine_name: str) -> None:
    """Anybody's process, later: what the record says of each call."""
    tries: dict[str, list[str]] = {}
    for call_id, said in map(json.loads, (folder / "resumed.jsonl").read_text().splitlines()):
        tries.setdefault(call_id, []).append(said)
    with opened(folder, engine_name) as (_, broker):
        records = broker.find(TENANT, set(ApprovalState), LIMIT)
    layout = "{:18} {:29} {:5} {:9} {:17} {}"
    print(layout.format("call", "tool", "vote", "state", "resumed", "and once more"))
    for record in records:
        call_id = record.bindings.call_id
        voters = [statement_of(vote.statement).person_id for vote in record.votes] or ["-"]
        print(layout.format(call_id, record.bindings.tool_name, *voters, record.state, *tries[call_id]))
    effects = (folder / "effects.jsonl").read_text().splitlines()
    print(f"{len(records)} calls were held; the tools ran {len(effects)} times")


STEPS = {"hold": hold, "decide": decide, "resume": resume, "show": show}


def main() -> None:
    """All steps, one process after another; or the one step that is named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--engine", choices=("embedded", "local"), default="embedded")
    parser.add_argument("--step", choices=tuple(STEPS))
    options = parser.parse_args()
    if options.step is not None:
        STEPS[options.step](options.folder, options.engine)
        return
    prepare(options.folder)
    for step in STEPS:
        command = [sys.executable, __file__, str(options.folder), "--engine", options.engine, "--step", step]
        subprocess.run(command, check=True)  # noqa: S603 - this script itself


if __name__ == "__main__":
    main()
