from __future__ import annotations

import os
import tarfile
from typing import TYPE_CHECKING

import pytest

from aioc_opa.errors import PolicyLoadError
from aioc_opa.packs import bundle_archive, policy_files
from aioc_opa.packs.policy_files import read_policy_files
from tests.packs.folders import archive, write

if TYPE_CHECKING:
    from pathlib import Path

MODULE = "package a\n"


def test_reads_what_opa_reads_in_bundle_mode_and_nothing_else(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "a/a.rego": MODULE,
            "a/a_test.rego": "package a_test\n",
            "a/data.json": {},
            "a/samples/x.json": {},
            "a/README.md": "x",
            ".manifest": {},
            ".git/data.json": {},
            "..2026_snapshot/a.rego": MODULE,
        },
    )
    assert list(read_policy_files(tmp_path)) == [".manifest", "a/a.rego", "a/data.json"]


@pytest.mark.parametrize("name", ["a/data.yaml", "a/data.yml", "data.YAML"])
def test_yaml_data_is_refused(tmp_path: Path, name: str) -> None:
    write(tmp_path, {"a/a.rego": MODULE, name: "a: on"})
    with pytest.raises(PolicyLoadError, match="YAML data is refused"):
        read_policy_files(tmp_path)


@pytest.mark.parametrize("name", ["policy.wasm", "a/policy.wasm", "plan.json"])
def test_compiled_policy_is_refused(tmp_path: Path, name: str) -> None:
    write(tmp_path, {"a/a.rego": MODULE, name: "x"})
    with pytest.raises(PolicyLoadError, match="compiled policy is refused"):
        read_policy_files(tmp_path)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        (".hidden/a.rego", "hidden"),
        ("a/.a.rego", "hidden"),
        ("a/.b/data.json", "hidden"),
        ("a/A.rego", "lower case"),
        ("a/a.REGO", "lower case"),
        ("a/Data.json", "lower case"),
        ("a/é.rego", "ASCII"),
        ("a/b\n.rego", "printable"),
        ("a\n/data.json", "printable"),
        ("a/.manifest", "at the top"),
        ("a/.signatures.json", "at the top"),
    ],
)
def test_files_that_are_read_otherwise_than_they_look_are_refused(tmp_path: Path, name: str, problem: str) -> None:
    write(tmp_path, {"a/a.rego": MODULE, name: MODULE})
    with pytest.raises(PolicyLoadError, match=problem):
        read_policy_files(tmp_path)


def test_a_link_that_leaves_the_folder_is_refused(tmp_path: Path) -> None:
    outside = write(tmp_path / "outside", {"a.rego": MODULE}) / "a.rego"
    folder = write(tmp_path / "policy", {"b/b.rego": MODULE})
    (folder / "a").mkdir()
    (folder / "a/a.rego").symlink_to(outside)
    with pytest.raises(PolicyLoadError, match="leaves the policy folder"):
        read_policy_files(folder)


def test_a_link_within_the_folder_is_read(tmp_path: Path) -> None:
    write(tmp_path, {"a/a.rego": MODULE})
    (tmp_path / "b").mkdir()
    (tmp_path / "b/b.rego").symlink_to(tmp_path / "a/a.rego")
    assert set(read_policy_files(tmp_path)) == {"a/a.rego", "b/b.rego"}


def test_a_linked_folder_is_refused(tmp_path: Path) -> None:
    write(tmp_path, {"a/a.rego": MODULE})
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(PolicyLoadError, match="linked folder"):
        read_policy_files(tmp_path)


def test_a_link_to_nothing_is_refused(tmp_path: Path) -> None:
    write(tmp_path, {"a/a.rego": MODULE})
    (tmp_path / "a/b.rego").symlink_to(tmp_path / "a/nowhere")
    with pytest.raises(PolicyLoadError, match="not a regular file"):
        read_policy_files(tmp_path)


def test_a_fifo_is_refused_and_does_not_hang(tmp_path: Path) -> None:
    write(tmp_path, {"a/a.rego": MODULE})
    os.mkfifo(tmp_path / "a/b.rego")
    with pytest.raises(PolicyLoadError, match="not a regular file"):
        read_policy_files(tmp_path)


def test_neither_folder_nor_file(tmp_path: Path) -> None:
    with pytest.raises(PolicyLoadError, match="no such policy"):
        read_policy_files(tmp_path / "nowhere")


