"""rego/system on a real OPA with tokens or certificates, over TCP, TLS, mutual TLS and a Unix socket: who may ask what."""

from __future__ import annotations

import ssl
import subprocess
from typing import TYPE_CHECKING

import pytest

from aioc_opa import OpaServerEngine, ToolGuard, UnsafeAnyRevision
from aioc_opa.engines.opa_admin import OpaAdmin

if TYPE_CHECKING:
    from pathlib import Path

    from tests.deployment.closed_opa import ClosedOpa

DECISION = "/v1/data/aioc/tool_policy/decision?strict-builtin-errors=true"
QUESTION = {"kind": "tool", "requestId": "r", "toolName": "x", "parsedArguments": {"note": "n"}}
REFUSED = [
    ("GET", "/v1/policies"), ("PUT", "/v1/policies/x"), ("DELETE", "/v1/policies/x"), ("GET", "/v1/data"),
    ("PUT", "/v1/data/x"), ("PATCH", "/v1/data/x"), ("DELETE", "/v1/data/x"), ("GET", "/v1/query?q=1"),
    ("POST", "/v1/query"), ("POST", "/v1/compile"), ("GET", "/v1/config"), ("POST", "/"), ("POST", "/v0/data/aioc"),
    ("GET", "/v1/data/system/callers"), ("POST", "/v1/data/system/callers?strict-builtin-errors=true"),
]  # fmt: skip


def test_guards_and_operators_ask_for_decisions_and_strangers_do_not(closed: ClosedOpa) -> None:
    answers = {
        who: closed.ask(who, "POST", DECISION, {"input": QUESTION})[0] for who in ("guard", "operator", "stranger")
    }
    assert answers == {"guard": 200, "operator": 200, "stranger": 401}
    assert closed.ask("guard", "POST", "/v1/data/aioc/tool_policy/decision", {"input": QUESTION})[0] == 401


def test_a_guard_works_through_it_and_reads_when_its_policy_was_fetched(closed: ClosedOpa) -> None:
    with OpaServerEngine(closed.opa.url, **closed.engine_options("guard")) as engine:
        guard = ToolGuard(engine, revision_gate=UnsafeAnyRevision())
        guard.register_json_schema("think", {"type": "object"}, lambda _arguments: "")
        assert guard.check().rule == "data.aioc.tool_policy.decision"
    with OpaAdmin(closed.opa.url, **closed.engine_options("guard")) as admin:
        assert admin.status()["labels"]


def test_status_is_for_guards_and_operators_and_metrics_are_for_operators(closed: ClosedOpa) -> None:
    everybody = ("guard", "operator", "stranger")
    assert [closed.ask(who, "GET", "/v1/status")[0] for who in everybody] == [200, 200, 401]
    assert [closed.ask(who, "GET", "/metrics")[0] for who in everybody] == [401, 200, 401]
    assert [closed.ask(who, "GET", "/health")[0] for who in everybody] == [200, 200, 200]


@pytest.mark.parametrize("who", ["guard", "operator", "stranger"])
def test_writes_queries_configuration_and_listings_are_refused_to_everybody(closed: ClosedOpa, who: str) -> None:
    assert {(method, target): closed.ask(who, method, target, {})[0] for method, target in REFUSED} == dict.fromkeys(
        REFUSED, 401
    )


def test_who_shows_nothing_gets_nothing_but_the_health(closed: ClosedOpa) -> None:
    if closed.mutual:
        with pytest.raises((ssl.SSLError, ConnectionError)):
            closed.ask(None, "GET", "/health")
        return
    assert closed.ask(None, "GET", "/health")[0] == 200
    for method, target in [*REFUSED, ("POST", DECISION), ("GET", "/v1/status"), ("GET", "/metrics")]:
        assert closed.ask(None, method, target, {})[0] == 401, target


def test_the_rules_for_callers_pass_their_own_tests(opa_binary: Path, repository: Path) -> None:
    folders = [repository / "rego" / "system", repository / "deploy" / "opa" / "callers"]
    subprocess.run([opa_binary, "check", "--strict", *folders], check=True)
    subprocess.run([opa_binary, "fmt", "--fail", "--list", folders[1]], check=True)
    ran = subprocess.run(
        [opa_binary, "test", "--run", r"data\.system\.callers_test", *folders],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout.splitlines()[-1]) == (0, "PASS: 5/5"), ran.stdout
