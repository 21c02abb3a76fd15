"""What people do with `approvals` commands stands in the audit log, by a writer of its own; or it is said that it does not."""

from __future__ import annotations

import base64
import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa.approvals.records import EffectIntent
from aioc_opa.approvals.stores import open_store
from aioc_opa.audit.json_lines import JsonLinesSink
from aioc_opa.audit.keys import AuditKey
from aioc_opa.audit.sql import SqlSink
from aioc_opa.audit.trail import AuditTrail
from aioc_opa.cli.approvals_audit import writer_of
from aioc_opa.core.audit.proposal_ref import proposal_ref
from aioc_opa.models.audit_event import AuditEvent
from tests.cli.approvals_office import Office

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.cli.conftest import Command, Ran

NONE = "no audit record is made of this"


@pytest.fixture
def office(tmp_path: Path, aioc: Command) -> Office:
    made = Office(tmp_path, str(tmp_path / "approvals.db"), aioc)
    made.set_up()
    key = AuditKey.generate()
    key.save(tmp_path / "audit.key")
    key.save_public(tmp_path / "audit.json")
    tenants = made.write("tenants.json", {"tenantKeys": {"acme": base64.b64encode(bytes(range(32))).decode()}})
    tenants.chmod(0o600)
    return made


@pytest.fixture(params=["folder", "sqlite", "postgresql"])
def log(request: pytest.FixtureRequest, office: Office) -> Iterator[str]:
    """A log of each kind that a guard of another name is writing to meanwhile."""
    if request.param == "folder":
        target = str(office.folder / "log")
    elif request.param == "sqlite":
        target = str(office.folder / "log.db")
    else:
        target = str(request.getfixturevalue("postgres_schema_url"))
    sink = JsonLinesSink(target) if request.param == "folder" else SqlSink(target)
    with AuditTrail(sink, writer="guard-1", key=AuditKey.load(office.folder / "audit.key")) as trail:
        trail.record(AuditEvent(kind="access", at="2026-07-15T09:00:00.000Z", decision="allow", reason="allowed"))
        yield target


def options(office: Office, log: str) -> list[str]:
    folder = office.folder
    return [
        *("--audit", log, "--audit-key", str(folder / "audit.key")),
        *("--audit-tenant-keys", str(folder / "tenants.json")),
    ]


def events(office: Office, log: str, person: str) -> list[dict[str, Any]]:
    exported = office.aioc("audit", "export", log, "--writer", writer_of(person))
    assert exported.status == 0, exported.err
    return [json.loads(line) for line in exported.out.splitlines()]


def said(found: list[dict[str, Any]]) -> list[tuple[str, str | None, list[str] | str | None]]:
    return [
        (each["kind"], each.get("decision") or each.get("detail"), each.get("voters") or each.get("by"))
        for each in found
    ]


def test_votes_and_ends_are_recorded_under_the_voters_own_writer_and_reported(office: Office, log: str) -> None:
    held = office.hold(quorum=2)
    for name in ("ann", "bob"):
        voted = office.approve(name, held, *options(office, log))
        assert voted.status == 0, voted.err
        assert NONE not in voted.err
        assert "may lack" not in voted.err
    assert office.as_person("ann", "revoke", held, *options(office, log)).status == 0
    anns = events(office, log, "ann")
    assert said(anns) == [
        ("approval_intended", "approved", "ann"),
        ("approval_vote", "approved", ["ann"]),
        ("approval_intended", "revoke", "ann"),
        ("approval_ended", "revoked", ["ann", "bob"]),
    ]
    assert anns[-1]["by"] == "ann"
    assert said(events(office, log, "bob"))[-1] == ("approval_ended", "approved", ["ann", "bob"])
    digest = office.record(held).bindings.proposal_hash
    assert {each["proposalRef"] for each in anns} == {proposal_ref(bytes(range(32)), digest)}
    verified = office.aioc("audit", "verify", log, "--keys", str(office.folder / "audit.json"))
    assert "nothing found" in verified.out
    report = office.aioc("audit", "report", log, "--keys", str(office.folder / "audit.json"), "--format", "markdown")
    assert held in report.out
    assert "ann approved, bob approved" in report.out


