"""Each part of a set-up beyond one machine is killed or hangs: what callers are told, what still works, what comes back.

One set-up for all tests: bundle server, two OPAs behind a balancer, PostgreSQL with approvals, audit and budgets, and a
service with guards, all of them processes (docs/scaling.md has the table). Whatever is denied has no effect, which every
helper here checks; and after every test the same service works again, without a restart.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa.audit.keys import read_public_keys
from aioc_opa.audit.sources import open_source
from aioc_opa.audit.verifier import verify
from tests.deployment.parts.fleet import GUARDS, PERSIST, Fleet, fleet_in, until

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, opa_binary: Path) -> Iterator[Fleet]:
    with fleet_in(tmp_path_factory.mktemp("fleet"), opa_binary) as fleet:
        yield fleet


@pytest.fixture
def fleet(running: Fleet) -> Iterator[Fleet]:
    """The set-up, of which a test may break anything but the service; it has to work again afterwards."""
    service = running.service.pid
    yield running
    running.mend()
    running.until_it_works()
    assert running.service.pid == service


def test_one_opa_of_two_is_killed_and_calls_go_on(fleet: Fleet) -> None:
    for opa in fleet.opas:
        opa.kill()
        # At most the question that was on its way.
        assert fleet.denials_until_it_works() in ([], ["policy_unavailable"])
        opa.start()
        fleet.until_ready(opa)


def test_both_opas_are_killed_and_nothing_runs(fleet: Fleet) -> None:
    for opa in fleet.opas:
        opa.kill()
    assert {fleet.call(guard) for guard in GUARDS} == {("policy_unavailable", 0)}
    assert fleet.hold()["said"] == "policy_unavailable"
    for opa in fleet.opas:
        opa.start()


def test_an_opa_that_hangs_costs_its_questions_the_deadline_and_the_other_one_decides(fleet: Fleet) -> None:
    denials = []
    for opa in fleet.opas:
        opa.hang()
        denials += fleet.denials_until_it_works()
        opa.go_on()
        fleet.until_ready(opa)
    assert set(denials) == {"policy_timeout"}


def test_both_opas_hang_and_nothing_runs(fleet: Fleet) -> None:
    for opa in fleet.opas:
        opa.hang()
    assert fleet.call() == ("policy_timeout", 0)
    # None is ready any more, and the balancer says so.
    assert fleet.until_said("policy_unavailable") <= {"policy_timeout"}
    for opa in fleet.opas:
        opa.go_on()


def test_the_balancer_is_killed_or_hangs_and_nothing_runs(fleet: Fleet) -> None:
    fleet.balancer.kill()
    assert {fleet.call(guard) for guard in GUARDS} == {("policy_unavailable", 0)}
    fleet.balancer.start()
    fleet.until_it_works()
    fleet.balancer.hang()
    assert fleet.call() == ("policy_timeout", 0)
    fleet.balancer.go_on()


def test_without_the_bundle_server_opa_decides_until_its_policy_is_too_old(fleet: Fleet) -> None:
    fleet.bundle_server.kill()
    assert fleet.until_said("policy_revision_rejected", "hasty") <= {"ran"}
    for guard in GUARDS:
        if guard != "hasty":
            assert fleet.call(guard) == ("ran", 1)
    fleet.bundle_server.start()


def test_a_bundle_server_that_hangs_is_like_one_that_is_gone(fleet: Fleet) -> None:
    fleet.bundle_server.hang()
    assert fleet.until_said("policy_revision_rejected", "hasty") <= {"ran"}
    assert fleet.call("required") == ("ran", 1)
    fleet.bundle_server.go_on()


def test_an_opa_that_starts_without_the_bundle_server_is_not_ready_and_nothing_runs_until_it_is(fleet: Fleet) -> None:
    fleet.bundle_server.kill()
    for opa in fleet.opas:
        opa.kill()
        opa.start()
    for opa in fleet.opas:
        # Not even its health is answered: `system.authz` comes with the bundle.
        assert until(lambda opa=opa: fleet.health(opa)) == 500
    assert {fleet.call(guard) for guard in GUARDS} == {("policy_unavailable", 0)}
    fleet.bundle_server.start()


def test_a_bundle_that_was_persisted_decides_at_once_and_counts_as_too_old(fleet: Fleet) -> None:
    for opa in fleet.opas:
        opa.kill()
        opa.start(PERSIST)
    kept = [until(lambda opa=opa: fleet.persisted(opa)) for opa in fleet.opas]
    fleet.bundle_server.kill()
    for opa in fleet.opas:
        opa.kill()
        opa.start(PERSIST)
    assert fleet.until_said("ran", "counted") <= {"policy_unavailable"}
    # What the guard knew of the servers before counts until it has looked again.
    assert fleet.until_said("policy_revision_rejected", "required") <= {"policy_unavailable", "ran"}
    # What lies on the disk is verified like what comes over the wire.
    for opa, file in zip(fleet.opas, kept, strict=True):
        opa.kill()
        file.write_bytes((fleet.folder / "built.tar.gz").read_bytes())
        opa.start(PERSIST)
    for opa in fleet.opas:
        until(lambda opa=opa: "Failed to load bundle from disk" in opa.log.read_text())
        assert until(lambda opa=opa: fleet.health(opa)) == 500
    assert fleet.call("counted") == ("policy_unavailable", 0)
    fleet.bundle_server.start()


def test_without_the_database_nothing_runs_that_needs_it(fleet: Fleet) -> None:
    ready = fleet.approved(fleet.new_run())
    lost = fleet.ask("lost")["dropped"]
    fleet.database.kill()
    assert fleet.call("required") == ("audit_unavailable", 0)
    assert fleet.hold() == {"said": "approval_unavailable", "approval": None}
    assert fleet.resume(ready) == "approval_unavailable"
    assert fleet.call("budget") == ("tool_not_authorized", 0)
    # Best effort is just that: the call runs, and its events are counted as lost.
    assert fleet.call("best_effort") == ("ran", 1)
    assert until(lambda: fleet.ask("lost")["dropped"] - lost) == 3
    fleet.database.start()
    fleet.until_it_works()
    assert fleet.resume(ready) == "ran"
    assert fleet.resume(ready) == "approval_consumed"
    assert [record["count"] for record in fleet.audit() if record["type"] == "events_dropped"][-1:] == [3]


def test_a_database_that_hangs_is_like_one_that_is_gone(fleet: Fleet) -> None:
    fleet.database.hang()
    assert fleet.call("required") == ("audit_unavailable", 0)
    assert fleet.hold() == {"said": "approval_unavailable", "approval": None}
    assert fleet.call("budget") == ("tool_not_authorized", 0)
    assert fleet.call("best_effort") == ("ran", 1)
    fleet.database.go_on()


def test_all_parts_but_the_service_are_killed_and_come_back_in_any_order(fleet: Fleet) -> None:
    others = [fleet.bundle_server, *fleet.opas, fleet.balancer]
    for part in (*others, fleet.database):
        part.kill()
    assert {fleet.call(guard)[0] for guard in GUARDS} <= {"policy_unavailable", "tool_not_authorized"}
    for part in (fleet.balancer, *fleet.opas, fleet.database, fleet.bundle_server):
        part.start()


def test_a_service_that_is_killed_around_its_effect_never_repeats_it_and_recover_lists_it(running: Fleet) -> None:
    runs = {moment: running.new_run() for moment in ("killed before", "killed after", "not begun")}
    approvals = {moment: running.approved(run, moment) for moment, run in runs.items()}
    for moment in ("killed before", "killed after"):
        running.tell("resume", approval=approvals[moment])
        until(lambda run=runs[moment]: run in running.lines("entered"))
        running.service.kill()
        running.service.start()
        assert running.resume(approvals[moment]) == "approval_consumed"
        assert running.hold(moment, runs[moment])["said"] != "ran"
    running.denials_until_it_works()  # it has to hear of the bundles' age first
    # An approval that was not used before the kill is the next process's, once.
    assert running.resume(approvals["not begun"]) == "ran"
    assert running.resume(approvals["not begun"]) == "approval_consumed"
    assert [running.effects(run) for run in runs.values()] == [0, 1, 1]

    listed = {effect["approvalId"]: effect for effect in recover(running)}
    assert listed.keys() == {approvals["killed before"], approvals["killed after"]}
    assert all(effect["mayHaveRun"] for effect in listed.values())


def test_a_service_does_not_start_without_its_database(running: Fleet) -> None:
    running.service.kill()
    running.database.kill()
    running.service.start()
    assert until(lambda: running.service.running.poll() is not None)
    assert "ApprovalStoreError" in running.service.log.read_text()
    running.service.kill()
    running.database.start()
    running.service.start()
    running.until_it_works()


def test_after_all_of_this_the_audit_is_whole(running: Fleet) -> None:
    report = verify(open_source(running.database_url), read_public_keys(running.folder / "writer.pub.json"))
    assert [finding for writer in report.writers for finding in writer.findings] == []
    assert {writer.writer for writer in report.writers} == {"service-required", "service-best_effort"}


def recover(fleet: Fleet) -> list[dict[str, Any]]:
    """What `aioc-opa approvals recover` lists; it does not run anything again."""
    command = [Path(sys.executable).parent / "aioc-opa", "approvals", "recover", "--older-than", "0", "--json"]
    environment = {**os.environ, "AIOC_OPA_APPROVALS_STORE": fleet.database_url}
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 1, ran.stderr  # something is unfinished
    listed: list[dict[str, Any]] = json.loads(ran.stdout)["unfinished"]
    return listed
