"""The webhook against a real receiver that refuses, hangs, drips, redirects and changes its mind."""

from __future__ import annotations

import json
import logging
import socket
import ssl
import threading
from typing import TYPE_CHECKING, Any

import pytest
import trustme

from aioc_opa.approvals import webhook_request
from aioc_opa.approvals.dispatcher import DeliveryCounts
from aioc_opa.approvals.notifications import notice_of, wants_arguments
from aioc_opa.approvals.webhook import WebhookNotifier
from aioc_opa.approvals.webhook_signature import secret_of_text, verify_webhook
from aioc_opa.core.approvals.states import ApprovalState
from aioc_opa.errors import ConfigurationError
from aioc_opa.models.approval_notice import ApprovalNoticeMessage
from tests.approvals.notices import ARGUMENTS, CANARY, notice, record
from tests.approvals.receiver import Receiver, cut, drip, hang

if TYPE_CHECKING:
    from pathlib import Path

SECRET = secret_of_text("whsec_" + "c2VjcmV0LWNhbmFyeS0x" * 2)
OLD = bytes(range(32))


def notifier(url: str, **settings: Any) -> WebhookNotifier:
    return WebhookNotifier(url, SECRET, **{"backoff_seconds": 0.01, "max_backoff_seconds": 0.05, **settings})


def test_a_receiver_verifies_and_reads_what_was_sent() -> None:
    with Receiver(202) as receiver, notifier(receiver.url) as webhook:
        webhook.approval_requested(notice_of(record()))
        webhook.approval_decided(notice_of(record(state=ApprovalState.APPROVED)))
        arrived = receiver.wait_for(2)
        assert webhook.close(20)
        assert webhook.counts == DeliveryCounts(delivered=2)
    assert arrived[0].path == "/hooks?team=a"
    ids = []
    for one, kind in zip(arrived, ("requested", "decided"), strict=True):
        verified = verify_webhook(one.headers, one.body, SECRET)
        message = ApprovalNoticeMessage.model_validate_json(verified.body)
        assert message.type == f"tool.approval.{kind}"
        assert message.timestamp == message.data.at
        assert message.data.tool_name == "refund"
        assert one.headers["Content-Type"] == "application/json"
        ids.append(verified.webhook_id)
    assert ids == [f"apr_{'0' * 32}_requested_pending", f"apr_{'0' * 32}_decided_approved"]


def test_a_secret_is_being_changed() -> None:
    with Receiver() as receiver, notifier(receiver.url, also_sign_with=[OLD]) as webhook:
        webhook.approval_requested(notice())
        (arrived,) = receiver.wait_for(1)
    for known in (SECRET, OLD):
        assert verify_webhook(arrived.headers, arrived.body, known)


@pytest.mark.parametrize("failure", [500, 503, 429, cut], ids=["500", "503", "429", "cut"])
def test_a_passing_failure_is_tried_again_with_the_same_id_and_body(failure: Any) -> None:
    with Receiver(failure, failure, 200) as receiver, notifier(receiver.url) as webhook:
        webhook.approval_requested(notice())
        arrived = receiver.wait_for(3)
        assert webhook.close(20)
        assert webhook.counts == DeliveryCounts(delivered=1)
        assert len(receiver.arrived) == 3
    assert len({one.headers["webhook-id"] for one in arrived}) == 1
    assert len({one.body for one in arrived}) == 1
    for one in arrived:
        assert verify_webhook(one.headers, one.body, SECRET)


def test_each_attempt_has_its_own_timestamp(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(1_800_000_000, 1_800_000_100))
    with Receiver(500) as receiver, notifier(receiver.url) as webhook:
        monkeypatch.setattr("aioc_opa.approvals.webhook.time.time", lambda: float(next(clock)))
        webhook.approval_requested(notice())
        arrived = receiver.wait_for(2)
        assert webhook.close(20)
    monkeypatch.undo()
    first, second = (int(one.headers["webhook-timestamp"]) for one in arrived)
    assert first < second
    assert verify_webhook(arrived[1].headers, arrived[1].body, SECRET, now=second)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308, 400, 401, 404, 410, 422])
def test_what_the_receiver_will_not_take_is_not_tried_again_and_redirects_are_not_followed(status: int) -> None:
    with Receiver() as elsewhere, Receiver(lambda one: one.say(status, Location=elsewhere.url)) as receiver:
        with notifier(receiver.url) as webhook:
            webhook.approval_requested(notice())
            receiver.wait_for(1)
            assert webhook.close(20)
            assert webhook.counts == DeliveryCounts(delivered=0, failed=1)
        assert len(receiver.arrived) == 1
        assert elsewhere.arrived == []


def test_attempts_come_to_an_end() -> None:
    with Receiver(*[500] * 9) as receiver, notifier(receiver.url, attempts=3) as webhook:
        webhook.approval_requested(notice())
        receiver.wait_for(3)
        assert webhook.close(20)
        assert len(receiver.arrived) == 3
        assert webhook.counts == DeliveryCounts(failed=1)


