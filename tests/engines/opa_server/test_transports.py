"""TLS with a private authority, mutual TLS, Unix sockets, tokens: on a real OPA."""

from __future__ import annotations

import os
import socket
import ssl
from typing import TYPE_CHECKING

import pytest
import trustme

from aioc_opa.core.reasons import Reason
from tests.engines.opa_server.conftest import POLICY
from tests.engines.opa_server.test_real_opa import body, rule
from tests.hostile.server import Exchange, HostileServer
from tests.opa_process import OpaProcess

if TYPE_CHECKING:
    from pathlib import Path

    from tests.engines.opa_server.edges import SyncEdge

AUTHZ = """package system.authz

default allow := false

allow if {
	input.method == "POST"
	input.path == ["v1", "data", "aioc", "tool_policy", "decision"]
	input.identity == "first-token"
}
"""


class Authority:
    """A private CA with its files."""

    def __init__(self, folder: Path, *, names: tuple[str, ...] = ("127.0.0.1", "localhost")) -> None:
        ca = trustme.CA()
        folder.mkdir()
        self.ca_file = folder / "ca.pem"
        self.cert_file = folder / "cert.pem"
        self.key_file = folder / "key.pem"
        self.both_file = folder / "both.pem"
        ca.cert_pem.write_to_path(str(self.ca_file))
        issued = ca.issue_cert(*names)
        issued.private_key_pem.write_to_path(str(self.key_file))
        issued.cert_chain_pems[0].write_to_path(str(self.cert_file))
        issued.private_key_and_cert_chain_pem.write_to_path(str(self.both_file))

    def server_arguments(self) -> list[str]:
        return ["--tls-cert-file", str(self.cert_file), "--tls-private-key-file", str(self.key_file)]


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "authority")


def test_a_server_that_hangs_in_the_tls_handshake_is_a_timeout(authority: Authority, edge: type[SyncEdge]) -> None:
    with HostileServer() as server, edge(server.url.replace("http", "https"), ca_file=authority.ca_file) as asked:
        server.silent_accepts = 1
        assert asked.failure(body(), seconds=0.2) is Reason.POLICY_TIMEOUT


def test_what_waits_inside_tls_after_the_response_closes_the_connection(
    authority: Authority, edge: type[SyncEdge]
) -> None:
    def two_in_one_record(exchange: Exchange) -> bool:
        answer = exchange.answer()
        exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(answer), answer) + b" " * 15_000)
        exchange.send(b" " * 15_000)
        return True

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority.both_file)
    with HostileServer(context) as server, edge(server.url, ca_file=authority.ca_file) as asked:
        server.next_fault(two_in_one_record)
        assert asked.failure(body()) is Reason.POLICY_UNAVAILABLE
        for _ in range(3):
            assert asked.ask(body()).result
        assert server.connections == 2


def serve(
    opa_binary: Path,
    folder: Path,
    arguments: list[str],
    *,
    policies: dict[str, str] | None = None,
    host: str = "127.0.0.1",
) -> OpaProcess:
    return OpaProcess(
        opa_binary,
        folder,
        policies={"policy.rego": POLICY, **(policies or {})},
        arguments=arguments,
        tls=any("--tls" in argument for argument in arguments),
        host=host,
    )


def test_tls_with_a_private_authority(
    opa_binary: Path, tmp_path: Path, authority: Authority, edge: type[SyncEdge]
) -> None:
    with serve(opa_binary, tmp_path, authority.server_arguments()) as opa:
        with edge(opa.url, ca_file=authority.ca_file) as asked:
            for _ in range(3):
                assert asked.ask(body()).result
            for turn in (1, 20_000):  # more than one TLS record
                answer = asked.ask(body(request_id="x" * turn))
                assert isinstance(answer.result, dict)
                assert len(str(answer.result["requestId"])) == turn
            for _ in range(5):  # chunked, and many TLS records at once
                answer = asked.ask(body(turn=20_000), rule("padded"))
                assert answer.result == {"requestId": "r1", "padding": [str(i) for i in range(1, 20_001)]}
        with edge(f"https://localhost:{opa.port}", ca_file=authority.ca_file) as asked:
            assert asked.ask(body()).result


def test_tls_refuses_another_authority_another_name_and_plain_http(
    opa_binary: Path, tmp_path: Path, authority: Authority, edge: type[SyncEdge]
) -> None:
    stranger = Authority(tmp_path / "stranger", names=("example.org",))
    with serve(opa_binary, tmp_path, authority.server_arguments()) as opa:
        for settings in ({"ca_file": stranger.ca_file}, {}):
            with edge(opa.url, **settings) as asked:
                assert asked.failure(body()) is Reason.POLICY_UNAVAILABLE
        with edge(f"http://127.0.0.1:{opa.port}") as asked:
            assert asked.failure(body()) is Reason.POLICY_UNAVAILABLE
    with (
        serve(opa_binary, tmp_path, stranger.server_arguments()) as opa,
        edge(opa.url, ca_file=stranger.ca_file) as asked,
    ):
        assert asked.failure(body()) is Reason.POLICY_UNAVAILABLE


