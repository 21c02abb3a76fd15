"""rego/system on a real OPA with tokens or certificates, over TCP, TLS, mutual TLS and a Unix socket."""

from __future__ import annotations

import hashlib
import http.client
import json
import shutil
import socket
import ssl
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
import trustme
from cryptography.x509 import load_pem_x509_certificate

from aioc_opa import OpaServerEngine, ToolGuard, UnsafeAnyRevision
from aioc_opa.engines.opa_admin import OpaAdmin
from tests.opa_process import OpaProcess

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

CANARY = "canary-71be"
DECISION = "/v1/data/aioc/tool_policy/decision?strict-builtin-errors=true"
QUESTION = {"kind": "tool", "requestId": "r", "toolName": "x", "parsedArguments": {"note": CANARY}, "error": CANARY}
REFUSED = [
    ("GET", "/v1/policies"), ("PUT", "/v1/policies/x"), ("DELETE", "/v1/policies/x"), ("GET", "/v1/data"),
    ("PUT", "/v1/data/x"), ("PATCH", "/v1/data/x"), ("DELETE", "/v1/data/x"), ("GET", "/v1/query?q=1"),
    ("POST", "/v1/query"), ("POST", "/v1/compile"), ("GET", "/v1/config"), ("POST", "/"), ("POST", "/v0/data/aioc"),
    ("GET", "/v1/data/system/callers"), ("POST", "/v1/data/system/callers?strict-builtin-errors=true"),
]  # fmt: skip
WAYS = ["tcp", "tls", "mtls", "unix"]


class Fleet:
    """One server, reached one way, and three callers: a guard, an operator and a stranger."""

    def __init__(self, way: str, binary: Path, folder: Path, rego: Path, files: Mapping[str, Path]) -> None:
        self.way = way
        self.files = files
        self.mutual = way == "mtls"
        self.names = {
            who: _subject(files[who]) if self.mutual else f"token-of-{who}" for who in ("guard", "operator", "stranger")
        }
        policy = folder / "rego"
        shutil.copytree(rego, policy, ignore=shutil.ignore_patterns("*_test.rego", "samples"))
        (policy / "aioc" / "tool_policy" / "broken.rego").write_text(
            "package aioc.tool_policy\n\nbroken := to_number(input.parsedArguments.note)\n"
        )
        shutil.copytree(rego.parent / "deploy" / "opa" / "callers", policy / "system" / "callers")
        (policy / "system" / "callers" / "callers_test.rego").unlink()
        (policy / "system" / "callers" / "tokens").mkdir()
        digests = {f"{who}s": [hashlib.sha256(self.names[who].encode()).hexdigest()] for who in ("guard", "operator")}
        (policy / "system" / "callers" / "tokens" / "data.json").write_text(json.dumps(digests))
        arguments = ["--authorization=basic", "--set=decision_logs.console=true", "--set=status.console=true"]
        arguments.append("--authentication=tls" if self.mutual else "--authentication=token")
        if way in {"tls", "mtls"}:
            arguments += ["--tls-cert-file", str(files["server"]), "--tls-private-key-file", str(files["server"])]
        if self.mutual:
            arguments += ["--tls-ca-cert-file", str(files["ca"])]
        self.opa = OpaProcess(
            binary, folder, arguments=[*arguments, "--bundle", str(policy)], unix=way == "unix", tls="tls" in way
        )

    def ask(self, who: str | None, method: str, target: str, body: object = None) -> tuple[int, str]:
        """Ask as `who`; None has neither token nor certificate of ours."""
        context = None
        if self.opa.tls:
            context = ssl.create_default_context(cafile=self.files["ca"])
            if self.mutual and who is not None:
                context.load_cert_chain(self.files[who])
        if self.opa.socket_path is not None:
            connection = http.client.HTTPConnection("localhost", timeout=30)
            connection.sock = socket.socket(socket.AF_UNIX)
            connection.sock.settimeout(30)
            connection.sock.connect(str(self.opa.socket_path))
        elif context is not None:
            connection = http.client.HTTPSConnection("127.0.0.1", self.opa.port, timeout=30, context=context)
        else:
            connection = http.client.HTTPConnection("127.0.0.1", self.opa.port, timeout=30)
        try:
            headers = {} if who is None or self.mutual else {"Authorization": f"Bearer {self.names[who]}"}
            connection.request(method, target, None if body is None else json.dumps(body), headers)
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()

    def engine_options(self, who: str) -> dict[str, Any]:
        options: dict[str, Any] = {"ca_file": self.files["ca"]} if self.opa.tls else {}
        return options | ({"client_cert_file": self.files[who]} if self.mutual else {"token": self.names[who]})


