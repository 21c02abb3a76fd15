"""Files that have their name only when they are whole and on disk."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from typing import TYPE_CHECKING

from aioc_opa.errors import InputFileError

if TYPE_CHECKING:
    from pathlib import Path


def write_new_file(path: Path, content: bytes, *, mode: int) -> None:
    """Write a file that is not there yet; two writers cannot both win.

    Raises:
        InputFileError: there is one already, or it cannot be written.
    """
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, mode)
        try:
            with open(descriptor, "wb") as file:  # noqa: PTH123 - Path.open cannot take a descriptor
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            path.hardlink_to(draft)
        finally:
            with suppress(OSError):
                draft.unlink()
        sync_folder(path.parent)
    except FileExistsError:
        raise InputFileError(f"{path}: is there already, and is never written over") from None
    except (OSError, ValueError) as error:  # ValueError: a null character in the path
        reason = error.strerror if isinstance(error, OSError) else None
        raise InputFileError(f"{path}: cannot be written: {reason or type(error).__name__}") from None


def sync_folder(folder: Path) -> None:
    """Make the names in `folder` durable.

    Raises:
        OSError: that fails.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
