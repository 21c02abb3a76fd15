"""Standard Webhooks 1.0.0, "Signature scheme" and "Verifying signatures", at the receiver."""

from __future__ import annotations

import base64
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioc_opa.approvals.webhook_signature import (
    WebhookVerificationError,
    secret_of_text,
    signature_header,
    verify_webhook,
)
from aioc_opa.errors import ConfigurationError

SECRET = bytes(range(32))
OLD = bytes(range(32, 64))
BODY = b'{"type":"tool.approval.requested"}'
SENT = 1_780_000_000


def headers(**changes: str | None) -> dict[str, str]:
    made = {
        "webhook-id": "apr_1_requested_pending",
        "webhook-timestamp": str(SENT),
        "webhook-signature": signature_header(
            [SECRET], webhook_id="apr_1_requested_pending", timestamp=SENT, body=BODY
        ),
    }
    for name, value in changes.items():
        made.pop(name.replace("_", "-"))
        if value is not None:
            made[name.replace("_", "-")] = value
    return made


def refused(given: dict[str, str], body: bytes = BODY, *, now: float = SENT) -> str:
    with pytest.raises(WebhookVerificationError) as error:
        verify_webhook(given, body, SECRET, now=now)
    return error.value.code


def test_the_signature_is_that_of_the_specification() -> None:
    # The vector of the reference libraries (their `secret`, `msgID`, `timestamp`, `payload` and `signature`).
    secret = secret_of_text("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    signature = signature_header(
        [secret], webhook_id="msg_p5jXN8AQM9LWM0D4loKWxJek", timestamp=1614265330, body=b'{"test": 2432232314}'
    )
    assert signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_a_right_one_is_believed_whatever_the_case_of_its_headers() -> None:
    verified = verify_webhook({name.title(): value for name, value in headers().items()}, BODY, SECRET, now=SENT + 5)
    assert (verified.webhook_id, verified.timestamp, verified.body) == ("apr_1_requested_pending", SENT, BODY)
    assert "tool.approval" not in repr(verified)


@pytest.mark.parametrize("name", ["webhook_id", "webhook_timestamp", "webhook_signature"])
def test_a_missing_header_is_refused(name: str) -> None:
    assert refused(headers(**{name: None})) == "header_missing"


@pytest.mark.parametrize(
    "changes",
    [
        {"webhook_id": "a.b"},
        {"webhook_id": ""},
        {"webhook_id": "x" * 257},
        {"webhook_id": "a\n"},
        {"webhook_timestamp": "1780000000.0"},
        {"webhook_timestamp": "-1"},
        {"webhook_timestamp": "١٢"},
        {"webhook_timestamp": "9" * 13},
        {"webhook_timestamp": " 1780000000"},
        {"webhook_signature": "v1,x " * 40},
    ],
)
def test_a_header_that_is_not_one_is_refused(changes: dict[str, str]) -> None:
    assert refused(headers(**changes)) == "header_malformed"


def test_a_header_that_comes_twice_is_refused() -> None:
    assert refused({**headers(), "Webhook-Id": "other"}) == "header_malformed"


@pytest.mark.parametrize(
    ("now", "code"),
    [
        (SENT + 300.5, "timestamp_too_old"),
        (SENT - 300.5, "timestamp_too_new"),
        (math.nan, "timestamp_too_old"),
        (math.inf, "timestamp_too_old"),
        (-math.inf, "timestamp_too_new"),
    ],
)
def test_replay_outside_the_tolerance_is_refused(now: float, code: str) -> None:
    assert refused(headers(), now=now) == code


def test_the_tolerance_itself_is_within() -> None:
    for now in (SENT + 300, SENT - 300):
        assert verify_webhook(headers(), BODY, SECRET, now=now).timestamp == SENT


def test_the_clock_is_the_systems_when_none_is_given() -> None:
    with pytest.raises(WebhookVerificationError, match="timestamp"):
        verify_webhook(headers(webhook_timestamp="1000"), BODY, SECRET)


@pytest.mark.parametrize(
    ("changes", "body"),
    [
        ({}, BODY + b" "),
        ({"webhook_id": "apr_2_requested_pending"}, BODY),
        ({"webhook_timestamp": str(SENT + 1)}, BODY),
        ({"webhook_timestamp": "0" + str(SENT)}, BODY),
        ({"webhook_signature": "v1," + base64.b64encode(bytes(32)).decode()}, BODY),
        ({"webhook_signature": ""}, BODY),
        ({"webhook_signature": "v1,é\ud800"}, BODY),
    ],
)
def test_anything_else_than_what_was_signed_is_refused(changes: dict[str, str], body: bytes) -> None:
    assert refused(headers(**changes), body) == "signature_mismatch"


def test_a_signature_of_another_scheme_does_not_count_as_v1() -> None:
    signature = headers()["webhook-signature"].removeprefix("v1,")
    for scheme in ("v1a,", "v0,", "", "V1,"):
        assert refused(headers(webhook_signature=scheme + signature)) == "signature_mismatch"


def test_a_secret_is_changed_without_a_gap_at_either_side() -> None:
    both = signature_header([SECRET, OLD], webhook_id="apr_1_requested_pending", timestamp=SENT, body=BODY)
    for known in (SECRET, OLD):
        assert verify_webhook(headers(webhook_signature=both), BODY, known, now=SENT).body == BODY
    assert verify_webhook(headers(), BODY, [OLD, SECRET], now=SENT).body == BODY
    with pytest.raises(WebhookVerificationError):
        verify_webhook(headers(), BODY, [OLD], now=SENT)


@pytest.mark.parametrize("secret", [b"", bytes(23), bytes(65), [], [SECRET, b"short"], [SECRET.hex()]])
def test_what_is_no_secret_verifies_nothing(secret: bytes | list[bytes]) -> None:
    with pytest.raises(ConfigurationError):
        verify_webhook(headers(), BODY, secret, now=SENT)


@pytest.mark.parametrize("text", ["MfKQ", "whsec_", "whsec_***", "whsec_MfKQ", "whsk_" + "A" * 44, "whsec_é"])
def test_a_text_that_is_no_secret_is_refused_without_an_echo(text: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        secret_of_text(text)
    assert "MfKQ" not in str(error.value)


@given(st.dictionaries(st.sampled_from([*headers(), "WEBHOOK-ID", "x"]), st.text(max_size=40)), st.binary(max_size=40))
def test_whatever_comes_in_without_the_secret_is_refused_with_a_code(given: dict[str, str], body: bytes) -> None:
    assert refused(given, body) in {"header_missing", "header_malformed", "timestamp_too_old", "signature_mismatch"}