def test_a_folder_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(top: Path, onerror: object) -> object:
        assert callable(onerror)
        onerror(PermissionError(13, "Permission denied", str(top)))
        return iter(())

    monkeypatch.setattr(policy_files.os, "walk", refuse)
    with pytest.raises(PolicyLoadError, match="Permission denied"):
        read_policy_files(tmp_path)


def test_caps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"a/a.rego": MODULE, "a/data.json": "{}"})
    bundle = archive(tmp_path / "b.tar.gz", {"a/a.rego": MODULE.encode(), "x.txt": b"x" * 5000})
    with monkeypatch.context() as patch:
        patch.setattr(policy_files, "MAX_MODULE_BYTES", 5)
        with pytest.raises(PolicyLoadError, match="larger than 5 bytes"):
            read_policy_files(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(policy_files, "MAX_FILES", 1)
        with pytest.raises(PolicyLoadError, match="more than 1 files"):
            read_policy_files(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(bundle_archive, "MAX_FILES", 1)
        with pytest.raises(PolicyLoadError, match="more than 1 files"):
            read_policy_files(bundle)
    with monkeypatch.context() as patch:
        patch.setattr(policy_files, "MAX_TOTAL_BYTES", 11)
        with pytest.raises(PolicyLoadError, match="more than 11 bytes"):
            read_policy_files(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(bundle_archive, "MAX_TOTAL_BYTES", 11)
        # What is skipped is decompressed too, and counts.
        with pytest.raises(PolicyLoadError, match="11 bytes"):
            read_policy_files(bundle)
    with monkeypatch.context() as patch:
        patch.setattr(bundle_archive, "MAX_ARCHIVE_BYTES", 10)
        with pytest.raises(PolicyLoadError, match="larger than 10 bytes"):
            read_policy_files(bundle)


@pytest.mark.parametrize("prefix", ["", "/", "./"])
def test_bundle_paths_are_those_below_its_root(tmp_path: Path, prefix: str) -> None:
    bundle = archive(tmp_path / "b.tar.gz", {f"{prefix}a/a.rego": b"package a\n", f"{prefix}README": b"x"})
    assert read_policy_files(bundle) == {"a/a.rego": b"package a\n"}


@pytest.mark.parametrize("name", ["../a.rego", "a/../../b.rego", "a//b.rego", "//a.rego", "a/./b.rego", "a\\b.rego"])
def test_bundle_path_traversal_is_refused(tmp_path: Path, name: str) -> None:
    bundle = archive(tmp_path / "b.tar.gz", {name: b"package a\n"})
    with pytest.raises(PolicyLoadError, match="may not leave it"):
        read_policy_files(bundle)


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_links_and_devices_in_a_bundle_are_refused(tmp_path: Path, kind: bytes) -> None:
    member = tarfile.TarInfo("a/a.rego")
    member.type = kind
    member.linkname = "/etc/passwd"
    bundle = archive(tmp_path / "b.tar.gz", {}, members=(member,))
    with pytest.raises(PolicyLoadError, match="links and devices"):
        read_policy_files(bundle)


def test_folders_in_a_bundle_are_passed_over(tmp_path: Path) -> None:
    folder = tarfile.TarInfo("./")
    folder.type = tarfile.DIRTYPE
    bundle = archive(tmp_path / "b.tar.gz", {"a/a.rego": b"package a\n"}, members=(folder,))
    assert list(read_policy_files(bundle)) == ["a/a.rego"]


def test_a_file_twice_in_a_bundle_is_refused(tmp_path: Path) -> None:
    bundle = tmp_path / "b.tar.gz"
    with tarfile.open(bundle, "w:gz") as tar:
        for _ in range(2):
            tar.addfile(tarfile.TarInfo("a/a.rego"))
    with pytest.raises(PolicyLoadError, match="occurs twice"):
        read_policy_files(bundle)


@pytest.mark.parametrize("cut", [0, 1, 20, 60])
def test_a_file_that_is_no_whole_bundle(tmp_path: Path, cut: int) -> None:
    bundle = archive(tmp_path / "b.tar.gz", {"a/a.rego": os.urandom(4000)})
    bundle.write_bytes(bundle.read_bytes()[:cut])
    with pytest.raises(PolicyLoadError, match="not a whole"):
        read_policy_files(bundle)
