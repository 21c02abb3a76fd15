"""Hashes of arguments can be guessed; what leaves the process cannot."""

from __future__ import annotations

import hashlib
import hmac
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from aioc_opa.approvals.payload_cipher import PayloadCipher
from aioc_opa.audit.arguments import ArgumentVault
from aioc_opa.audit.json_lines import JsonLinesSink
from aioc_opa.audit.trail import AuditTrail
from aioc_opa.core.audit.commitments import field_commitment
from aioc_opa.core.audit.proposal_ref import proposal_ref
from aioc_opa.core.fingerprint import tool_proposal_hash
from aioc_opa.errors import AuditUnavailableError, ConfigurationError
from tests.audit.logs import KEY, event, files_of

if TYPE_CHECKING:
    from pathlib import Path

TENANT_KEY = bytes(range(100, 132))
SECRET_PIN = "4711"


def hash_of(pin: str) -> str:
    return tool_proposal_hash(agent_name="agent", tool_name="unlock", args_canonical_json=f'{{"pin":"{pin}"}}')


def every_pin() -> list[str]:
    return [f"{number:04d}" for number in range(10_000)]


def test_ten_thousand_pins_match_nothing_without_the_key_and_one_with_it(tmp_path: Path) -> None:
    keys = {"acme": TENANT_KEY, "": bytes(32)}
    with AuditTrail(JsonLinesSink(tmp_path / "log"), writer="one", key=KEY, tenant_keys=keys) as trail:
        ref = trail.proposal_ref("acme", hash_of(SECRET_PIN))
        assert trail.proposal_ref("other", hash_of(SECRET_PIN)) is None
        assert trail.proposal_ref(None, hash_of(SECRET_PIN)) not in {None, ref}
        trail.record_intent(event(proposal_ref=ref, reasons=()))
    assert ref is not None
    log = b"".join(files_of(tmp_path / "log").values()).decode()
    assert ref in log
    # What somebody can try who has the log and knows all but the PIN: the hash, and its digests under keys that are
    # no secret.
    public = [KEY.public_key, b"", b"acme", bytes(32), b"aioc-opa/proposal-ref/1\n"]
    matched = []
    for pin in every_pin():
        guess = hash_of(pin)
        tried = [guess, hashlib.sha256(guess.encode()).hexdigest(), hashlib.sha256(bytes.fromhex(guess)).hexdigest()]
        tried += [hmac.new(key, guess.encode(), hashlib.sha256).hexdigest() for key in public]
        tried.append(proposal_ref(bytes(32), guess))
        matched += [pin for attempt in tried if attempt in log]
    assert matched == []
    assert [pin for pin in every_pin() if proposal_ref(TENANT_KEY, hash_of(pin)) == ref] == [SECRET_PIN]


def test_a_key_that_is_too_short_makes_no_reference() -> None:
    with pytest.raises(ValueError, match="at least 32"):
        proposal_ref(b"short", "0" * 64)


def test_encrypted_arguments_replay_and_nothing_of_them_is_readable(tmp_path: Path) -> None:
    vault = ArgumentVault(str(tmp_path / "kept.db"), cipher=PayloadCipher({"k": bytes(32)}, "k"))
    digest = vault.keep(tenant="acme", request_id="r1", tool_name="unlock", args_canonical_json='{"pin":"4711"}')
    found = vault.find(tenant="acme", request_id="r1", digest=digest)
    assert (found.status, found.args_canonical_json) == ("replayable", '{"pin":"4711"}')
    assert vault.find(tenant="acme", request_id="r1", digest="0" * 64).status == "not_what_was_recorded"
    assert vault.find(tenant="acme", request_id="r2", digest=digest).status == "not_kept"
    assert vault.find(tenant="acme", request_id="r1", digest=None).status == "not_kept"
    assert vault.matches(tenant="acme", request_id="r1", digest=digest, field="pin", value="4711") is None
    with pytest.raises(AuditUnavailableError):
        vault.keep(tenant="acme", request_id="r1", tool_name="unlock", args_canonical_json="{}")
    vault.close()
    other = ArgumentVault(str(tmp_path / "kept.db"), cipher=PayloadCipher({"k": bytes(31) + b"x"}, "k"))
    assert other.find(tenant="acme", request_id="r1", digest=digest).status == "key_missing"
    assert other.erase(older_than_seconds=-10) == 1
    assert other.find(tenant="acme", request_id="r1", digest=digest).status == "not_kept"
    other.close()
    assert not any(b"4711" in content for content in files_of(tmp_path).values())


