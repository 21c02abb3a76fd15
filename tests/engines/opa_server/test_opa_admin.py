"""Health, status and uploads, on a real OPA; and what `opa-python-client` would do if it were left alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from aioc_opa.engines.opa_admin import OpaAdmin
from aioc_opa.engines.protocol import DecisionPath
from aioc_opa.errors import EngineConfigurationError, PolicyLoadError
from tests.engines.opa_server.conftest import POLICY
from tests.engines.opa_server.edges import SyncEdge
from tests.engines.opa_server.test_real_opa import body, build_bundle
from tests.engines.opa_server.test_transports import Authority, serve
from tests.hostile.server import Exchange, HostileServer
from tests.opa_process import OpaProcess

if TYPE_CHECKING:
    from pathlib import Path

ANSWER = DecisionPath("uploaded/answer")


@pytest.mark.parametrize("unix", [False, True], ids=["tcp", "unix"])
def test_policies_and_data_are_uploaded_and_then_decide(opa_binary: Path, tmp_path: Path, *, unix: bool) -> None:
    with OpaProcess(opa_binary, tmp_path, unix=unix) as opa, OpaAdmin(opa.url) as admin, SyncEdge(opa.url) as asked:
        admin.put_policy("uploaded/answer.rego", "package uploaded\n\nanswer := data.table.limit")
        admin.put_data("table", {"limit": 7})
        assert asked.ask(body(), ANSWER).result == 7
        admin.put_data("table", {"limit": 8})
        assert asked.ask(body(), ANSWER).result == 8
        assert admin.is_healthy(bundles=True, plugins=True)
    assert not admin.is_healthy()


def test_a_module_that_does_not_compile_is_refused_with_the_compilers_words_and_is_not_rewritten(
    opa_binary: Path, tmp_path: Path
) -> None:
    with OpaProcess(opa_binary, tmp_path) as opa, OpaAdmin(opa.url) as admin:
        with pytest.raises(PolicyLoadError, match="`if` keyword is required"):
            admin.put_policy("old", "package old\n\nallow { input.x }")
        with pytest.raises(PolicyLoadError, match="unsafe"):
            admin.put_policy("unsafe", "package unsafe\n\nanswer := missing")
        with pytest.raises(PolicyLoadError, match="empty"):
            admin.put_policy("empty", "")


@pytest.mark.parametrize(
    "policy_id", ["", "../x", "a//b", "a?b", "a#b", "/a", "a/", "a b", "a\r\nb", "%2e", "a/../b", "."]
)
def test_a_policy_id_that_would_change_the_url_is_refused(policy_id: str) -> None:
    with OpaAdmin("http://127.0.0.1:1") as admin, pytest.raises(PolicyLoadError):
        admin.put_policy(policy_id, "package p")


@pytest.mark.parametrize("path", ["", "../policies", "a//b", "a?b", "/a"])
def test_a_data_path_that_would_change_the_url_is_refused(path: str) -> None:
    with OpaAdmin("http://127.0.0.1:1") as admin, pytest.raises(EngineConfigurationError):
        admin.put_data(path, {})


def test_data_below_a_value_that_is_no_object_is_refused(opa_binary: Path, tmp_path: Path) -> None:
    with OpaProcess(opa_binary, tmp_path) as opa, OpaAdmin(opa.url) as admin:
        admin.put_data("table", {"limit": 7})
        with pytest.raises(PolicyLoadError):
            admin.put_data("table/limit/deeper", {"x": 1})


def test_status_shows_the_active_revision_and_needs_the_plugin(opa_binary: Path, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "policy.rego").write_text(POLICY)
    bundle = tmp_path / "served" / "b.tar.gz"
    bundle.parent.mkdir()
    build_bundle(opa_binary, source, bundle, "r7")
    settings = {"bundles.b.resource": f"file://{bundle}", "status.console": "true"}
    arguments = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
    with OpaProcess(opa_binary, tmp_path, arguments=arguments) as opa, OpaAdmin(opa.url) as admin:
        while not admin.is_healthy(bundles=True):
            pass
        bundles = admin.status()["bundles"]
        assert isinstance(bundles, dict)
        assert isinstance(bundles["b"], dict)
        assert bundles["b"]["active_revision"] == "r7"
    with (
        OpaProcess(opa_binary, tmp_path) as opa,
        OpaAdmin(opa.url) as admin,
        pytest.raises(EngineConfigurationError, match="status 500"),
    ):
        admin.status()


def test_tls_mutual_tls_and_another_authority(opa_binary: Path, tmp_path: Path) -> None:
    authority, client = Authority(tmp_path / "server"), Authority(tmp_path / "client", names=("me",))
    stranger = Authority(tmp_path / "stranger")
    arguments = [*authority.server_arguments(), "--tls-ca-cert-file", str(client.ca_file), "--authentication=tls"]
    with serve(opa_binary, tmp_path, arguments) as opa:
        for files in (
            {"client_cert_file": client.cert_file, "client_key_file": client.key_file},
            {"client_cert_file": client.both_file},
        ):
            with OpaAdmin(opa.url, ca_file=authority.ca_file, **files) as admin:
                assert admin.is_healthy()
            with OpaAdmin(opa.url, ca_file=stranger.ca_file, **files) as admin:
                assert not admin.is_healthy()
            with OpaAdmin(opa.url, **files) as admin:
                assert not admin.is_healthy()


def test_the_token_is_read_for_each_request(opa_binary: Path, tmp_path: Path) -> None:
    authz = 'package system.authz\n\ndefault allow := false\n\nallow if input.identity == "right"'
    token_file = tmp_path / "token"
    token_file.write_text("wrong")
    arguments = ["--authentication=token", "--authorization=basic"]
    with (
        serve(opa_binary, tmp_path, arguments, policies={"authz.rego": authz}) as opa,
        OpaAdmin(opa.url, token_file=token_file) as admin,
    ):
        assert not admin.is_healthy()
        with pytest.raises(EngineConfigurationError, match="unauthorized"):
            admin.put_policy("p", "package p")
        token_file.write_text("right")
        assert admin.is_healthy()
        admin.put_policy("p", "package p")
        token_file.unlink()
        with pytest.raises(EngineConfigurationError, match="token_file"):
            admin.put_policy("p", "package p")


def test_redirects_are_not_followed_and_the_environments_proxy_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")

    def redirect(exchange: Exchange) -> bool:
        exchange.respond(b"", status="307 Temporary Redirect", headers=b"Location: /elsewhere\r\n")
        return True

    with HostileServer() as server, OpaAdmin(server.url) as admin:
        server.next_fault(redirect)
        with pytest.raises(EngineConfigurationError, match="status 307"):
            admin.put_data("table", {"input": {}})  # so that the server takes it for a question
        assert len(server.questions) == 1


@pytest.mark.parametrize("text", [b"", b"<html>", b"[]", b"null", b'{"result":[]}', b"{}"])
def test_a_status_that_is_not_opas_is_refused(text: bytes) -> None:
    def answer(exchange: Exchange) -> bool:
        exchange.respond(text)
        return True

    with HostileServer() as server, OpaAdmin(server.url) as admin:
        server.next_fault(answer)
        with pytest.raises(EngineConfigurationError, match="status"):
            admin.status()


@pytest.mark.parametrize("text", [b"", b"<html>", b"[]", b"null"])
def test_a_refusal_that_is_not_opas_is_an_error_of_ours(text: bytes) -> None:
    def answer(exchange: Exchange) -> bool:
        exchange.respond(text, status="502 Bad Gateway")
        return True

    with HostileServer() as server, OpaAdmin(server.url) as admin:
        server.next_fault(answer)
        with pytest.raises(EngineConfigurationError, match="data 'table'"):
            admin.put_data("table", {"input": {}})  # so that the server takes it for a question


def test_a_server_that_does_not_answer_is_a_configuration_error() -> None:
    with OpaAdmin("unix:/nonexistent/opa.sock") as admin:
        assert not admin.is_healthy()
        for call in (admin.status, lambda: admin.put_policy("p", "package p")):
            with pytest.raises(EngineConfigurationError, match="unix:/nonexistent"):
                call()
