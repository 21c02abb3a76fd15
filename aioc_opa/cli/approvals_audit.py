"""The audit log of what a person does with `approvals` commands: a writer of its own in a log that guards write too."""

from __future__ import annotations

import base64
import binascii
import hashlib
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from pydantic import Field

from aioc_opa.cli.terminal import warn
from aioc_opa.errors import InputFileError
from aioc_opa.models.wire import WireModel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aioc_opa.audit.sink import AuditSink
    from aioc_opa.audit.trail import AuditTrail

AuditOption = Annotated[
    str | None,
    typer.Option(
        "--audit",
        envvar="AIOC_OPA_APPROVALS_AUDIT",
        metavar="LOG",
        help="Audit log that gets a record of this: a folder, SQLite file or postgresql://…; nothing is done without.",
    ),
]
AuditKeyOption = Annotated[
    Path | None,
    typer.Option(
        "--audit-key",
        envvar="AIOC_OPA_APPROVALS_AUDIT_KEY",
        metavar="F",
        help="Key that signs these records (mode 600), made by `audit keygen`.",
    ),
]
AuditTenantKeysOption = Annotated[
    Path | None,
    typer.Option(
        "--audit-tenant-keys",
        envvar="AIOC_OPA_APPROVALS_AUDIT_TENANT_KEYS",
        metavar="F",
        help='Tenants\' keys (mode 600) for proposalRef: {"tenantKeys": {"acme": "base64"}}.',
    ),
]
AuditWriterOption = Annotated[
    str | None,
    typer.Option(
        "--audit-writer",
        envvar="AIOC_OPA_APPROVALS_AUDIT_WRITER",
        metavar="NAME",
        help="Name of this writer; else cli- and a digest of the person's id.",
    ),
]

_NONE: Final = "no audit record is made of this: give --audit LOG and --audit-key F"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditOptions:
    """What a command was told about the audit log."""

    target: str | None
    key: Path | None
    tenant_keys: Path | None = None
    writer: str | None = None

    def __post_init__(self) -> None:
        if (self.target is None) != (self.key is None):
            raise typer.BadParameter("--audit and --audit-key belong together: the log, and the key that signs it")

    @contextmanager
    def opened(self, person_id: str) -> Iterator[AuditTrail | None]:
        """A ``required`` trail for what this person does, closed and signed afterwards; None when no log is named.

        Raises:
            InputFileError: there is no such log, or a file of keys is refused.
            AuditLogError: the log cannot be gone on with: another process writes it under this name, say.
        """
        if self.target is None or self.key is None:
            warn(_NONE)
            yield None
            return
        from aioc_opa.audit.keys import AuditKey  # noqa: PLC0415 - an optional dependency
        from aioc_opa.audit.trail import AuditTrail  # noqa: PLC0415 - likewise

        key = AuditKey.load(self.key)
        tenant_keys = {} if self.tenant_keys is None else read_tenant_keys(self.tenant_keys)
        trail = AuditTrail(
            _sink(self.target), writer=self.writer or writer_of(person_id), key=key, tenant_keys=tenant_keys
        )
        try:
            yield trail
        finally:
            closed = trail.close()
            if not closed or trail.counts.dropped or trail.counts.failures:
                warn("the audit log may lack a record of this, or the signature over it; see `aioc-opa audit verify`")


def writer_of(person_id: str) -> str:
    """The writer's name for a person: nobody else has it, and it says nothing to who does not know the id."""
    return f"cli-{hashlib.sha256(person_id.encode()).hexdigest()[:16]}"


def _sink(target: str) -> AuditSink:
    from aioc_opa.audit.json_lines import JsonLinesSink  # noqa: PLC0415 - an optional dependency
    from aioc_opa.audit.sql import SqlSink  # noqa: PLC0415 - likewise

    path = Path(target.removeprefix("sqlite:///"))
    if "://" not in target and path.is_dir():
        return JsonLinesSink(path)
    if not target.startswith("postgres") and not path.is_file():
        # A misspelt name must not begin a log that nobody reads.
        raise InputFileError(
            f"--audit {path}: there is no such folder or file; make the folder, or name the guards' log"
        )
    return SqlSink(target)


class _TenantKeys(WireModel):
    tenant_keys: dict[str, str] = Field(min_length=1)


def read_tenant_keys(path: Path) -> dict[str, bytes]:
    """The keys in a file ``{"tenantKeys": {TENANT: base64}}``, mode 600; ``""`` stands for no tenant.

    Raises:
        InputFileError: it cannot be read, others have rights to it, or it is something else; no value is shown.
    """
    from aioc_opa.approvals.documents import read_document  # noqa: PLC0415 - with the rest of the approvals

    keys = {}
    for tenant, text in read_document(path, _TenantKeys, private=True).tenant_keys.items():
        try:
            keys[tenant] = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            raise InputFileError(f"{path}: $.tenantKeys.{tenant}: must be base64") from None
    return keys
