"""URLs, TLS files, tokens and sizes are checked when the engine is made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trustme
from cryptography.hazmat.primitives import serialization

from aioc_opa.core.engine_answer import EngineFailureError
from aioc_opa.core.reasons import Reason
from aioc_opa.engines.http_endpoint import TlsFiles, parse_endpoint
from aioc_opa.engines.http_token import authorization
from aioc_opa.engines.opa_server import AsyncOpaServerEngine, OpaServerEngine
from aioc_opa.errors import EngineConfigurationError

ENGINES = [OpaServerEngine, AsyncOpaServerEngine]


@pytest.mark.parametrize(
    ("url", "text", "host_header"),
    [
        ("http://opa", "http://opa:80", "opa:80"),
        ("http://opa:8181/", "http://opa:8181", "opa:8181"),
        ("https://opa.example.org", "https://opa.example.org:443", "opa.example.org:443"),
        ("http://[::1]:8181", "http://[::1]:8181", "[::1]:8181"),
        ("http://127.0.0.1:8181", "http://127.0.0.1:8181", "127.0.0.1:8181"),
        ("unix:/run/opa.sock", "unix:/run/opa.sock", "localhost"),
        ("unix:///run/opa.sock", "unix:/run/opa.sock", "localhost"),
        ("unix:opa.sock", f"unix:{Path.cwd() / 'opa.sock'}", "localhost"),
    ],
)
def test_the_three_forms_of_a_url(url: str, text: str, host_header: str) -> None:
    endpoint = parse_endpoint(url, TlsFiles())
    assert (endpoint.text, endpoint.host_header) == (text, host_header)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "url",
    [
        "",
        "opa:8181",
        "ftp://opa",
        "HTTP://opa",
        "http://",
        "http://user:secret@opa",
        "http://opa/v1",
        "http://opa//",
        "http://opa?x=1",
        "http://opa#x",
        "http://opa:0",
        "http://opa:65536",
        "http://opa:99999999",
        "http://opa:",
        "http://op a",
        "http://opa\r\nX: y",
        "http://opa:8181\n",
        "http://[opa]:8181",
        "http://[:::]:8181",
        "http://ex\u00e4mple",
        "unix:",
        "unix://opa.sock",
        "unix:////run/opa.sock",
        "unix:/run/\0opa",
        "unix:/" + "x" * 200,
    ],
)
def test_any_other_url_is_refused_and_its_secret_is_not_echoed(engine: type[Any], url: str) -> None:
    with pytest.raises(EngineConfigurationError) as caught:
        engine(url)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "settings",
    [
        {"max_response_bytes": 0},
        {"max_response_bytes": 2**31},
        {"max_response_bytes": 1.5},
        {"max_connections": 0},
        {"max_connections": 5000},
        {"max_connections": True},
        {"ca_file": "ca.pem"},
        {"client_cert_file": "cert.pem"},
        {"token": "a", "token_file": "b"},
        {"token": ""},
        {"token": "a b"},
        {"token": "a\r\nX-Evil: 1"},
        {"token": "ä"},
        {"token": "a\n"},
        {"token_file": "/does/not/exist"},
        {"token_file": "/"},
    ],
)
def test_settings_that_cannot_work_are_refused(engine: type[Any], settings: dict[str, Any]) -> None:
    with pytest.raises(EngineConfigurationError):
        engine("http://127.0.0.1:8181", **settings)


def test_tls_files_do_not_fit_a_unix_socket() -> None:
    with pytest.raises(EngineConfigurationError, match="Unix socket"):
        parse_endpoint("unix:/run/opa.sock", TlsFiles(ca_file="x"))


def test_tls_files_that_cannot_be_used_are_refused(tmp_path: Path) -> None:
    empty = tmp_path / "empty.pem"
    empty.write_text("")
    ca = trustme.CA()
    issued = ca.issue_cert("opa")
    cert, encrypted = tmp_path / "cert.pem", tmp_path / "encrypted.pem"
    issued.cert_chain_pems[0].write_to_path(str(cert))
    key = serialization.load_pem_private_key(issued.private_key_pem.bytes(), None)
    encrypted.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"password"),
        )
    )
    for files, problem in (
        (TlsFiles(ca_file=empty), "ca_file"),
        (TlsFiles(ca_file=tmp_path / "none"), "ca_file"),
        (TlsFiles(client_cert_file=empty), "client_cert_file"),
        (TlsFiles(client_cert_file=cert), "client_cert_file"),  # without a key
        (TlsFiles(client_cert_file=cert, client_key_file=encrypted), "encrypted"),
        (TlsFiles(client_key_file=cert), "without client_cert_file"),
    ):
        with pytest.raises(EngineConfigurationError, match=problem):
            parse_endpoint("https://opa", files)


def test_no_key_log_is_written_and_only_the_given_authority_is_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSLKEYLOGFILE", str(tmp_path / "keys"))
    ca_file = tmp_path / "ca.pem"
    trustme.CA().cert_pem.write_to_path(str(ca_file))
    context = parse_endpoint("https://opa", TlsFiles(ca_file=ca_file)).tls
    assert context is not None
    assert context.keylog_filename is None
    assert context.cert_store_stats()["x509_ca"] == 1


def test_a_token_file_is_read_again_only_when_it_changes(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("  one\n")
    line = authorization(token=None, token_file=path).line
    first = line()
    assert first == b"Authorization: Bearer one\r\n"
    assert line() is first
    path.write_text("two-longer")
    assert line() == b"Authorization: Bearer two-longer\r\n"


@pytest.mark.parametrize("content", [b"", b"\n", b"a b", b"a\r\nX: y", b"\xff", b"x" * 70_000])
def test_a_token_file_that_turns_bad_denies_and_does_not_echo_it(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "token"
    path.write_text("one")
    known = authorization(token=None, token_file=path)
    path.write_bytes(content)
    with pytest.raises(EngineFailureError) as caught:
        known.line()
    assert caught.value.reason is Reason.POLICY_UNAVAILABLE
    assert "X: y" not in caught.value.detail


def test_without_a_token_there_is_no_line() -> None:
    assert authorization(token=None, token_file=None).line() == b""
    assert authorization(token="t", token_file=None).line() == b"Authorization: Bearer t\r\n"


@pytest.mark.parametrize("engine", ENGINES)
def test_nothing_is_taken_from_the_environment(engine: type[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert engine("http://opa.example.org")._settings.endpoint.host == "opa.example.org"
