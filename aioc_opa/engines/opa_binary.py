"""Which `opa` to run: found, checked for its version and for who could have replaced it, and named by its digest.

The guarantees, in the order in which they are checked:

1. the path is absolute, with symbolic links resolved: nothing is looked up again when it is started;
2. it is a regular, executable file that only root and the user that we run as can write, and so are the folders
   above it (in a sticky one, such as /tmp, others may write, but not rename what is ours; a group may write if it
   has no other members);
3. it belongs to root or to that user, and so do the folders;
4. it says that it is OPA, of at least `MINIMUM_OPA_VERSION`;
5. its SHA-256 goes into the audit (design 4), taken after 1 to 3 and before it is started.
"""

from __future__ import annotations

import grp
import hashlib
import os
import pwd
import re
import shutil
import stat
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from aioc_opa.errors import EngineConfigurationError

MINIMUM_OPA_VERSION: Final = (1, 22, 0)
"""What this package's policies and tests lean on; `.opa-version` pins one of the same minor version for the tests."""

_VERSION: Final = re.compile(r"Version: (\d+)\.(\d+)\.(\d+)(-[0-9A-Za-z.-]+)?")
_PROBE_SECONDS: Final = 30.0

HOW_TO_GET_ONE: Final = (
    "set AIOC_OPA_BIN to the absolute path of an `opa`, or put one on PATH (scripts/find-opa of the source gets one); "
    f"it must be version {'.'.join(map(str, MINIMUM_OPA_VERSION))} or newer"
)


@dataclass(frozen=True, slots=True)
class OpaBinary:
    """An `opa` that passed the checks of this module.

    Attributes:
        path: absolute, links resolved.
        version: what `opa version` says, e.g. ``1.22.4``.
        sha256: lower-case hex digest of the file.
    """

    path: Path
    version: str
    sha256: str


def find_opa_binary(explicit: Path | None = None) -> OpaBinary:
    """Find an `opa`: `explicit`, else ``AIOC_OPA_BIN``, else ``opa`` on ``PATH``. Only the first that is given counts.

    A folder of the project is not searched: whoever can write into a working directory must not choose the judge.

    Raises:
        EngineConfigurationError: none is given, or the one that is given must not be used; the message says why.
    """
    if explicit is not None:
        return check_opa_binary(explicit, source="opa_binary")
    named = os.environ.get("AIOC_OPA_BIN")
    if named:
        return check_opa_binary(Path(named), source="AIOC_OPA_BIN")
    on_path = shutil.which("opa")
    if on_path is None:
        raise EngineConfigurationError(f"no `opa` was found: {HOW_TO_GET_ONE}")
    return check_opa_binary(Path(on_path), source="PATH")


def check_opa_binary(path: Path, *, source: str) -> OpaBinary:
    """Check `path` as the module says. `source` names in messages who gave it.

    Raises:
        EngineConfigurationError: it must not be used; the message says why.
    """
    if not path.is_absolute():
        raise EngineConfigurationError(f"{source}: {str(path)!r} is not an absolute path")
    try:
        resolved = path.resolve(strict=True)
        found = resolved.stat()
    except (OSError, RuntimeError) as problem:  # RuntimeError: a loop of links, before Python 3.13
        raise EngineConfigurationError(f"{source}: {str(path)!r} cannot be read: {problem}") from None
    if not stat.S_ISREG(found.st_mode) or not os.access(resolved, os.X_OK):
        raise EngineConfigurationError(f"{source}: {str(resolved)!r} is not an executable file")
    _refuse_if_others_may_replace(resolved, source)
    # Kept for as long as the file stays what it was: the probe and the digest cost a tenth of a second each.
    identity = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    return _probe(resolved, source, identity)


def _refuse_if_others_may_replace(path: Path, source: str) -> None:
    """Who can write a folder can replace what is in it, so every step up to the root counts."""
    ours = {0, os.geteuid()}
    below: os.stat_result | None = None
    for step in (path, *path.parents):
        found = step.stat()
        # The sticky bit keeps others from renaming what is not theirs (as in /tmp).
        sticky_and_ours_below = bool(found.st_mode & stat.S_ISVTX) and below is not None and below.st_uid in ours
        others = found.st_mode & stat.S_IWOTH or (found.st_mode & stat.S_IWGRP and not _has_no_others(found.st_gid))
        if others and not sticky_and_ours_below:
            raise EngineConfigurationError(
                f"{source}: {str(path)!r} could be replaced by other users: {str(step)!r} is writable by its group "
                f"or by everyone (mode {stat.S_IMODE(found.st_mode):o}); `chmod go-w` it or use another copy"
            )
        if found.st_uid not in ours:
            raise EngineConfigurationError(
                f"{source}: {str(path)!r} could be replaced by another user: {str(step)!r} belongs to uid "
                f"{found.st_uid}, which is neither root nor the user that runs this"
            )
        below = found


def _has_no_others(gid: int) -> bool:
    """Whether a group has no members but root and us: root's, a private one (umask 002), Homebrew's, Debian's `staff`.

    A group can be another user's main group without listing that user, so our own main group counts only as a
    private one, by its name.
    """
    if gid == 0:
        return True
    try:
        group = grp.getgrgid(gid)
        us = pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return False
    if gid == os.getegid() and group.gr_name != us:
        return False
    return {*group.gr_mem} <= {"root", us}


@lru_cache(maxsize=16)
def _probe(path: Path, source: str, _identity: tuple[int, ...]) -> OpaBinary:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as handle:
            while block := handle.read(1 << 20):
                digest.update(block)
        done = subprocess.run(  # noqa: S603 - the very file that was checked, with no shell
            [path, "version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env={},
            timeout=_PROBE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise EngineConfigurationError(f"{source}: {str(path)!r} does not run: {problem}") from None
    match = _VERSION.match(done.stdout.decode("utf-8", "replace"))
    if done.returncode != 0 or match is None:
        raise EngineConfigurationError(f"{source}: {str(path)!r} does not answer `version` as OPA does")
    major, minor, patch, pre_release = match.groups()
    numbers = (int(major), int(minor), int(patch))
    text = f"{major}.{minor}.{patch}{pre_release or ''}"
    # A pre-release comes before its release (SemVer 2.0.0, clause 11.3).
    if numbers < MINIMUM_OPA_VERSION or (numbers == MINIMUM_OPA_VERSION and pre_release):
        raise EngineConfigurationError(f"{source}: {str(path)!r} is OPA {text}: {HOW_TO_GET_ONE}")
    return OpaBinary(path=path, version=text, sha256=digest.hexdigest())
