"""Who may have written a file that approvals trust: this user or root, and nobody else.

Mounted secrets and configuration stay usable: they are root's, reached through root's symbolic links, in a folder that
is sticky (a Secret of Kubernetes) or open to everybody on a mount that nobody can write (a ConfigMap).
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Final

from aioc_opa.errors import InputFileError

if TYPE_CHECKING:
    from pathlib import Path

_ROOT: Final = 0
_OF_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_WRITABLE: Final = stat.S_IWGRP | stat.S_IWOTH


def require_rights(path: Path, found: os.stat_result, *, private: bool) -> None:
    """Refuse what another user may have written or, for a private file, read.

    Args:
        path: as the file was named.
        found: of the open file.
        private: whether the file must be this user's own, with no right for anybody else.

    Raises:
        InputFileError: others may; says what to do about it.
        OSError: a folder cannot be looked at.
    """
    if not stat.S_ISREG(found.st_mode):
        raise InputFileError(f"{path}: not a regular file")
    if private and found.st_uid != os.geteuid():
        raise InputFileError(f"{path}: belongs to another user; a private key must be a file of your own")
    if private and found.st_mode & _OF_OTHERS:
        raise InputFileError(f"{path}: others have rights to this private key: chmod 600 {path}")
    _require_owner(path, found)
    if found.st_mode & _WRITABLE:
        raise InputFileError(f"{path}: others may write it, so it proves nothing: chmod go-w {path}")
    if path.is_symlink():
        _require_owner(path, path.lstat())
    for folder in dict.fromkeys((path.parent.resolve(), path.resolve().parent)):
        _require_folder(path, folder)


def _require_owner(path: Path, found: os.stat_result) -> None:
    if found.st_uid not in {_ROOT, os.geteuid()}:
        raise InputFileError(f"{path}: belongs to another user, so it proves nothing: chown it to yourself or to root")


def _require_folder(path: Path, folder: Path) -> None:
    """In a sticky folder nobody but its owner replaces the files of others, so it may be open to everybody."""
    found = folder.stat()
    if os.statvfs(folder).f_flag & os.ST_RDONLY:
        return
    if found.st_uid not in {_ROOT, os.geteuid()}:
        raise InputFileError(f"{path}: its folder belongs to another user, who can replace it: chown {folder}")
    if found.st_mode & _WRITABLE and not found.st_mode & stat.S_ISVTX:
        raise InputFileError(f"{path}: others may write its folder, and so replace it: chmod go-w {folder}")