def _subject(certificate: Path) -> str:
    """As OPA names the caller: the certificate's subject, in the order of RFC 4514."""
    return load_pem_x509_certificate(certificate.read_bytes()).subject.rfc4514_string()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """Certificates (with their keys), by who has them."""
    folder = tmp_path_factory.mktemp("pki")
    ca = trustme.CA()
    ca.cert_pem.write_to_path(folder / "ca.pem")
    found = {"ca": folder / "ca.pem", "server": folder / "server.pem"}
    ca.issue_cert("127.0.0.1", "localhost").private_key_and_cert_chain_pem.write_to_path(found["server"])
    for who in ("guard", "operator", "stranger"):
        found[who] = folder / f"{who}.pem"
        issued = ca.issue_cert(f"{who}.example", common_name=who)
        issued.private_key_and_cert_chain_pem.write_to_path(found[who])
    return found


@pytest.fixture(scope="module", params=WAYS)
def fleet(
    request: pytest.FixtureRequest,
    opa_binary: Path,
    repository: Path,
    tmp_path_factory: pytest.TempPathFactory,
    files: Mapping[str, Path],
) -> Iterator[Fleet]:
    made = Fleet(request.param, opa_binary, tmp_path_factory.mktemp("o"), repository / "rego", files)
    with made.opa:
        yield made


def test_guards_and_operators_ask_for_decisions_and_strangers_do_not(fleet: Fleet) -> None:
    answers = {
        who: fleet.ask(who, "POST", DECISION, {"input": QUESTION})[0] for who in ("guard", "operator", "stranger")
    }
    assert answers == {"guard": 200, "operator": 200, "stranger": 401}
    assert fleet.ask("guard", "POST", "/v1/data/aioc/tool_policy/decision", {"input": QUESTION})[0] == 401


def test_a_guard_works_through_it_and_reads_when_its_policy_was_fetched(fleet: Fleet) -> None:
    with OpaServerEngine(fleet.opa.url, **fleet.engine_options("guard")) as engine:
        guard = ToolGuard(engine, revision_gate=UnsafeAnyRevision())
        guard.register_json_schema("think", {"type": "object"}, lambda _arguments: "")
        assert guard.check().rule == "data.aioc.tool_policy.decision"
    with OpaAdmin(fleet.opa.url, **fleet.engine_options("guard")) as admin:
        assert admin.status()["labels"]


def test_status_is_for_guards_and_operators_and_metrics_are_for_operators(fleet: Fleet) -> None:
    everybody = ("guard", "operator", "stranger")
    assert [fleet.ask(who, "GET", "/v1/status")[0] for who in everybody] == [200, 200, 401]
    assert [fleet.ask(who, "GET", "/metrics")[0] for who in everybody] == [401, 200, 401]
    assert [fleet.ask(who, "GET", "/health")[0] for who in everybody] == [200, 200, 200]


@pytest.mark.parametrize("who", ["guard", "operator", "stranger"])
def test_writes_queries_configuration_and_listings_are_refused_to_everybody(fleet: Fleet, who: str) -> None:
    assert {(method, target): fleet.ask(who, method, target, {})[0] for method, target in REFUSED} == dict.fromkeys(
        REFUSED, 401
    )


def test_who_shows_nothing_gets_nothing_but_the_health(fleet: Fleet) -> None:
    if fleet.mutual:
        with pytest.raises((ssl.SSLError, ConnectionError)):
            fleet.ask(None, "GET", "/health")
        return
    assert fleet.ask(None, "GET", "/health")[0] == 200
    for method, target in [*REFUSED, ("POST", DECISION), ("GET", "/v1/status"), ("GET", "/metrics")]:
        assert fleet.ask(None, method, target, {})[0] == 401, target


def test_no_argument_reaches_the_log_errors_included(fleet: Fleet) -> None:
    for body in (
        {"input": QUESTION}, {"input": CANARY}, {"Input": QUESTION}, QUESTION, CANARY, {"input": {"kind": {CANARY: CANARY}}},
    ):  # fmt: skip
        fleet.ask("guard", "POST", DECISION, body)
        fleet.ask("stranger", "POST", DECISION, body)
    for target in (
        DECISION + "&explain=full", DECISION.replace("/decision", "/broken"), f"/v1/data/{CANARY}", f"/v1/{CANARY}",
        DECISION + f"&input={CANARY}", f"/v1/query?q={CANARY}",
    ):  # fmt: skip
        fleet.ask("guard", "POST", target, {"input": QUESTION})
        fleet.ask("guard", "GET", target)
    log = fleet.opa.log()
    assert "Decision Log" in log
    assert CANARY not in log
    assert not any(name in log for name in fleet.names.values() if not fleet.mutual)


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
