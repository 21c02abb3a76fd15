"""Arguments of judged calls, kept apart from the events: by choice, encrypted, or as commitments to named fields.

An audit log holds no values, so that it can be kept long and read by many. A decision can only be replayed where its
arguments were kept; what was kept is bound to its event by a digest, and can be erased without touching the log.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from aioc_opa.audit.arguments_table import COMPONENT, ERASE, INSERT, MIGRATIONS, SELECT
from aioc_opa.core.audit.commitments import NONCE_BYTES, field_commitment
from aioc_opa.core.audit.proposal_ref import MIN_KEY_BYTES
from aioc_opa.core.canonical_json import canonical_text
from aioc_opa.core.strict_json import decode_object
from aioc_opa.errors import ApprovalStoreError, AuditUnavailableError, ConfigurationError
from aioc_opa.storage.database import Database

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from aioc_opa.approvals.payload_cipher import PayloadCipher
    from aioc_opa.core.json_value import JsonObject, JsonValue

Replayable = Literal["replayable", "commitments_only", "not_kept", "not_what_was_recorded", "key_missing"]
"""``replayable``: here are the arguments. All others: this decision cannot be replayed, and why."""


@dataclass(frozen=True, slots=True)
class KeptArguments:
    """What there is of one call's arguments.

    Attributes:
        status: whether the decision can be replayed.
        args_canonical_json: RFC 8785 text of the parsed arguments, where it can.
        fields: that there are commitments to.
    """

    status: Replayable
    args_canonical_json: str | None = None
    fields: tuple[str, ...] = ()


class ArgumentVault:
    """Keeps arguments in a database of its own: give it another one than the log's, and other readers.

    Args:
        target: path of a SQLite file, ``sqlite:///…`` or ``postgresql://…``.
        cipher: encrypts whole arguments, with keys from outside the database; or
        commitment_keys: at least 32 random bytes by tenant (``""``: none): commitments to `fields` instead, and
        fields: by tool, the names of the arguments that policy decides on.

    Raises:
        ConfigurationError: neither or both are given, or a key is too short.
        AuditUnavailableError: the database cannot be used.
    """

    def __init__(
        self,
        target: str | Path,
        *,
        cipher: PayloadCipher | None = None,
        commitment_keys: Mapping[str, bytes] | None = None,
        fields: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        if (cipher is None) == (commitment_keys is None) or (commitment_keys is None) != (fields is None):
            raise ConfigurationError("give a cipher, or commitment_keys with fields")
        for key in (commitment_keys or {}).values():
            if type(key) is not bytes or len(key) < MIN_KEY_BYTES:
                raise ConfigurationError(f"commitment_keys: at least {MIN_KEY_BYTES} bytes for each tenant")
        self._cipher: Final = cipher
        self._keys: Final = dict(commitment_keys or {})
        self._fields: Final = {tool: tuple(names) for tool, names in (fields or {}).items()}
        try:
            self._database: Final = Database.open(target)
            self._database.migrate(COMPONENT, MIGRATIONS)
        except ApprovalStoreError as error:
            raise AuditUnavailableError(str(error)) from None

    def keep(self, *, tenant: str | None, request_id: str, tool_name: str, args_canonical_json: str) -> str | None:
        """Keep a call's arguments; durable on return.

        Args:
            tenant: of the principal.
            request_id: of the question, which its events have too.
            tool_name: the registered name.
            args_canonical_json: RFC 8785 text of the parsed arguments.

        Returns:
            The event's `arguments_digest`; None when nothing of this tool's is kept.

        Raises:
            AuditUnavailableError: it is not known to be kept.
        """
        text = self._text(tenant or "", request_id, tool_name, args_canonical_json)
        if text is None:
            return None
        row = {"tenant": tenant or "", "request_id": request_id, "at_ms": _now_ms(), "kept": text}
        self._execute(INSERT, row)
        return hashlib.sha256(text.encode()).hexdigest()

    def find(self, *, tenant: str | None, request_id: str, digest: str | None) -> KeptArguments:
        """What there is of a call's arguments.

        Args:
            tenant: of the event.
            request_id: of the event.
            digest: the event's `arguments_digest`: what was kept must be that.

        Raises:
            AuditUnavailableError: the database cannot be used.
        """
        text = self._kept(tenant or "", request_id)
        if text is None or digest is None:
            return KeptArguments("not_kept")
        if not hmac.compare_digest(hashlib.sha256(text.encode()).hexdigest(), digest):
            return KeptArguments("not_what_was_recorded")
        if text.startswith("{"):
            fields = tuple(str(name) for name in decode_object(text))
            return KeptArguments("commitments_only", fields=fields)
        if self._cipher is None:
            return KeptArguments("key_missing")
        try:
            return KeptArguments("replayable", self._cipher.open(text, place=_place(tenant or "", request_id)))
        except ApprovalStoreError:
            return KeptArguments("key_missing")

    def matches(
        self, *, tenant: str | None, request_id: str, digest: str | None, field: str, value: JsonValue
    ) -> bool | None:
        """Whether a field had this value, by its commitment.

        Args:
            tenant: of the event.
            request_id: of the event.
            digest: the event's `arguments_digest`: a commitment says nothing of whose it is, so one can be moved here.
            field: name of the argument.
            value: to compare with.

        Returns:
            None where there is no commitment, no key, or what was kept is not what was recorded.

        Raises:
            AuditUnavailableError: the database cannot be used.
        """
        text, key = self._kept(tenant or "", request_id), self._keys.get(tenant or "")
        if text is None or digest is None or key is None or not text.startswith("{"):
            return None
        if not hmac.compare_digest(hashlib.sha256(text.encode()).hexdigest(), digest):
            return None
        found: Any = decode_object(text).get(field)
        if not isinstance(found, dict):
            return None
        nonce = bytes.fromhex(found["nonce"])
        return hmac.compare_digest(field_commitment(key, nonce, field, value), found["commitment"])

    def erase(self, *, older_than_seconds: float) -> int:
        """Erase what was kept longer ago; the log stays as it is, and those decisions cannot be replayed any more.

        Returns:
            How many calls' arguments went.

        Raises:
            AuditUnavailableError: the database cannot be used.
        """
        count = self._execute(ERASE, {"before": _now_ms() - int(older_than_seconds * 1000)})
        try:
            self._database.forget_erased()
        except ApprovalStoreError as error:
            raise AuditUnavailableError(str(error)) from None
        return count

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()

    def _text(self, tenant: str, request_id: str, tool_name: str, args_canonical_json: str) -> str | None:
        if self._cipher is not None:
            return self._cipher.seal(args_canonical_json, place=_place(tenant, request_id))
        key, names = self._keys.get(tenant), self._fields.get(tool_name, ())
        if key is None or not names:
            return None
        arguments = decode_object(args_canonical_json)
        commitments: JsonObject = {}
        for name in names:
            if name in arguments:
                nonce = os.urandom(NONCE_BYTES)
                made = field_commitment(key, nonce, name, arguments[name])
                commitments[name] = {"nonce": nonce.hex(), "commitment": made}
        return canonical_text(commitments)

    def _kept(self, tenant: str, request_id: str) -> str | None:
        from sqlalchemy import text  # noqa: PLC0415 - an optional dependency

        try:
            with self._database.begin(read_only=True) as connection:
                given = {"tenant": tenant, "request_id": request_id}
                found = connection.execute(text(SELECT), given).scalar_one_or_none()
        except ApprovalStoreError as error:
            raise AuditUnavailableError(str(error)) from None
        return None if found is None else str(found)

    def _execute(self, statement: str, given: dict[str, object]) -> int:
        from sqlalchemy import text  # noqa: PLC0415 - an optional dependency

        try:
            with self._database.begin() as connection:
                return int(connection.execute(text(statement), given).rowcount)
        except ApprovalStoreError as error:
            raise AuditUnavailableError(str(error)) from None


def _place(tenant: str, request_id: str) -> str:
    return canonical_text(["audit-arguments", tenant, request_id])


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
