"""The webhook against a real receiver that refuses, hangs, drips, redirects and changes its mind."""

from __future__ import annotations

import socket
import ssl
import threading
from typing import TYPE_CHECKING, Any

import pytest
import trustme

from aioc_opa.approvals import webhook_request
from aioc_opa.approvals.dispatcher import DeliveryCounts
from aioc_opa.approvals.notifications import notice_of
from aioc_opa.approvals.webhook_signature import verify_webhook
from aioc_opa.core.approvals.states import ApprovalState
from aioc_opa.models.approval_notice import ApprovalNoticeMessage
from tests.approvals.notices import notice, record
from tests.approvals.receiver import Receiver, cut, drip, hang
from tests.approvals.webhook_cases import SECRET, notifier

if TYPE_CHECKING:
    from pathlib import Path


OLD = bytes(range(32))


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
