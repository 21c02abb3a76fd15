"""deploy/postgresql: the accounts of guards, reviewers and auditors can do their work on a real PostgreSQL, and no more."""

from __future__ import annotations

import re
import secrets
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import psycopg
import pytest
from sqlalchemy import make_url

from aioc_opa import EmbeddedEngine, RunContext
from aioc_opa.access.budgets import BudgetLimits, Budgets
from aioc_opa.access.gate import AccessGate
from aioc_opa.access.identities import IdentityBinding, IdentityBindings
from aioc_opa.access.sql_budgets import SqlBudgetLedger
from aioc_opa.approvals.broker import ApprovalBroker
from aioc_opa.approvals.sql_store import SqlApprovalStore
from aioc_opa.audit.keys import AuditKey, public_keys_of
from aioc_opa.audit.sources import open_source
from aioc_opa.audit.sql import SqlSink
from aioc_opa.audit.trail import AuditTrail
from aioc_opa.audit.verifier import verify
from aioc_opa.core.approvals.states import ApprovalState
from aioc_opa.errors import ApprovalStoreError
from aioc_opa.storage.database import Database
from tests.approvals.treasury import CALL, KIM, Treasury, write_policy

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

FROZEN_CONTEXT = RunContext(context={"frozen": False})
ALL_STATES = frozenset(ApprovalState)
ACCOUNTS = ("aioc_guard", "aioc_reviewer", "aioc_auditor")


