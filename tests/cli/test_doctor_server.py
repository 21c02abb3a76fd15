"""`aioc-opa doctor --opa …` finds what is unsafe or broken about a real server, and changes nothing."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa.cli.doctor_bundles import bundle_findings
from aioc_opa.cli.doctor_decision_log import log_findings, signature_finding
from aioc_opa.cli.doctor_server import _version, _way
from aioc_opa.core.engine_answer import EngineAnswer
from aioc_opa.engines.opa_admin import OpaAdmin
from aioc_opa.engines.opa_looking import Look
from tests.cli.servers import files_served, refusing_server
from tests.opa_process import OpaProcess

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Command

OPEN = 'package aioc.tool_policy\n\ndecision := object.union({k: input[k] | some k in ["kind", "requestId", "proposalHash"]}, {"decision": "deny", "reason": "no_rule_allows", "reasons": []})\n'
ANSWER = EngineAnswer(result={}, policy_revision='{"a":"1"}', engine="opa 1.22.4", decision_id="d")
NOW = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S}.123456789Z"
"""When these tests were read, as Go writes it."""
REFUSED = Look(401, None, {})


def looked(aioc: Command, opa: OpaProcess, *options: str) -> dict[str, tuple[bool | None, str]]:
    ran = aioc("doctor", "--opa", opa.url, "--json", *options)
    findings = json.loads(ran.out)["findings"]
    assert ran.status == (1 if any(each["ok"] is False for each in findings) else 0)
    return {each["topic"]: (each["ok"], each["text"]) for each in findings}


def test_an_open_server_is_described_and_left_as_it_was(aioc: Command, opa_binary: Path, tmp_path: Path) -> None:
    arguments = ["--set=decision_logs.console=true"]
    with (
        OpaProcess(opa_binary, tmp_path, policies={"p.rego": OPEN}, arguments=arguments) as opa,
        OpaAdmin(opa.url) as admin,
    ):
        before = admin.policy_ids()
        found = looked(aioc, opa)
        assert admin.policy_ids() == before
    assert found["version"][0] is True
    assert found["way"][0] is True
    assert found["clock"][0] is True
    ok, text = found["policy API"]
    assert ok is False
    assert "anybody may GET /v1/policies, GET /v1/data, GET /v1/config, PUT /v1/policies" in text
    assert found["bundle"][0] is False
    assert found["decision log"] == (
        False,
        "the mask is missing (data.system.log.mask): arguments are logged as they are; load rego/system/log",
    )


def test_a_path_that_is_undefined_is_found_with_the_rest(aioc: Command, opa_binary: Path, tmp_path: Path) -> None:
    with OpaProcess(opa_binary, tmp_path, policies={"p.rego": OPEN}) as opa:
        found = looked(aioc, opa, "--path", "aioc/misspelt/decision")
    assert [ok for topic, (ok, _) in found.items() if topic.endswith("decides")] == [False]
    assert found["policy API"][0] is False


def test_a_closed_server_with_a_bundle_is_sound_to_who_has_a_token(
    aioc: Command, opa_binary: Path, repository: Path, tmp_path: Path
) -> None:
    policy, served = tmp_path / "rego", tmp_path / "served"
    served.mkdir()
    shutil.copytree(repository / "rego", policy, ignore=shutil.ignore_patterns("*_test.rego", "samples", "*.md"))
    callers = shutil.copytree(repository / "deploy" / "opa" / "callers", policy / "system" / "callers")
    (callers / "callers_test.rego").unlink()
    (callers / "tokens").mkdir()
    digests = {"guards": [hashlib.sha256(b"t0ken").hexdigest()]}
    (callers / "tokens" / "data.json").write_text(json.dumps(digests))
    bundle = served / "policy.tar.gz"
    subprocess.run([opa_binary, "build", "--bundle", policy, "--revision", "7-x", "--output", bundle], check=True)
    token = tmp_path / "token"
    token.write_text("t0ken")
    with files_served(served) as url:
        config = {
            "services": {"bundles": {"url": url}},
            "bundles": {"policy": {"service": "bundles", "resource": "policy.tar.gz"}},
            "status": {"console": True},
            "decision_logs": {"console": True},
        }
        file = tmp_path / "opa.json"
        file.write_text(json.dumps(config))
        folder = tmp_path / "o"
        folder.mkdir()
        arguments = ["--authentication=token", "--authorization=basic", "--config-file", str(file)]
        with OpaProcess(opa_binary, folder, arguments=arguments) as opa:
            options = ["--token-file", str(token)]
            while looked(aioc, opa, *options).get("bundle policy", (False, ""))[0] is not True:
                pass  # OPA fetches it in its own time; the test's timeout ends this
            found = looked(aioc, opa, *options)
            stranger = looked(aioc, opa)
            configured = looked(aioc, opa, *options, "--opa-config", str(file))
    assert [topic for topic, (ok, _) in found.items() if ok is False] == []
    assert re.match(r"revision '7-x', last fetched [0-9]+ s ago", found["bundle policy"][1])
    assert found["policy API"][0] is True
    assert "closed" in found["signatures"][1]
    assert stranger["bundle"][0] is None
    assert stranger[f"{opa.url} decides"][0] is False
    assert configured["signatures"] == (
        False,
        "not asked for: policy: whoever can write to the bundle server decides; give it `signing` with a key and a scope",
    )


def test_a_wrong_clock_is_found(aioc: Command) -> None:
    with refusing_server("Tue, 01 Jan 2019 00:00:00 GMT") as url:
        ran = aioc("doctor", "--opa", url)
    assert ran.status == 1
    assert "expiries are judged by it; synchronize both with NTP" in ran.out


@pytest.mark.parametrize(
    ("url", "ok"),
    [
        ("http://10.0.0.7:8181", False), ("http://opa.example", False), ("http://127.0.0.1:8181", True),
        ("http://localhost", True), ("http://[::1]:1", True), ("https://opa.example", True), ("unix:/run/opa.sock", True),
    ],
)  # fmt: skip
def test_plain_http_beyond_this_machine_is_unsafe(url: str, ok: bool) -> None:
    assert _way(url).ok is ok


@pytest.mark.parametrize(
    ("engine", "ok"), [("opa 1.21.9", False), ("opa 1.22.0", True), ("opa 2.0.0", True), ("", None)]
)
def test_an_old_version_is_unsafe(engine: str, ok: bool | None) -> None:
    assert _version(EngineAnswer(result={}, policy_revision=None, engine=engine)).ok is ok


def status(**facts: Any) -> Look:
    bundle = {"active_revision": "7-x", "last_successful_activation": NOW, "last_successful_request": NOW, **facts}
    return Look(200, None, {"result": {"bundles": {"policy": bundle}}})


@pytest.mark.parametrize(
    ("look", "ok", "said"),
    [
        (status(), True, "revision '7-x'"),
        (status(last_successful_request="2019-01-01T00:00:00Z"), False, "stale: last fetched"),
        (status(last_successful_request="2126-01-01T00:00:00Z"), False, "stale: last fetched in a future"),
        (status(last_successful_request="2026-01-01T00:00:00"), False, "stale: last fetched never"),
        (status(last_successful_request="0001-01-01T00:00:00Z"), False, "last fetched never"),
        (status(last_successful_request=None), False, "last fetched never"),
        (status(last_successful_activation=None), False, "never activated: every"),
        (
            status(last_successful_activation="0001-01-01T00:00:00Z", code="bundle_error"),
            False,
            "activated (bundle_error)",
        ),
        (status(code="bundle_error"), False, "the last one was not taken (bundle_error)"),
        (status(active_revision=""), False, "has no revision"),
        (Look(200, None, {"result": {"bundles": {"policy": None}}}), False, "never activated"),
        (Look(200, None, {"result": {}}), None, "loaded from a file"),
        (Look(500, None, {}), False, "OPA has no status"),
        (REFUSED, None, "closed to us"),
    ],
)
def test_what_a_bundle_may_lack_is_said(look: Look, ok: bool | None, said: str) -> None:
    (found,) = bundle_findings(look, ANSWER, 86_400.0)
    assert found.ok is ok
    assert said in found.text


@pytest.mark.parametrize(
    ("config", "ok"),
    [
        (None, None),
        ({"bundles": {}}, None),
        ({"bundles": {"a": {"signing": {"keyid": "k"}}}}, True),
        ({"bundles": {"a": {"signing": {"keyid": "k"}}, "b": {}}}, False),
        ({"bundles": {"a": None}}, False),
    ],
)
def test_a_bundle_that_need_not_be_signed_is_unsafe(config: Any, ok: bool | None) -> None:
    assert signature_finding(config).ok is ok


@pytest.mark.parametrize(
    ("reporting", "ok"),
    [
        ({}, False),
        ({"buffer_type": "event"}, True),
        ({"buffer_size_limit_bytes": 1000}, True),
        ({"buffer_type": "size"}, False),
    ],
)
def test_a_decision_log_without_a_bound_is_unsafe(reporting: Any, ok: bool) -> None:
    config = {"decision_logs": {"service": "s", "reporting": reporting}}
    mask, size = log_findings(config, Look(200, None, {"result": {"mask": []}}), ANSWER)
    assert (mask.ok, size.ok) == (True, ok)


def test_a_decision_log_that_is_off_or_closed_is_said_to_be() -> None:
    silent = EngineAnswer(result={}, policy_revision=None, engine="opa 1.22.4")
    assert [each.ok for each in log_findings(None, REFUSED, silent)] == [None]
    assert [each.ok for each in log_findings(None, REFUSED, ANSWER)] == [None, None]
