"""One OPA that knows its callers (rego/system with deploy/opa/callers), reached over TCP, TLS, mutual TLS or a Unix socket."""

from __future__ import annotations

import hashlib
import http.client
import json
import shutil
import socket
import ssl
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import trustme
from cryptography.x509 import load_pem_x509_certificate

from tests.opa_process import OpaProcess

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

WAYS = ["tcp", "tls", "mtls", "unix"]
NO_HEADERS: Mapping[str, str] = MappingProxyType({})
LIMIT = 20_000
"""Bytes that a body may have, so that one can be too large."""

BROKEN = """package aioc.handoff_policy

import future.keywords.not

decision := to_number(input.handoffPayload.note) if input.kind == "builtin"
decision := input.handoffPayload.note if input.kind == "conflict"
decision := {"other": input.handoffPayload.note} if input.kind == "conflict"
"""
"""In the place of the decision on handoffs: rules that end in an error which quotes the payload."""


class ClosedOpa:
    """One server, reached one way, and three callers: a guard, an operator and a stranger."""

    def __init__(
        self, way: str, binary: Path, folder: Path, rego: Path, files: Mapping[str, Path], *, level: str = "error"
    ) -> None:
        self.way = way
        self.files = files
        self.mutual = way == "mtls"
        self.names = {
            who: _subject(files[who]) if self.mutual else f"token-of-{who}" for who in ("guard", "operator", "stranger")
        }
        policy = folder / "rego"
        shutil.copytree(rego, policy, ignore=shutil.ignore_patterns("*_test.rego", "samples"))
        (policy / "aioc" / "handoff_policy" / "handoff_policy.rego").write_text(BROKEN)
        shutil.copytree(rego.parent / "deploy" / "opa" / "callers", policy / "system" / "callers")
        (policy / "system" / "callers" / "callers_test.rego").unlink()
        (policy / "system" / "callers" / "tokens").mkdir()
        digests = {f"{who}s": [hashlib.sha256(self.names[who].encode()).hexdigest()] for who in ("guard", "operator")}
        (policy / "system" / "callers" / "tokens" / "data.json").write_text(json.dumps(digests))
        arguments = [
            "--authorization=basic",
            f"--set=server.decoding.max_length={LIMIT}",
            f"--set=server.decoding.gzip.max_length={LIMIT}",
            f"--log-level={level}",
            "--set=decision_logs.console=true",
            "--set=status.console=true",
        ]
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
        return self.send(who, method, target, None if body is None else json.dumps(body).encode())

    def send(
        self, who: str | None, method: str, target: str, body: bytes | None, headers: Mapping[str, str] = NO_HEADERS
    ) -> tuple[int, str]:
        """As `ask`, with a body and headers as they are. Redirects are not followed."""
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
            token = {} if who is None or self.mutual else {"Authorization": f"Bearer {self.names[who]}"}
            connection.request(method, target, body, {**token, **headers})
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


def certificates(folder: Path) -> Mapping[str, Path]:
    """Certificates (with their keys), by who has them."""
    ca = trustme.CA()
    ca.cert_pem.write_to_path(folder / "ca.pem")
    found = {"ca": folder / "ca.pem", "server": folder / "server.pem"}
    ca.issue_cert("127.0.0.1", "localhost").private_key_and_cert_chain_pem.write_to_path(found["server"])
    for who in ("guard", "operator", "stranger"):
        found[who] = folder / f"{who}.pem"
        issued = ca.issue_cert(f"{who}.example", common_name=who)
        issued.private_key_and_cert_chain_pem.write_to_path(found[who])
    return found
