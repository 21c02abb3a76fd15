"""Archives that say more than they hold, or hold more than they say: refused, in bounded memory."""

from __future__ import annotations

import gzip
import os
import resource
import tarfile
from typing import TYPE_CHECKING

import pytest

from aioc_opa.errors import PolicyLoadError
from aioc_opa.packs.policy_files import read_policy_files
from tests.packs.folders import archive

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

MODULE = b"package a\n"
END = b"\0" * 1024
MEBIBYTE = 1024 * 1024


def padded(content: bytes) -> bytes:
    return content + b"\0" * (-len(content) % 512)


def member(name: str, content: bytes, kind: bytes = tarfile.REGTYPE) -> bytes:
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, len(content)
    return info.tobuf(tarfile.GNU_FORMAT) + padded(content)


PLAIN = member("a/a.rego", MODULE)


def zipped(path: Path, parts: Iterable[bytes]) -> Path:
    with gzip.open(path, "wb", compresslevel=1) as stream:
        for part in parts:
            stream.write(part)
    return path


def refused(path: Path, match: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(PolicyLoadError, match=match):
        read_policy_files(path)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 64 * 1024  # KiB; the headers below unpack to 96 MiB


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK])
def test_a_header_that_unpacks_to_a_flood_is_not_read_whole(tmp_path: Path, kind: bytes) -> None:
    size = 96 * MEBIBYTE
    info = tarfile.TarInfo("flood")
    info.type, info.size = kind, size
    filler = (b"a" * MEBIBYTE for _ in range(size // MEBIBYTE))
    bundle = zipped(tmp_path / "b.tar.gz", [info.tobuf(), *filler, PLAIN, END])
    assert bundle.stat().st_size < MEBIBYTE
    refused(bundle, "more than a policy's files")


@pytest.mark.parametrize("length", [40, 5000])
def test_a_chain_of_headers_is_refused(tmp_path: Path, length: int) -> None:
    """tarfile follows it by recursion."""
    chain = [member("x", b"ab\0", tarfile.GNUTYPE_LONGNAME)] * length
    bundle = zipped(tmp_path / "b.tar.gz", [*chain, PLAIN, END])
    if length > 64:
        refused(bundle, "more than a policy's files")
    else:
        read_policy_files(bundle)


def test_what_follows_the_archive_is_read_to_the_end_and_is_nothing(tmp_path: Path) -> None:
    refused(zipped(tmp_path / "b.tar.gz", [PLAIN, END, b"\0" * 20480, b"x"]), "something follows the end")
    refused(zipped(tmp_path / "b.tar.gz", [PLAIN, END, *([b"\0" * MEBIBYTE] * 96)]), "more than a policy's files")
    padding = zipped(tmp_path / "b.tar.gz", [PLAIN, END, b"\0" * 20480])
    assert read_policy_files(padding) == {"a/a.rego": MODULE}


@pytest.mark.parametrize("cut", [1, 4, 8, 9, 12])
def test_a_gzip_stream_without_its_trailer_is_refused(tmp_path: Path, cut: int) -> None:
    bundle = archive(tmp_path / "b.tar.gz", {"a/a.rego": MODULE})
    bundle.write_bytes(bundle.read_bytes()[:-cut])
    refused(bundle, "not a whole")


def test_a_gzip_stream_that_does_not_fit_its_checksum_is_refused(tmp_path: Path) -> None:
    bundle = archive(tmp_path / "b.tar.gz", {"a/a.rego": MODULE})
    whole = bundle.read_bytes()
    bundle.write_bytes(whole[:-5] + bytes([whole[-5] ^ 1]) + whole[-4:])
    refused(bundle, "not a whole")
    bundle.write_bytes(whole[:30] + os.urandom(20) + whole[50:])
    refused(bundle, "not a whole")


@pytest.mark.parametrize("name", ["a/a\n.rego", "a/\x7f.rego", "a\r/a.rego", "README\t.md"])
def test_control_characters_in_a_path_are_refused(tmp_path: Path, name: str) -> None:
    refused(archive(tmp_path / "b.tar.gz", {"a/b.rego": MODULE, name: MODULE}), "control character")


def test_a_file_that_is_named_as_a_folder_is_refused(tmp_path: Path) -> None:
    refused(zipped(tmp_path / "b.tar.gz", [member("a/data.json/", b"{}"), PLAIN, END]), "may not leave it")


def test_a_sparse_file_is_refused(tmp_path: Path) -> None:
    info = tarfile.TarInfo("a/data.json")
    info.pax_headers = {"GNU.sparse.major": "0", "GNU.sparse.minor": "1", "GNU.sparse.map": "0,2"}
    info.size = 2
    refused(zipped(tmp_path / "b.tar.gz", [info.tobuf(tarfile.PAX_FORMAT), padded(b"{}"), PLAIN, END]), "links and")


def test_a_negative_size_is_refused(tmp_path: Path) -> None:
    header = bytearray(PLAIN[:512])
    header[124:136] = b"\xff" * 12
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    refused(zipped(tmp_path / "b.tar.gz", [bytes(header), padded(MODULE), END]), "more than|not a whole")


def test_long_names_of_a_real_archive_are_read(tmp_path: Path) -> None:
    name = "/".join(["folder"] * 40) + "/a.rego"
    for form in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        with tarfile.open(tmp_path / "b.tar.gz", "w:gz", format=form) as tar:
            (tmp_path / "a.rego").write_bytes(MODULE)
            tar.add(tmp_path / "a.rego", name)
        assert read_policy_files(tmp_path / "b.tar.gz") == {name: MODULE}
