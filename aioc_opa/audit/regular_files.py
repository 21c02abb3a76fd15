"""Opening files of a log folder, where somebody else may have put anything: a pipe without end, a link, a device."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, BinaryIO, Final

if TYPE_CHECKING:
    from pathlib import Path

_MODE: Final = 0o600
_FLAGS: Final = os.O_CLOEXEC | os.O_NONBLOCK


class NotARegularFileError(OSError):
    """A pipe, a device, a socket, a folder or a symbolic link stands where a file should."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path}: is no regular file")
        self.strerror = "is no regular file"


def open_regular(path: Path, *, follow: bool = False) -> BinaryIO:
    """Open a file for reading, and never wait.

    Args:
        path: of the file.
        follow: a link may lead to it: for paths that a person gives, and not for what is found in a folder.

    Raises:
        NotARegularFileError: it is none.
        OSError: it cannot be opened.
    """
    return open(descriptor_of(path, os.O_RDONLY, follow=follow), "rb")


def descriptor_of(path: Path, flags: int, *, follow: bool = False) -> int:
    """Open a file as `os.open` does, for its owner alone where it is new; else as `open_regular`."""
    try:
        descriptor = os.open(path, flags | _FLAGS | (0 if follow else os.O_NOFOLLOW), _MODE)
    except OSError:
        if _is_something_else(path):
            raise NotARegularFileError(path) from None
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise NotARegularFileError(path)
    return descriptor


def _is_something_else(path: Path) -> bool:
    """Of what cannot be opened: a link is refused by its flag, a pipe to write to by having no reader."""
    try:
        return not stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False