def test_a_receiver_that_is_not_there_yet_gets_it_later() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    with notifier(f"http://127.0.0.1:{port}/hooks", attempts=100) as webhook:
        webhook.approval_requested(notice())
        with Receiver(port=port) as receiver:
            assert receiver.wait_for(1)
            assert webhook.close(20)
            assert webhook.counts == DeliveryCounts(delivered=1)


@pytest.mark.parametrize("fault", [hang, drip])
def test_one_attempt_has_one_total_deadline(fault: Any) -> None:
    with Receiver(fault, 200) as receiver, notifier(receiver.url, timeout_seconds=0.3) as webhook:
        webhook.approval_requested(notice())
        first, second = receiver.wait_for(2)
        assert first.headers["webhook-id"] == second.headers["webhook-id"]
        assert webhook.close(20)
        assert webhook.counts == DeliveryCounts(delivered=1)


def test_a_handshake_that_never_ends_is_cut() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        attempt = webhook_request.Attempt(
            f"https://127.0.0.1:{silent.getsockname()[1]}/",
            headers={},
            body=b"{}",
            timeout_seconds=0.2,
            ca_file=None,
        )
        assert attempt.run() == "Timeout"
        there, _ = silent.accept()
        with there:
            there.settimeout(20)
            while there.recv(4096):  # the client's hello, then the end: nobody is left at the other side
                pass


def test_a_connection_that_comes_after_the_deadline_is_cut_at_once() -> None:
    attempt = webhook_request.Attempt("http://127.0.0.1:1/", headers={}, body=b"", timeout_seconds=1, ca_file=None)
    attempt._cut_connection()
    ours, theirs = socket.socketpair()
    with ours, theirs:
        attempt.watch(ours)
        assert theirs.recv(1) == b""


def test_a_resolver_that_hangs_holds_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()

    def hanging(*_: object, **__: object) -> list[Any]:
        over.wait(20)
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", hanging)
    attempt = webhook_request.Attempt(
        "https://hooks.invalid/", headers={}, body=b"{}", timeout_seconds=0.1, ca_file=None
    )
    assert attempt.run() == "Timeout"
    over.set()
    assert attempt._done.wait(20)


def test_neither_proxies_nor_netrc_of_the_environment_are_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login somebody password something\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    with Receiver() as receiver, notifier(receiver.url, attempts=1) as webhook:
        webhook.approval_requested(notice())
        (arrived,) = receiver.wait_for(1)
    assert "Authorization" not in arrived.headers


@pytest.fixture
def authority(tmp_path: Path) -> tuple[ssl.SSLContext, Path]:
    ca = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert("127.0.0.1").configure_cert(context)
    ca.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    return context, tmp_path / "ca.pem"


def test_tls_with_an_authority_of_ones_own(authority: tuple[ssl.SSLContext, Path]) -> None:
    context, ca_file = authority
    with Receiver(tls=context) as receiver, notifier(receiver.url, ca_file=ca_file) as webhook:
        webhook.approval_requested(notice())
        (arrived,) = receiver.wait_for(1)
        assert webhook.close(20)
        assert webhook.counts == DeliveryCounts(delivered=1)
    assert verify_webhook(arrived.headers, arrived.body, SECRET)


def test_nothing_is_sent_to_a_server_that_cannot_prove_its_name(
    authority: tuple[ssl.SSLContext, Path], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(authority[1]))  # the environment's word is not taken
    with Receiver(tls=authority[0]) as receiver, notifier(receiver.url, attempts=1) as webhook:
        webhook.approval_requested(notice())
        assert webhook.close(20)
        assert receiver.arrived == []
        assert webhook.counts == DeliveryCounts(failed=1)
    assert "SSLError" in caplog.text


