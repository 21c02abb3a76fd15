"""SQLite goes onto file systems of this machine only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from aioc_opa.storage.local_filesystem import file_system_type, refused_file_system

if TYPE_CHECKING:
    from pathlib import Path

LINE = "36 35 98:0 / {point} rw,noatime shared:1 - {kind} /dev/x rw\n"


def mounts(tmp_path: Path, *entries: tuple[str, str]) -> Path:
    path = tmp_path / "mountinfo"
    path.write_text("".join(LINE.format(point=point, kind=kind) for point, kind in entries))
    return path


@pytest.mark.parametrize(
    "kind",
    ["nfs", "nfs4", "cifs", "smb3", "9p", "virtiofs", "ceph", "fuse.sshfs", "fuse.s3fs", "fuse", "gfs2", "brand-new"],
)
def test_what_is_not_known_to_be_local_is_refused_by_name(tmp_path: Path, kind: str) -> None:
    assert refused_file_system(tmp_path, mounts(tmp_path, ("/", "ext4"), (str(tmp_path), kind))) == kind


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs", "zfs", "tmpfs", "overlay"])
def test_local_ones_pass(tmp_path: Path, kind: str) -> None:
    assert refused_file_system(tmp_path, mounts(tmp_path, ("/", "nfs"), (str(tmp_path), kind))) is None


def test_the_nearest_mount_counts_and_of_two_on_one_point_the_later(tmp_path: Path) -> None:
    beside = str(tmp_path) + "-beside"
    entries = [(str(tmp_path), "nfs"), ("/", "ext4"), (beside, "nfs"), (str(tmp_path), "xfs")]
    assert file_system_type(tmp_path, mounts(tmp_path, *entries)) == "xfs"


def test_a_link_leads_to_where_the_file_is_and_escapes_are_read(tmp_path: Path) -> None:
    real = tmp_path / "with space"
    real.mkdir()
    link = tmp_path / "link"
    link.symlink_to(real)
    assert file_system_type(link, mounts(tmp_path, ("/", "ext4"), (str(real).replace(" ", "\\040"), "nfs"))) == "nfs"


def test_where_no_mounts_are_listed_nothing_is_known(tmp_path: Path) -> None:
    assert file_system_type(tmp_path, tmp_path / "none") is None
    assert refused_file_system(tmp_path, tmp_path / "none") is None


def test_this_machine_has_a_list(tmp_path: Path) -> None:
    assert refused_file_system(tmp_path) is None
