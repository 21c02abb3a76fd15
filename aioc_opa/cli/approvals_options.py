"""What the `approvals` commands are told: the store, the keys and the people."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, NoReturn

import typer
from pydantic import Field

from aioc_opa.cli.exit_status import ExitStatus
from aioc_opa.cli.terminal import shown, warn
from aioc_opa.errors import ApprovalNotFoundError, ConfigurationError, InputFileError, VoteRefusedError
from aioc_opa.models.wire import WireModel

if TYPE_CHECKING:
    from aioc_opa.approvals.payload_cipher import PayloadCipher
    from aioc_opa.approvals.store import ApprovalStore

IdArgument = Annotated[str, typer.Argument(metavar="ID", help="The approval: apr_ and 32 hexadecimal digits.")]
StoreOption = Annotated[
    str,
    typer.Option(
        "--store",
        envvar="AIOC_OPA_APPROVALS_STORE",
        metavar="PATH|URL",
        help="SQLite file, or postgresql://…; a URL with a password is better given by the variable.",
    ),
]
KEYS: Final = typer.Option(
    "--keys", envvar="AIOC_OPA_APPROVALS_KEYS", metavar="F", help="Public keys whose votes count."
)
PEOPLE: Final = typer.Option(
    "--people", envvar="AIOC_OPA_APPROVALS_PEOPLE", metavar="F", help="Who is who, with roles."
)
SIGNING_KEY: Final = typer.Option(
    "--signing-key",
    envvar="AIOC_OPA_APPROVALS_SIGNING_KEY",
    metavar="F",
    help="Your own key file (mode 600). It says who you are: there is no option for a name.",
)
KeysOption = Annotated[Path, KEYS]
PeopleOption = Annotated[Path, PEOPLE]
SigningKeyOption = Annotated[Path, SIGNING_KEY]
PayloadKeyOption = Annotated[
    Path | None,
    typer.Option(
        "--payload-key",
        envvar="AIOC_OPA_APPROVALS_PAYLOAD_KEY",
        metavar="F",
        help="Keys of encrypted arguments (mode 600), where the store has such.",
    ),
]
TenantOption = Annotated[
    str,
    typer.Option(
        "--tenant",
        envvar="AIOC_OPA_APPROVALS_TENANT",
        metavar="T",
        help="Tenant of the call; without: calls that have none.",
        show_default=False,
    ),
]
AnyTenantOption = Annotated[
    str | None,
    typer.Option(
        "--tenant",
        envvar="AIOC_OPA_APPROVALS_TENANT",
        metavar="T",
        help="Only this tenant's, '' for none; without: all.",
    ),
]
ReasonOption = Annotated[
    str, typer.Option("--reason", metavar="TEXT", help="Why, in your words. It is recorded and signed with a vote.")
]

NOT_FOUND: Final = (
    "no such approval here: see `aioc-opa approvals list`, and give --tenant if the call has one (without it only "
    "calls without a tenant are looked at)"
)
"""The same words whether there is none, or it is another tenant's."""

_PRIVATE_KEY_BYTES: Final = 32


def refused(error: VoteRefusedError) -> NoReturn:
    """Say that nothing was changed, and leave with status 1."""
    warn(f"nothing was changed: {shown(error)}")
    raise typer.Exit(int(ExitStatus.DIFFERENT)) from None


@contextmanager
def opened_store(target: str, payload_key: Path | None) -> Iterator[ApprovalStore]:
    """The store that `target` names, closed afterwards. The target is never shown: it can hold a password.

    Raises:
        InputFileError: there is no such file.
        ApprovalStoreError: it cannot be used, or there is no store in it.
        ApprovalNotFoundError: raised inside; says what to look at.
    """
    from aioc_opa.approvals.stores import MEMORY, open_store  # noqa: PLC0415 - an optional dependency

    if target == MEMORY:
        raise typer.BadParameter("--store memory: ends with its process, so there is nothing in it to look at")
    path = target.removeprefix("sqlite:///")
    if "://" not in path and not Path(path).exists():
        # Looking at a store must not make one: a misspelt path would look like one where nothing waits.
        raise InputFileError(f"--store {path}: there is no such file; a guard makes it when it is first used")
    # Nor may it change the tables of one: that is for the guards, which are deployed together.
    store = open_store(target, cipher=None if payload_key is None else read_payload_keys(payload_key), make=False)
    try:
        yield store
    except ApprovalNotFoundError:
        raise ApprovalNotFoundError(NOT_FOUND) from None
    finally:
        store.close()


class _PayloadKeys(WireModel):
    active: str
    keys: dict[str, str] = Field(min_length=1)


def read_payload_keys(path: Path) -> PayloadCipher:
    """The cipher of the keys in a file: ``{"active": ID, "keys": {ID: base64 of 32 bytes}}``, mode 600.

    Raises:
        InputFileError: it cannot be read, others have rights to it, or it is something else; no value is shown.
    """
    from aioc_opa.approvals.documents import read_document  # noqa: PLC0415 - with the rest of the approvals
    from aioc_opa.approvals.ed25519 import from_base64  # noqa: PLC0415 - an optional dependency
    from aioc_opa.approvals.payload_cipher import PayloadCipher  # noqa: PLC0415 - an optional dependency

    found = read_document(path, _PayloadKeys, private=True)
    keys = {}
    for key_id, text in found.keys.items():
        key = from_base64(text, _PRIVATE_KEY_BYTES)
        if key is None:
            raise InputFileError(f"{path}: $.keys.{key_id}: must be the base64 of {_PRIVATE_KEY_BYTES} bytes")
        keys[key_id] = key
    try:
        return PayloadCipher(keys, found.active)
    except ConfigurationError as error:
        raise InputFileError(f"{path}: {error}") from None
