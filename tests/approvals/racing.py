"""Races of whole processes for things that may happen once, and for places under a cap.

Each process opens the database by itself. They meet at a barrier, and then all go for the same things in the same order;
every process writes down what it won. `make torture` runs the same with many more.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import sys
import tempfile
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aioc_opa.approvals.records import PendingCaps
from aioc_opa.approvals.stores import open_store
from aioc_opa.core.approvals.states import ApprovalEvent
from tests.approvals.store_cases import CAPS, approved, intent_for, new_approval
from tests.postgres import running_postgres

if TYPE_CHECKING:
    from aioc_opa.approvals.records import NewApproval
    from aioc_opa.approvals.store import ApprovalStore

# Each is forked from a fresh interpreter that has opened nothing, so they share as little as services do.
_SPAWN = multiprocessing.get_context("forkserver")
_SPAWN.set_forkserver_preload(["tests.approvals.store_cases", "tests.postgres"])
_BARRIER_SECONDS = 60.0


@dataclass
class Races:
    """How often each thing was won.

    Attributes:
        consumed: number of winners of each approval.
        claimed: number of winners of each call.
        errors: names of what was raised instead of an answer.
    """

    consumed: Counter[str] = field(default_factory=Counter)
    claimed: Counter[str] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)

    def violations(self, count: int) -> list[str]:
        """What is not as it must be after `count` races of each kind: exactly one winner each, and no error."""
        found = [f"{kind} {thing}: {won} winners" for kind, things in (("approval", self.consumed), ("call", self.claimed))
                 for thing, won in things.items() if won != 1]  # fmt: skip
        for kind, things in (("approvals", self.consumed), ("calls", self.claimed)):
            if len(things) != count:
                found.append(f"{len(things)} of {count} {kind} were won")
        return [*found, *self.errors]


def races(target: str, count: int, processes: int = 2) -> Races:
    """Let `processes` go for `count` approved approvals and for `count` calls that may run once, in one database.

    Args:
        target: as for `open_store`; its schema is made when it is missing.
        count: races of each kind.
        processes: how many go for each.
    """
    with closing(open_store(target)) as store:
        prepared = [_prepared(store, number) for number in range(count)]
    results = _in_processes(_race, processes, target, json.dumps(prepared))
    total = Races()
    for consumed, claimed, errors in results:
        total.consumed.update(consumed)
        total.claimed.update(claimed)
        total.errors += errors
    return total


def used_or_revoked(target: str, count: int) -> tuple[list[str], list[str]]:
    """Let one process use and another revoke `count` approvals; the ids that the one and the other got."""
    with closing(open_store(target)) as store:
        prepared = [_prepared(store, number) for number in range(count)]
    used, revoked = sorted(_in_processes(_use_or_revoke, 2, target, json.dumps(prepared)))
    return used[1], revoked[1]


def opened_under_cap(target: str, cap: int, processes: int, each: int) -> int:
    """Let `processes` open `each` different requests in one tenant under a cap; how many are pending afterwards."""
    with closing(open_store(target)):
        pass
    return sum(_in_processes(_open_many, processes, target, cap, each))


def opened_of_one_call(target: str, processes: int) -> set[str]:
    """Let `processes` open the request of one call at once; the ids that they were given."""
    with closing(open_store(target)):
        pass
    return set(_in_processes(_open_one, processes, target))


def _prepared(store: ApprovalStore, number: int) -> dict[str, str]:
    # A run each: caps count what is pending, and approved ones are not.
    new = approved(store, run_id=f"race-{number}")
    return {"approval_id": new.approval_id, "run_id": new.bindings.run_id}


def _in_processes(step: Any, processes: int, *arguments: Any) -> list[Any]:
    barrier, queue = _SPAWN.Barrier(processes), _SPAWN.Queue()
    started = [
        _SPAWN.Process(target=_run, args=(step, barrier, queue, number, *arguments)) for number in range(processes)
    ]
    for process in started:
        process.start()
    results = [queue.get(timeout=600) for _ in started]
    for process in started:
        process.join()
        process.close()
    queue.close()
    queue.join_thread()
    if failures := [result for okay, result in results if not okay]:
        raise RuntimeError(f"a racing process failed: {failures}")
    return [result for _, result in results]


def _run(step: Any, barrier: Any, queue: Any, number: int, *arguments: Any) -> None:
    try:
        queue.put((True, step(barrier, number, *arguments)))
    except BaseException as problem:
        barrier.abort()
        queue.put((False, repr(problem)))
        raise
    finally:
        queue.close()
        queue.join_thread()


def _race(barrier: Any, _number: int, target: str, prepared: str) -> tuple[list[str], list[str], list[str]]:
    consumed, claimed, errors = [], [], []
    with closing(open_store(target)) as store:
        store.now_ms()
        barrier.wait(_BARRIER_SECONDS)
        for one in json.loads(prepared):
            new = new_approval(run_id=one["run_id"])
            try:
                intent = intent_for(new, approval_id=one["approval_id"])
                store.intend(intent)
                if store.consume(intent).moved:
                    consumed.append(one["approval_id"])
                once = intent_for(new, approval_id=None)
                store.intend(once)
                if store.claim(once):
                    claimed.append(one["run_id"])
            except Exception as problem:  # noqa: BLE001 - counted, and a violation
                errors.append(f"{type(problem).__name__}: {problem}")
    return consumed, claimed, errors


def _use_or_revoke(barrier: Any, number: int, target: str, prepared: str) -> tuple[int, list[str]]:
    got = []
    with closing(open_store(target)) as store:
        store.now_ms()
        barrier.wait(_BARRIER_SECONDS)
        for one in json.loads(prepared):
            intent = intent_for(new_approval(run_id=one["run_id"]), approval_id=one["approval_id"])
            store.intend(intent)  # by both: so they take as long
            if number == 0:
                moved = store.consume(intent).moved
            else:
                moved = store.end("acme", one["approval_id"], ApprovalEvent.REVOKE, "p-lee", "why").moved
            if moved:
                got.append(one["approval_id"])
    return number, got


def _open_many(barrier: Any, number: int, target: str, cap: int, each: int) -> int:
    news: list[NewApproval] = [new_approval(call_id=f"{number}-{index}") for index in range(each)]
    caps = PendingCaps(per_run=cap, per_principal=CAPS.per_principal, per_tenant=CAPS.per_tenant)
    with closing(open_store(target)) as store:
        store.now_ms()
        barrier.wait(_BARRIER_SECONDS)
        return sum(store.open(new, caps).kind == "opened" for new in news)


def _open_one(barrier: Any, _number: int, target: str) -> str:
    with closing(open_store(target)) as store:
        store.now_ms()
        barrier.wait(_BARRIER_SECONDS)
        record = store.open(new_approval(), CAPS).record
        if record is None:
            raise RuntimeError("neither opened nor existing")
        return record.approval_id


def main() -> None:
    """``python -m tests.approvals.racing sqlite|postgresql COUNT [PROCESSES]``, on a database of its own.

    Exits with 1 when anything was won twice or never.
    """
    kind, count, *rest = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as running:
        target = str(Path(folder) / "races.db") if kind == "sqlite" else running.enter_context(running_postgres())
        found = races(target, int(count), int(rest[0]) if rest else 2).violations(int(count))
        used, revoked = used_or_revoked(target, int(count))
        if sorted([*used, *revoked]) != sorted({*used, *revoked}) or len(used) + len(revoked) != int(count):
            found.append(f"{len(used)} used and {len(revoked)} revoked of {count}")
    sys.stdout.write(f"{count} races each for approvals, for calls and against a revocation: {len(found)} violations\n")
    sys.stdout.writelines(f"  {line}\n" for line in found[:20])
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
