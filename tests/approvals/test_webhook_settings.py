"""What a webhook tells and never tells, how it is set up, and how often it tries again."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from aioc_opa.approvals import webhook_request
from aioc_opa.approvals.dispatcher import DeliveryCounts
from aioc_opa.approvals.notifications import notice_of, wants_arguments
from aioc_opa.approvals.webhook import WebhookNotifier
from aioc_opa.errors import ConfigurationError
from tests.approvals.notices import ARGUMENTS, CANARY, notice, record
from tests.approvals.receiver import Receiver, hang
from tests.approvals.webhook_cases import SECRET, notifier


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
