"""Whether a folder is on a file system of this machine: SQLite's locks and its shared memory need one.

WAL mode "does not work over a network filesystem" (https://sqlite.org/wal.html), and a lock that two machines both
hold would let a grant be consumed twice. So only types that are known to be local pass; any other is refused by name.
"""

from __future__ import annotations

import re
from pathlib import Path

MOUNTS = Path("/proc/self/mountinfo")

LOCAL = frozenset({
    "aufs", "bcachefs", "btrfs", "ecryptfs", "exfat", "ext2", "ext3", "ext4", "f2fs", "fuse-overlayfs",
    "fuse.fuse-overlayfs", "fuseblk", "jfs", "nilfs2", "ntfs3", "overlay", "ramfs", "reiserfs", "rootfs", "tmpfs",
    "ubifs", "udf", "vfat", "xfs", "zfs",
})  # fmt: skip
"""Types of file systems that one machine has for itself (names as in proc_pid_mountinfo(5))."""

_ESCAPE = re.compile(r"\\([0-7]{3})")


def file_system_type(folder: Path, mounts: Path = MOUNTS) -> str | None:
    """The type of the file system that `folder` is on; None where the kernel has no list of mounts (not Linux).

    Raises:
        OSError: the list exists and cannot be read.
    """
    if not mounts.exists():
        return None
    where = folder.resolve()
    best, found = -1, "unknown"
    for line in mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines():
        before, _, after = line.partition(" - ")
        point = Path(_ESCAPE.sub(lambda octal: chr(int(octal[1], 8)), before.split(" ")[4]))
        # Of two mounts on one point the later one covers the earlier.
        if where.is_relative_to(point) and len(point.parts) >= best:
            best, found = len(point.parts), after.split(" ")[0]
    return found


def refused_file_system(folder: Path, mounts: Path = MOUNTS) -> str | None:
    """The type of the file system of `folder` where it is not known to be local; None where it is.

    Raises:
        OSError: the list of mounts cannot be read.
    """
    found = file_system_type(folder, mounts)
    return None if found is None or found in LOCAL else found