def test_commitments_compare_cannot_be_guessed_and_say_that_they_do_not_replay(tmp_path: Path) -> None:
    vault = ArgumentVault(
        str(tmp_path / "kept.db"), commitment_keys={"acme": TENANT_KEY}, fields={"unlock": ["pin", "absent"]}
    )
    arguments = '{"door":"7","pin":"4711"}'
    digest = vault.keep(tenant="acme", request_id="r1", tool_name="unlock", args_canonical_json=arguments)
    vault.keep(tenant="acme", request_id="r2", tool_name="unlock", args_canonical_json=arguments)
    assert vault.keep(tenant="acme", request_id="r3", tool_name="other", args_canonical_json=arguments) is None
    assert vault.keep(tenant="x", request_id="r4", tool_name="unlock", args_canonical_json=arguments) is None
    found = vault.find(tenant="acme", request_id="r1", digest=digest)
    assert (found.status, found.fields, found.args_canonical_json) == ("commitments_only", ("pin",), None)
    assert vault.matches(tenant="acme", request_id="r1", digest=digest, field="pin", value="4711") is True
    assert vault.matches(tenant="acme", request_id="r1", digest=digest, field="pin", value="4712") is False
    assert vault.matches(tenant="acme", request_id="r1", digest=digest, field="door", value="7") is None
    assert vault.matches(tenant="acme", request_id="r1", digest=None, field="pin", value="4711") is None
    assert vault.matches(tenant="acme", request_id="r9", digest=digest, field="pin", value="4711") is None
    vault.close()
    kept = b"".join(content for name, content in files_of(tmp_path).items()).decode(errors="replace")
    assert "4711" not in kept
    nonces = [bytes.fromhex(kept.split('"nonce":"')[number][:64]) for number in (1, 2)]
    assert nonces[0] != nonces[1]
    guesses = (field_commitment(key, nonces[0], "pin", pin) for pin in every_pin() for key in (b"", KEY.public_key))
    assert not any(guess in kept for guess in guesses)
    reader = ArgumentVault(str(tmp_path / "kept.db"), cipher=PayloadCipher({"k": bytes(32)}, "k"))
    assert reader.find(tenant="acme", request_id="r1", digest=digest).status == "commitments_only"
    reader.close()


def test_what_was_kept_of_one_call_says_nothing_of_another(tmp_path: Path) -> None:
    path = tmp_path / "kept.db"
    vault = ArgumentVault(str(path), commitment_keys={"acme": TENANT_KEY}, fields={"unlock": ["pin"]})
    digests = [
        vault.keep(tenant="acme", request_id=name, tool_name="unlock", args_canonical_json=f'{{"pin":"{pin}"}}')
        for name, pin in (("r1", "4711"), ("r2", "1234"))
    ]
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(
            "UPDATE aioc_audit_arguments SET kept = (SELECT kept FROM aioc_audit_arguments WHERE request_id = 'r1') "
            "WHERE request_id = 'r2'"
        )
        connection.commit()
    assert vault.matches(tenant="acme", request_id="r1", digest=digests[0], field="pin", value="4711") is True
    for pin in ("4711", "1234"):
        assert vault.matches(tenant="acme", request_id="r2", digest=digests[1], field="pin", value=pin) is None
    vault.close()


def test_encrypted_arguments_need_their_key(tmp_path: Path) -> None:
    vault = ArgumentVault(str(tmp_path / "kept.db"), cipher=PayloadCipher({"k": bytes(32)}, "k"))
    digest = vault.keep(tenant=None, request_id="r1", tool_name="unlock", args_canonical_json="{}")
    vault.close()
    keyless = ArgumentVault(str(tmp_path / "kept.db"), commitment_keys={}, fields={})
    assert keyless.find(tenant=None, request_id="r1", digest=digest).status == "key_missing"
    keyless.close()
    for call in (
        lambda: keyless.find(tenant=None, request_id="r1", digest=digest),
        lambda: keyless.erase(older_than_seconds=1),
    ):
        with pytest.raises(AuditUnavailableError):
            call()


def test_a_vault_that_cannot_work_is_refused(tmp_path: Path) -> None:
    path = str(tmp_path / "kept.db")
    with pytest.raises(ConfigurationError):
        ArgumentVault(path)
    with pytest.raises(ConfigurationError):
        ArgumentVault(path, commitment_keys={"": b"short"}, fields={})
    with pytest.raises(AuditUnavailableError):
        ArgumentVault("mysql://x", commitment_keys={}, fields={})