def test_a_file_of_authorities_that_is_none_fails_and_is_named_by_class_alone(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    with notifier("https://127.0.0.1:1/", ca_file=tmp_path / "none.pem", attempts=1) as webhook:
        webhook.approval_requested(notice())
        assert webhook.close(20)
        assert webhook.counts == DeliveryCounts(failed=1)
    assert "OSError" in caplog.text
    assert "none.pem" not in caplog.text


def test_arguments_and_secrets_appear_nowhere_unless_configured(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    told = notice_of(record(), arguments=True)  # by somebody who put them in without being asked
    assert told.args_canonical_json == ARGUMENTS
    with Receiver(500, 200, 404) as receiver, notifier(receiver.url) as webhook:
        assert not wants_arguments(webhook)
        webhook.approval_requested(told)
        receiver.wait_for(2)
        webhook.approval_decided(told)
        arrived = receiver.wait_for(3)
        assert webhook.close(20)
        assert CANARY not in repr(vars(webhook))
    for one in arrived:
        assert CANARY.encode() not in one.body
        assert CANARY not in repr(one.headers)
        assert "arguments" not in one.body.decode()
    assert CANARY not in caplog.text
    for shown in (caplog.text, repr(arrived[0].headers), repr(webhook)):
        assert "secret-canary" not in shown
        assert SECRET.hex() not in shown
        assert repr(SECRET) not in shown
    own = [entry.getMessage() for entry in caplog.records if entry.name.startswith("aioc_opa")]
    assert len(own) == 2
    assert not any("/hooks" in line or "team=a" in line for line in own)


def test_arguments_go_out_when_configured_and_still_not_into_logs(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with Receiver(500, 404) as receiver, notifier(receiver.url, arguments=True) as webhook:
        assert wants_arguments(webhook)
        webhook.approval_requested(notice_of(record(), arguments=wants_arguments(webhook)))
        arrived = receiver.wait_for(2)
        assert webhook.close(20)
    assert json.loads(arrived[0].body)["data"]["argsCanonicalJson"] == ARGUMENTS
    assert CANARY not in caplog.text


def test_the_caller_never_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    with Receiver(hang) as receiver, notifier(receiver.url, capacity=2) as webhook:
        for number in range(5):
            webhook.approval_requested(notice(number))
        receiver.wait_for(1)
        assert webhook.counts == DeliveryCounts(dropped=3)
        assert not webhook.close(0)


@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.example.com/",
        "http://127.0.0.1.example.com/",
        "http://2130706433/",
        "http://127.1/",
        "http://10.0.0.1/",
        "http://[::2]/",
        "http://127.0.0.1@example.com/",
        "http://127.0.0.1\\@example.com/",
        "http://127.0.0.1#@example.com/",
        "https://user:word@example.com/",
        "https://example.com/a b",
        "https://example.com/\n",
        "https://example.com/#top",
        "https://exämple.com/",
        "https://example.com:0/",
        "https://example.com:65536/",
        "https://example.com:/",
        "https:///hooks",
        "ftp://example.com/",
        "file:///etc/passwd",
        "HTTP://127.0.0.1/",
        "",
    ],
)
def test_an_address_that_will_not_do_is_refused_without_an_echo(url: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        notifier(url)
    assert not url or url not in str(error.value)


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://hooks.example.com/T0/secret?x=y", "https://hooks.example.com"),
        ("https://hooks.example.com:8443", "https://hooks.example.com:8443"),
        ("http://localhost:8080/", "http://localhost:8080"),
        ("http://127.9.9.9?x", "http://127.9.9.9"),
        ("http://[::1]:8080/", "http://[::1]:8080"),
    ],
)
def test_an_address_that_will_do_is_shown_without_its_path(url: str, origin: str) -> None:
    assert webhook_request.check_url(url) == origin


@pytest.mark.parametrize(
    "settings",
    [
        {"attempts": 0},
        {"attempts": 101},
        {"timeout_seconds": 0},
        {"timeout_seconds": float("inf")},
        {"timeout_seconds": float("nan")},
        {"backoff_seconds": -1},
        {"backoff_seconds": 2, "max_backoff_seconds": 1},
        {"max_backoff_seconds": float("nan")},
        {"also_sign_with": [b"short"]},
        {"capacity": 0},
    ],
)
def test_settings_that_cannot_work_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        notifier("https://hooks.example.com/", **settings)


def test_a_secret_has_enough_bits() -> None:
    with pytest.raises(ConfigurationError):
        WebhookNotifier("https://hooks.example.com/", b"password")


@pytest.mark.parametrize(
    ("attempt", "retry_after", "least", "most"),
    [
        (1, None, 0.5, 1.0),
        (3, None, 2.0, 4.0),
        (100, None, 5.0, 10.0),
        (1, "7", 7.0, 7.0),
        (1, "9" * 40, 10.0, 10.0),
        (1, "Wed, 21 Oct 2026 07:28:00 GMT", 0.5, 1.0),
        (1, "-5", 0.5, 1.0),
        (1, "²", 0.5, 1.0),
        (1, "", 0.5, 1.0),
        (4, "1", 4.0, 8.0),
    ],
)
def test_the_backoff_doubles_up_to_its_cap_with_a_random_part_and_follows_retry_after(
    attempt: int, retry_after: str | None, least: float, most: float
) -> None:
    webhook = notifier("https://hooks.example.com/", backoff_seconds=1.0, max_backoff_seconds=10.0)
    pauses = {webhook._pause(attempt, retry_after) for _ in range(50)}
    assert least <= min(pauses) <= max(pauses) <= most
    assert least == most or len(pauses) > 1


def test_retry_after_of_the_answer_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str | None] = []
    with Receiver(lambda one: one.say(503, Retry_After="3")) as receiver, notifier(receiver.url) as webhook:
        monkeypatch.setattr(webhook, "_pause", lambda attempt, after: seen.append(after) or 0.0)
        webhook.approval_requested(notice())
        receiver.wait_for(2)
        assert webhook.close(20)
    assert seen == ["3"]