def test_tls_is_1_2_or_newer_and_verifies_the_name(authority: Authority, edge: type[SyncEdge]) -> None:
    with edge("https://127.0.0.1:1", ca_file=authority.ca_file) as asked:
        engine = getattr(asked, "engine", None) or asked.async_engine  # type: ignore[attr-defined]
        context = engine._settings.endpoint.tls
    assert context.minimum_version.name == "TLSv1_2"
    assert context.check_hostname
    assert context.verify_mode.name == "CERT_REQUIRED"


def test_mutual_tls(opa_binary: Path, tmp_path: Path, authority: Authority, edge: type[SyncEdge]) -> None:
    client = Authority(tmp_path / "client", names=("agent@example.org",))
    arguments = [*authority.server_arguments(), "--tls-ca-cert-file", str(client.ca_file), "--authentication=tls"]
    with serve(opa_binary, tmp_path, arguments) as opa:
        two_files = {"client_cert_file": client.cert_file, "client_key_file": client.key_file}
        for settings in (two_files, {"client_cert_file": client.both_file}):
            with edge(opa.url, ca_file=authority.ca_file, **settings) as asked:
                assert asked.ask(body()).result
        with edge(opa.url, ca_file=authority.ca_file) as asked:
            assert asked.failure(body()) is Reason.POLICY_UNAVAILABLE
        with edge(opa.url, ca_file=authority.ca_file, client_cert_file=authority.both_file) as asked:
            assert asked.failure(body()) is Reason.POLICY_UNAVAILABLE


def test_unix_socket(opa_binary: Path, tmp_path: Path, edge: type[SyncEdge]) -> None:
    opa = OpaProcess(opa_binary, tmp_path, policies={"policy.rego": POLICY}, unix=True)
    with opa:
        for url in (opa.url, f"unix://{opa.socket_path}", os.path.relpath(opa.url.removeprefix("unix:"))):
            with edge(url if url.startswith("unix:") else f"unix:{url}") as asked:
                assert asked.ask(body()).result
    with edge(opa.url) as asked:
        assert asked.failure(body()) is Reason.POLICY_UNAVAILABLE


def test_unix_socket_that_does_not_exist_yet(opa_binary: Path, tmp_path: Path, edge: type[SyncEdge]) -> None:
    opa = OpaProcess(opa_binary, tmp_path, policies={"policy.rego": POLICY}, unix=True)
    with edge(opa.url) as asked:
        assert asked.failure(body()) is Reason.POLICY_UNAVAILABLE
        with opa:
            assert asked.ask(body()).result


def test_unix_socket_with_a_full_backlog_waits_until_the_deadline(tmp_path: Path, edge: type[SyncEdge]) -> None:
    path = tmp_path / "full.sock"
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as first:
        listener.bind(str(path))
        listener.listen(0)
        first.connect(str(path))
        with edge(f"unix:{path}") as asked:
            assert asked.failure(body(), seconds=0.1) is Reason.POLICY_TIMEOUT


def test_a_bearer_token_and_its_rotation_in_a_file(opa_binary: Path, tmp_path: Path, edge: type[SyncEdge]) -> None:
    token_file = tmp_path / "token"
    token_file.write_text("first-token\n")
    arguments = ["--authentication=token", "--authorization=basic"]
    with serve(opa_binary, tmp_path, arguments, policies={"authz.rego": AUTHZ}) as opa:
        with edge(opa.url, token="first-token") as asked:
            assert asked.ask(body()).result
        for settings in ({"token": "second-token"}, {}):
            with edge(opa.url, **settings) as asked:
                assert asked.failure(body()) is Reason.POLICY_UNAVAILABLE
        with edge(opa.url, token_file=token_file) as asked:
            assert asked.ask(body()).result
            token_file.write_text("second-token")
            assert asked.failure(body()) is Reason.POLICY_UNAVAILABLE
            replacement = tmp_path / "token.new"
            replacement.write_text("first-token")
            replacement.replace(token_file)
            assert asked.ask(body()).result
            token_file.unlink()
            assert asked.failure(body()) is Reason.POLICY_UNAVAILABLE
            token_file.write_text("bad\r\nX-Header: 1")
            assert asked.failure(body()) is Reason.POLICY_UNAVAILABLE
            token_file.write_text("first-token")
            assert asked.ask(body()).result
