"""What step 1 adds to a decision: allow-lists, a store that the call does not need, another question, budgets."""

from __future__ import annotations

import json
import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from aioc_opa import OpaServerEngine, Principal, ToolGuard
from aioc_opa.access.budgets import BudgetLimits, Budgets, MemoryBudgetLedger
from aioc_opa.access.gate import AccessGate
from aioc_opa.access.identities import IdentityBinding, IdentityBindings
from aioc_opa.access.opa_adapter import OpaToolPolicy
from aioc_opa.access.sql_budgets import SqlBudgetLedger
from aioc_opa.approvals.broker import ApprovalBroker
from aioc_opa.approvals.keys import SigningKey, VoteKeys
from aioc_opa.approvals.people import PeopleTable
from aioc_opa.approvals.stores import open_store
from bench.call import OPTIONS, RAW, question_bytes, register
from bench.contenders import ANY, stdlib_http_client
from bench.latency import BASE, Latency, measure, timed
from bench.server import ROOT, opa_server

if TYPE_CHECKING:
    from collections.abc import Callable

WITHOUT: Final = "guard.authorize, no access"
LISTS_AND_STORE: Final = "allow lists, SQLite store"
ANN: Final = Principal(identity="ann", tenant="acme")
_MANY: Final = 1_000_000_000


def access_policy(folder: Path) -> Path:
    """The small policy, and the library's access decision with a table that lets Ann order."""
    shutil.copytree(ROOT / "bench" / "policy", folder)
    for part in ("aioc/lib", "aioc/tool_access", "aioc/access_rules"):
        shutil.copytree(ROOT / "rego" / part, folder / part, ignore=shutil.ignore_patterns("*_test.rego"))
    allow = {"effect": "allow"}
    table = {
        "decidedBy": "table",
        "tools": {"order": {**allow, "groups": ["shoppers"]}},
        "identities": {"ann": {**allow, "memberOf": ["shoppers"], "tenants": ["acme"]}},
        "tenants": {"acme": allow},
        "capabilities": {},
        "providers": {},
    }
    (folder / "aioc" / "access").mkdir()
    (folder / "aioc" / "access" / "data.json").write_text(json.dumps(table))
    return folder


def measure_access() -> list[Latency]:
    """Ratios to `http.client`, all in one interleaved run on one server."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        port, _ = stack.enter_context(opa_server(access_policy(folder / "policy")))
        url = f"http://127.0.0.1:{port}"
        store = open_store(str(folder / "approvals.db"))
        stack.callback(store.close)
        broker = ApprovalBroker(
            store, keys=VoteKeys([SigningKey.generate().public_entry()]), people=PeopleTable([], services=["ann"])
        )
        ledger = SqlBudgetLedger.open(folder / "budgets.db")
        stack.callback(ledger.close)
        limits = BudgetLimits(calls_per_run=_MANY)
        guards: dict[str, dict[str, Any]] = {
            WITHOUT: {},
            "allow lists": {"access": _gate()},
            LISTS_AND_STORE: {"access": _gate(), "approvals": broker},
            "allow lists, OPA adapter": {"access": _gate(adapter=OpaToolPolicy(OpaServerEngine(url)))},
            "allow lists, budget in memory": {"access": _gate(budgets=Budgets(MemoryBudgetLedger(), limits))},
            "allow lists, budget in SQLite": {"access": _gate(budgets=Budgets(ledger, limits))},
        }
        asks = {BASE: stdlib_http_client(port, question_bytes(principal=ANN))}
        asks |= {title: _guarded(url, settings) for title, settings in guards.items()}
        return measure({title: (lambda repeat, ask=ask: timed(ask, repeat)) for title, ask in asks.items()})


def _gate(**parts: Any) -> AccessGate:
    ann = IdentityBinding(identity="ann", tenant="acme", tools=frozenset({"order"}))
    return AccessGate(identities=IdentityBindings([ann]), **parts)


def _guarded(url: str, settings: dict[str, Any]) -> Callable[[], None]:
    guard = ToolGuard(OpaServerEngine(url), revision_gate=ANY, **settings)
    register(guard)

    def ask() -> None:
        if guard.authorize("order", RAW, principal=ANN, **OPTIONS).code != "allowed":
            raise SystemExit("bench: a contender was not allowed; the numbers would mean nothing")

    return ask
