"""Options that the bundle commands share, and files that they write."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from aioc_opa.engines.local_opa_signature import BundleVerification
from aioc_opa.errors import EngineConfigurationError, InputFileError

OpaBinaryOption = Annotated[
    Path | None,
    typer.Option("--opa-binary", metavar="F", help="Absolute path of the `opa` to use; else AIOC_OPA_BIN, or PATH."),
]
OutOption = Annotated[Path, typer.Option("--out", "-o", metavar="BUNDLE", help="The .tar.gz to write.")]
PublicKeyOption = Annotated[
    Path | None, typer.Option("--public-key", metavar="PEM", help="The public key that must have signed it.")
]
AlgorithmOption = Annotated[str, typer.Option("--algorithm", metavar="ALG", help="Of the signature: RS256, ES256, ….")]
ScopeOption = Annotated[
    str | None, typer.Option("--scope", metavar="WORD", help="The scope that the signature has, if OPA asks for one.")
]

DEFAULT_ALGORITHM: Final = "RS256"
_MODE: Final = 0o644


class Form(StrEnum):
    """What `--format` takes."""

    TABLE = "table"
    JSON = "json"
    MARKDOWN = "markdown"


FormOption = Annotated[Form, typer.Option("--format", help="For a terminal, for programs, or for a page.")]


def verification(public_key: Path | None, algorithm: str, scope: str | None) -> BundleVerification | None:
    """What the signature must satisfy; None without a key.

    Raises:
        typer.BadParameter: wrong usage.
        InputFileError: there is no such key file.
    """
    if public_key is None:
        if scope is not None:
            raise typer.BadParameter("--scope says what the signature has: give --public-key, too")
        return None
    if not public_key.is_file():
        raise InputFileError(f"{public_key}: no such file with a public key")
    try:
        return BundleVerification(public_key_file=public_key, algorithm=algorithm, scope=scope)
    except EngineConfigurationError as error:
        raise typer.BadParameter(str(error)) from None


def write_whole(target: Path, content: bytes) -> None:
    """Write `content` to `target`, which has it whole or as it was before: a server may be reading it.

    Raises:
        InputFileError: it cannot be written.
    """
    draft = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _MODE)
        try:
            with open(descriptor, "wb") as file:  # noqa: PTH123 - Path.open cannot take a descriptor
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(target)
        finally:
            with suppress(OSError):
                draft.unlink()
    except (OSError, ValueError) as error:  # ValueError: a null character in the path
        reason = error.strerror if isinstance(error, OSError) else None
        raise InputFileError(f"{target}: cannot be written: {reason or type(error).__name__}") from None
