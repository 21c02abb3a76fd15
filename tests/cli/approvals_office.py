"""An office with a store, keys and people in files, for the tests of `aioc-opa approvals`."""

from __future__ import annotations

import json
import secrets
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aioc_opa.approvals.broker import ApprovalBroker
from aioc_opa.approvals.held_call import HeldCall
from aioc_opa.approvals.keys import AccountHolder, SigningKey, VoteKeys
from aioc_opa.approvals.people import PeopleFile
from aioc_opa.approvals.stores import open_store
from aioc_opa.core.approvals.digests import review_hash, terms_digest, tool_digest
from aioc_opa.core.canonical_json import canonical_text
from aioc_opa.core.fingerprint import tool_proposal_hash
from aioc_opa.models.approval_bindings import ApprovalBindings
from aioc_opa.models.decision import ApprovalRequirement, ApprovalTerms
from aioc_opa.models.stored_call import StoredCall

if TYPE_CHECKING:
    from pathlib import Path

    from aioc_opa.approvals.records import ApprovalRecord
    from tests.cli.conftest import Command, Ran

ISSUER = "https://id.example"
ROLES = {"ann": ("manager",), "bob": ("manager", "owner"), "kim": ("manager",), "eve": ("visitor",)}


@dataclass(frozen=True)
class Office:
    """A folder with everything that the commands are given; the tenant is acme."""

    folder: Path
    store: str
    aioc: Command

    def set_up(self, *more: str) -> None:
        keys, people = [], []
        for name, own in ROLES.items():
            roles = (*own, *more)
            key = SigningKey.generate(holder=AccountHolder(name, ISSUER, f"sub-{name}"))
            key.save(self.key(name))
            keys.append(key.public_entry(roles=roles).to_json())
            accounts = [{"issuer": ISSUER, "subject": f"sub-{name}"}]
            people.append({"personId": name, "roles": roles, "accounts": accounts, "identities": [name]})
        self.write("keys.json", {"keys": keys})
        self.write("people.json", {"people": people, "services": ["support-bot"]})

    def key(self, name: str) -> Path:
        return self.folder / f"{name}.key"

    def write(self, name: str, content: Any) -> Path:
        path = self.folder / name
        path.write_text(json.dumps(content))
        return path

    def run(self, command: str, *arguments: str) -> Ran:
        return self.aioc("approvals", command, *arguments, "--store", self.store)

    def show(self, approval_id: str, *arguments: str) -> Ran:
        return self.run("show", approval_id, "--keys", str(self.folder / "keys.json"), "--tenant", "acme", *arguments)

    def as_person(self, name: str, command: str, approval_id: str, *arguments: str) -> Ran:
        return self.run(command, approval_id, *self.person_options(name), *arguments)

    def own_files(self, name: str) -> list[str]:
        options = {"keys": "keys.json", "people": "people.json", "signing-key": f"{name}.key"}
        return [part for option, file in options.items() for part in (f"--{option}", str(self.folder / file))]

    def person_options(self, name: str) -> list[str]:
        return [*self.own_files(name), "--tenant", "acme", "--reason", f"{name} has looked"]

    def approve(self, name: str, approval_id: str, *arguments: str) -> Ran:
        return self.as_person(name, "approve", approval_id, "--yes-hash", self.review_hash(approval_id), *arguments)

    def review_hash(self, approval_id: str) -> str:
        """What `show` would print now."""
        record = self.record(approval_id)
        return review_hash(record, StoredCall.model_validate_json(record.payload or "{}"))

    def broker(self, store: Any) -> ApprovalBroker:
        return ApprovalBroker(
            store,
            keys=VoteKeys.from_file(self.folder / "keys.json"),
            people=PeopleFile(self.folder / "people.json"),
        )

    def record(self, approval_id: str, tenant: str = "acme") -> ApprovalRecord:
        with closing(open_store(self.store)) as store:
            found = store.get(tenant, approval_id)
        assert found is not None
        return found

    def hold(
        self,
        arguments: Any = None,
        *,
        raw: str | None = None,
        quorum: int = 1,
        cipher: Any = None,
        call: dict[str, Any] | None = None,
        **bindings: Any,
    ) -> str:
        """The id of a new request for a payment of kim's."""
        text = canonical_text({"amount": 1200, "to": "ACC-7"} if arguments is None else arguments)
        requirement = ApprovalRequirement(code="large", approver_roles=("manager", "owner"), quorum=quorum)
        terms = ApprovalTerms(requirements=(requirement,), separation_of_duties=True, ttl_seconds=600)
        bound: dict[str, Any] = {
            "proposal_hash": tool_proposal_hash(agent_name="desk", tool_name="pay", args_canonical_json=text),
            "run_id": f"run-{secrets.token_hex(4)}",
            "call_id": "call-1",
            "agent_name": "desk",
            "tool_name": "pay",
            "tool_version": "1",
            "tool_digest": tool_digest(name="pay", description="Pay.", schema={}),
            "identity": "kim",
            "tenant": "acme",
            "policy_revision": '{"local":"sha256:1"}',
            "terms_digest": terms_digest(terms),
        }
        stored: dict[str, Any] = {
            "raw_arguments": text if raw is None else raw,
            "decode_assurance": "raw",
            "requested_arguments": {},
            "args_canonical_json": text,
            "turn": 0,
            "tool_description": "Pay.",
        }
        held = HeldCall(
            bindings=ApprovalBindings(**{**bound, **bindings}),
            terms=terms,
            reason="large",
            reasons=("large",),
            call=StoredCall(**{**stored, **(call or {})}),
        )
        with closing(open_store(self.store, cipher=cipher)) as store:
            opened = self.broker(store).open(held)
        assert opened.record is not None, opened
        return opened.record.approval_id
