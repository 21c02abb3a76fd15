"""docs/scaling.md: the guard that it puts together keeps a record on a real PostgreSQL, with references and codes."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from aioc_opa import Principal, RunContext
from aioc_opa.access.sql_budgets import SqlBudgetLedger
from aioc_opa.approvals.keys import SigningKey
from aioc_opa.approvals.sql_store import SqlApprovalStore
from aioc_opa.audit.keys import AuditKey, public_keys_of
from aioc_opa.audit.reading import LogReader
from aioc_opa.audit.sources import open_source
from aioc_opa.audit.verifier import verify
from aioc_opa.core.audit.proposal_ref import proposal_ref
from aioc_opa.models.audit_record import EventContent
from aioc_opa.storage.database import Database
from tests.docs.blocks import blocks

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_it_keeps_a_record_with_references_and_codes(
    repository: Path, postgres_schema_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (source,) = [
        each.text for each in blocks(repository / "docs" / "scaling.md", "python") if "def make_guard" in each.text
    ]
    key, tenant_key = AuditKey.generate(writers=["pod-1"]), os.urandom(32)
    key.save(tmp_path / "writer.key")
    (tmp_path / "tenants").mkdir()
    (tmp_path / "tenants" / "acme").write_bytes(tenant_key)
    (tmp_path / "tenants" / "..data").symlink_to("acme")  # as a mounted Secret has it
    files = {
        "url": f"{postgres_schema_url}\n",
        "token": "t" * 43,
        "keys.json": json.dumps({"keys": [SigningKey.generate().public_entry().to_json()]}),
        "people.json": json.dumps({"people": [], "services": []}),
        "codes.json": '["refund_held"]',
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o600)
    named = {
        "OPA_URL": "http://127.0.0.1:9", "OPA_TOKEN_FILE": "token", "POSTGRES_URL_FILE": "url", "AUDIT_WRITER": "pod-1",
        "AUDIT_KEY_FILE": "writer.key", "AUDIT_TENANT_KEYS": "tenants", "AUDIT_CODES_FILE": "codes.json",
        "VOTE_KEYS_FILE": "keys.json", "PEOPLE_FILE": "people.json",
    }  # fmt: skip
    for name, value in named.items():
        monkeypatch.setenv(name, str(tmp_path / value) if name.endswith(("_FILE", "_KEYS")) else value)
    for made in (SqlApprovalStore, SqlBudgetLedger):  # as make_tables.py does
        database = Database.open(postgres_schema_url)
        made(database)
        database.close()
    namespace: dict[str, Any] = {}
    exec(compile(source, "scaling.md", "exec"), namespace)  # noqa: S102 - our own page
    guard = namespace["make_guard"]()
    assert guard.settings.codes == ["refund_held"]
    guard.register_json_schema("refund", {"type": "object"}, lambda _: None)
    kim = Principal(identity="kim", tenant="acme")
    outcome = guard.authorize("refund", "{}", agent_name="a", principal=kim, run_context=RunContext(run_id="r"))
    assert outcome.code == "policy_unavailable"
    guard.settings.audit.close()
    guard.settings.approvals.store.close()
    log = open_source(postgres_schema_url)
    contents = [record.content for record in LogReader(log).records()]
    events = [content.event for content in contents if isinstance(content, EventContent)]
    assert [(event.kind, event.reason) for event in events] == [
        ("access", "allowed"),
        ("tool_policy", "policy_unavailable"),
    ]
    assert events[1].proposal_ref == proposal_ref(tenant_key, outcome.question.proposal_hash)
    assert verify(log, public_keys_of(key)).findings == ()
