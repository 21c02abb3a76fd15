"""A treasury for the tests of approvals: a policy that holds, people who vote, and guards over a store."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from aioc_opa import Principal, RunContext, ToolGuard, UnsafeAnyRevision
from aioc_opa.approvals.broker import ApprovalBroker
from aioc_opa.approvals.keys import SigningKey, VoteKeys
from aioc_opa.approvals.people import PeopleTable, Person, PersonEntry
from aioc_opa.approvals.votes import sign_vote
from aioc_opa.packs.routes_file import write_routes
from aioc_opa.packs.starter import new_policy
from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from aioc_opa.approvals.records import ApprovalRecord
    from aioc_opa.approvals.store import ApprovalStore
    from aioc_opa.models.approval_vote_statement import SignedVote

ISSUER = "https://login.example"
KIM = Principal(identity="kim", tenant="acme", roles=("clerk",))
RUN = RunContext(run_id="run-1", context={"frozen": False})
BIG = '{"to": "A7", "amount": 500}'


def write_policy(folder: Path) -> Path:
    """The treasury's policy, with the whole library, in `folder`."""
    new_policy(folder)
    pack = folder / "aioc" / "packs" / "treasury"
    shutil.copytree(ROOT / "tests" / "policies" / "treasury", pack)
    owners = {"balance": "treasury", "close_books": "treasury", "transfer": "treasury"}
    (folder / "aioc" / "owners" / "data.json").write_text(json.dumps(owners))
    write_routes(folder)
    return folder


def people() -> PeopleTable:
    def person(
        name: str, *roles: str, more: tuple[str, ...] = (), tenants: frozenset[str] | None = None
    ) -> PersonEntry:
        accounts = ((ISSUER, name), *((ISSUER, other) for other in more))
        return PersonEntry(Person(f"p-{name}", frozenset(roles), tenants), accounts=accounts, identities=(name, *more))

    return PeopleTable(
        [
            person("kim", "clerk", "treasurer"),
            person("tess", "treasurer", more=("tess-admin",)),
            person("theo", "treasurer"),
            person("carla", "cfo"),
            person("vic", "visitor"),
            person("otto", "treasurer", tenants=frozenset({"other"})),
        ],
        services=["support-bot"],
    )


@dataclass
class Treasury:
    """One store, its broker, and guards that share it."""

    engine: Any
    store: ApprovalStore
    directory: Any = field(default_factory=people)
    authority: SigningKey = field(default_factory=SigningKey.generate)
    effects: list[tuple[str, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.keys = VoteKeys([self.authority.public_entry()])
        self.broker = ApprovalBroker(self.store, keys=self.keys, people=self.directory, poll_seconds=0.01)

    def guard(self, **settings: Any) -> ToolGuard:
        guard = ToolGuard(
            self.engine,
            revision_gate=UnsafeAnyRevision(),
            approvals=settings.pop("approvals", self.broker),
            result_mode="tool_result",
            **settings,
        )

        @guard.tool(version="1")
        def transfer(to: str, amount: float) -> str:
            """Move money."""
            self.effects.append((to, amount))
            return f"moved {amount} to {to}"

        @guard.tool()
        def close_books() -> str:
            self.effects.append(("books", 0.0))
            return "closed"

        @guard.tool(once=True)
        def balance() -> str:
            self.effects.append(("balance", 0.0))
            return "42"

        return guard

    def held(self, guard: ToolGuard, arguments: str = BIG, **options: Any) -> str:
        """The id of the request that a held call makes."""
        outcome = guard.authorize("transfer", arguments, **{**CALL, **options})
        assert outcome.approval_id is not None, outcome  # type: ignore[union-attr]
        return str(outcome.approval_id)  # type: ignore[union-attr]

    def record(self, approval_id: str, tenant: str = "acme") -> ApprovalRecord:
        found = self.store.get(tenant, approval_id)
        assert found is not None
        return found

    def signed(self, approval_id: str, voter: str, verdict: Any = "approved", **options: Any) -> SignedVote:
        person = self.directory.authenticated(ISSUER, voter)
        return sign_vote(
            options.pop("record", None) or self.record(approval_id),
            person,
            verdict=verdict,
            reason="looked at it",
            key=options.pop("key", self.authority),
            at_ms=self.store.now_ms(),
            **options,
        )

    def vote(self, approval_id: str, voter: str = "tess", verdict: Any = "approved") -> ApprovalRecord:
        return self.broker.cast("acme", approval_id, self.signed(approval_id, voter, verdict))


CALL: dict[str, Any] = {"agent_name": "clerk", "principal": KIM, "run_context": RUN, "call_id": "call-1"}