def test_settling_and_removing_are_recorded_with_who_did_it(office: Office, log: str) -> None:
    held = office.hold()
    intent = EffectIntent(
        execution_id="1" * 32, tenant="acme", run_id="run-1", call_id="c", tool_name="pay", proposal_hash="0" * 64
    )
    with closing(open_store(office.store)) as store:
        store.intend(intent)
        assert store.claim(intent)
    own = [*office.own_files("ann"), *options(office, log)]
    settled = office.run("recover", "--older-than", "0", "--settle", f"{'1' * 32}=returned", *own)
    assert settled.status == 0, settled.err
    assert office.run("purge", held, "--tenant", "acme", *own).status == 0
    assert said(events(office, log, "ann")) == [
        ("approval_intended", "settle", "ann"),
        ("effect_settled", "completed", "ann"),
        ("approval_intended", "erase", "ann"),
        ("arguments_removed", "erase", "ann"),
    ]


def test_without_a_log_it_is_said_that_nothing_is_recorded(office: Office) -> None:
    held = office.hold()
    for ran in (office.approve("ann", held), office.as_person("ann", "revoke", held)):
        assert ran.status == 0
        assert ran.err.count(NONE) == 1


def test_a_refused_vote_leaves_nothing_in_the_log(office: Office) -> None:
    (office.folder / "log").mkdir(mode=0o700)
    held = office.hold()
    found = office.approve("kim", held, *options(office, str(office.folder / "log")))
    assert found.status == 1
    assert "requester_may_not_vote" in found.err
    assert events(office, str(office.folder / "log"), "kim") == []


def nothing_happened(office: Office, held: str, ran: Ran) -> None:
    record = office.record(held)
    assert (ran.status in {1, 3}, record.state, record.votes) == (True, "pending", ()), ran.err


def test_a_vote_that_cannot_be_recorded_is_refused_before_it_is_cast(office: Office) -> None:
    held = office.hold()
    other = office.folder / "other.db"
    with closing(open_store(str(other))):
        pass
    log = str(office.folder / "log.db")
    with AuditTrail(SqlSink(log), writer="guard-1", key=AuditKey.load(office.folder / "audit.key")) as trail:
        trail.record(AuditEvent(kind="access", at="2026-07-15T09:00:00.000Z", decision="allow", reason="allowed"))
    from aioc_opa.storage.database import Database

    with closing(Database.open(log)) as database, database.begin() as connection:
        connection.exec_driver_sql(
            "CREATE TRIGGER full BEFORE INSERT ON aioc_audit_records BEGIN SELECT RAISE(ABORT, 'full'); END"
        )
    for verdict in ("approve", "reject"):
        digest = office.review_hash(held)
        ran = office.as_person("ann", verdict, held, "--yes-hash", digest, *options(office, log))
        assert ran.status == 1
        assert "audit_unavailable" in ran.err
        nothing_happened(office, held, ran)
    dismissed = office.as_person("ann", "dismiss", held, *options(office, log))
    assert "audit_unavailable" in dismissed.err
    nothing_happened(office, held, dismissed)


def test_a_log_that_is_not_there_or_is_somebody_elses_is_refused_before_anything_is_done(office: Office) -> None:
    held = office.hold()
    missing = office.approve("ann", held, *options(office, str(office.folder / "mispelt")))
    assert "there is no such folder or file" in missing.err
    nothing_happened(office, held, missing)
    folder = office.folder / "log"
    with AuditTrail(JsonLinesSink(folder), writer="guard-1", key=AuditKey.load(office.folder / "audit.key")):
        taken = office.approve("ann", held, *options(office, str(folder)), "--audit-writer", "guard-1")
    assert (taken.status, "audit log of 'guard-1'" in taken.err) == (3, True)
    nothing_happened(office, held, taken)
    half = office.approve("ann", held, "--audit", str(folder))
    assert half.status == 2
    assert "belong together" in half.err
    named = office.approve("ann", held, *options(office, str(folder)), "--audit-writer", "desk-7")
    assert named.status == 0, named.err
    assert office.aioc("audit", "export", str(folder), "--writer", "desk-7").out.count("approval_vote") == 1


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"tenantKeys": {"acme": "no base64!"}}, "$.tenantKeys.acme: must be base64"),
        ({"tenantKeys": {}}, "$.tenantKeys"),
        ({"keys": {}}, "$."),
        ({"tenantKeys": {"acme": "c2hvcnQ="}}, "tenant_keys: at least 32 bytes"),
    ],
    ids=["text", "none", "other", "short"],
)
def test_tenant_keys_that_are_none_are_refused_by_place(office: Office, content: Any, words: str) -> None:
    (office.folder / "log").mkdir(mode=0o700)
    held = office.hold()
    path = office.write("tenants.json", content)
    found = office.approve("ann", held, *options(office, str(office.folder / "log")))
    assert found.status == 3
    assert words in found.err
    path.chmod(0o644)
    assert "chmod 600" in office.approve("ann", held, *options(office, str(office.folder / "log"))).err
    nothing_happened(office, held, found)