@pytest.fixture(scope="module")
def urls(postgres_url: str, repository: Path) -> Iterator[Mapping[str, str]]:
    """Addresses of one new database, by account; the tables are made and granted as the files say."""
    mark = secrets.token_hex(4)
    own = make_url(postgres_url).set(database=f"aioc_{mark}")
    with psycopg.connect(postgres_url, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {own.database}")
        try:
            text = own.render_as_string(hide_password=False)
            script = repository / "deploy" / "postgresql" / "make_tables.py"
            for _ in range(2):  # again, as for an upgrade: nothing is lost or refused
                subprocess.run([sys.executable, script, text], check=True)
            grants = (repository / "deploy" / "postgresql" / "grants.sql").read_text()
            with psycopg.connect(text, autocommit=True) as owner:
                owner.execute(re.sub(r"\b(aioc_(?:guard|reviewer|auditor))\b", rf"\1_{mark}", grants))
                found = {}
                for account in ACCOUNTS:
                    owner.execute(f"ALTER ROLE {account}_{mark} LOGIN PASSWORD '{mark}'")
                    one = own.set(username=f"{account}_{mark}", password=mark)
                    found[account] = one.render_as_string(hide_password=False)
            yield {"owner": text, **found}
        finally:
            admin.execute(f"DROP DATABASE {own.database} WITH (FORCE)")
            for account in ACCOUNTS:
                admin.execute(f"DROP ROLE IF EXISTS {account}_{mark}")


def test_each_account_does_its_work(urls: Mapping[str, str], tmp_path: Path) -> None:
    key, desk_key = AuditKey.generate(writers=["guard"]), AuditKey.generate(writers=["desk"])
    kim = IdentityBinding(identity="kim", tenant="acme", tools=frozenset({"transfer", "balance"}))
    with (
        closing(EmbeddedEngine(write_policy(tmp_path / "policy"))) as engine,
        closing(Database.open(urls["aioc_guard"])) as database,
        closing(Database.open(urls["aioc_reviewer"])) as reviewers,
        AuditTrail(SqlSink(urls["aioc_guard"]), writer="guard", key=key) as trail,
        AuditTrail(SqlSink(urls["aioc_reviewer"]), writer="desk", key=desk_key) as desk_trail,
    ):
        ledger = SqlBudgetLedger(database)
        gate = AccessGate(identities=IdentityBindings([kim]), budgets=Budgets(ledger, BudgetLimits(calls_per_run=100)))
        treasury = Treasury(engine, SqlApprovalStore(database))
        guard = treasury.guard(audit=trail, access=gate)
        reviewer = Treasury(engine, SqlApprovalStore(reviewers), authority=treasury.authority)

        used, ended, unused = (treasury.held(guard, call_id=f"call-{number}") for number in range(3))
        for approval_id in (used, unused):
            reviewer.vote(approval_id)
        assert guard.resume(used, principal=KIM, run_context=FROZEN_CONTEXT) == "moved 500.0 to A7"
        assert guard.resume(used, principal=KIM, run_context=FROZEN_CONTEXT).code == "approval_consumed"
        assert guard.call("balance", "{}", **CALL) == "42"
        tess = treasury.directory.current("p-tess")
        reviewer.broker = ApprovalBroker(
            reviewer.store, keys=treasury.keys, people=treasury.directory, audit=desk_trail, poll_seconds=0.01
        )
        reviewer.broker.dismiss("acme", ended, by=tess, reason="not needed")
        reviewer.broker.revoke("acme", unused, by=tess, reason="changed our minds")
        assert reviewer.broker.show("acme", ended, who="p-tess").payload is not None
        reviewer.store.erase("acme", ended, by="p-tess")
        assert list(reviewer.store.unfinished(None, reviewer.store.now_ms())) == []
        ledger.forget(older_than_seconds=3600)

    report = verify(open_source(urls["aioc_auditor"]), public_keys_of(key, desk_key))
    assert [writer.writer for writer in report.writers] == ["desk", "guard"]
    assert [finding for writer in report.writers for finding in writer.findings] == []
    with closing(Database.open(urls["aioc_auditor"])) as database:
        states = {record.state.value for record in SqlApprovalStore(database).find("acme", ALL_STATES, 10)}
        assert states == {"completed", "dismissed", "revoked"}
        with pytest.raises(ApprovalStoreError, match="42501"):  # insufficient_privilege
            SqlApprovalStore(database).log_access("acme", used, "me", "show")


REFUSED = {
    "aioc_guard": [
        "UPDATE aioc_audit_records SET record = ''",
        "DELETE FROM aioc_audit_records",
        "TRUNCATE aioc_audit_records",
        "UPDATE aioc_approval_votes SET signature = ''",
        "DELETE FROM aioc_approval_consumptions",
        "DELETE FROM aioc_approvals",
        "UPDATE aioc_approvals SET bindings = ''",
        "ALTER TABLE aioc_audit_records DISABLE TRIGGER ALL",
        "DROP TRIGGER aioc_audit_records_insert_only ON aioc_audit_records",
        "CREATE TABLE more (a int)",
    ],
    "aioc_reviewer": [
        "UPDATE aioc_audit_records SET record = ''",
        "DELETE FROM aioc_audit_records",
        "INSERT INTO aioc_approval_consumptions VALUES ('a', 'b', 1)",
        "INSERT INTO aioc_approvals (approval_id) VALUES ('a')",
        "UPDATE aioc_approvals SET terms = ''",
        "SELECT * FROM aioc_budgets",
    ],
    "aioc_auditor": [
        "INSERT INTO aioc_audit_records VALUES ('w', 1, 'h', 'r')",
        "INSERT INTO aioc_approval_access (tenant) VALUES ('a')",
        "UPDATE aioc_approvals SET state = 'approved'",
    ],
}


def test_no_account_does_more(urls: Mapping[str, str]) -> None:
    for account, statements in REFUSED.items():
        with psycopg.connect(urls[account], autocommit=True) as connection:
            for statement in statements:
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    connection.execute(statement)


def test_every_table_is_granted_to_somebody(urls: Mapping[str, str], repository: Path) -> None:
    granted = (repository / "deploy" / "postgresql" / "grants.sql").read_text()
    with psycopg.connect(urls["owner"]) as connection:
        tables = [name for (name,) in connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")]
    assert len(tables) > 9
    assert [table for table in tables if not re.search(rf"\b{table}\b", granted)] == []
