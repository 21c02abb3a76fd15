"""Read a bundle ``.tar.gz`` in one pass, in bounded memory: what `policy_files` loads and what a signature covers.

`tarfile` reads a member's extended headers (pax, GNU long names) whole and holds on to them, and stops at the end of
the archive without looking at the rest of the gzip stream. So the stream below it is counted: between two members no
more may come than the first one's content and `_MOST_HEADERS`, the whole has a cap, and it is read to its trailer.
"""

from __future__ import annotations

import gzip
import io
import posixpath
import tarfile
import zlib
from typing import IO, TYPE_CHECKING, Final, Protocol

from aioc_opa.errors import PolicyLoadError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAX_ARCHIVE_BYTES: Final = 256 * 1024 * 1024
"""The file itself."""
MAX_TOTAL_BYTES: Final = 512 * 1024 * 1024
"""All content."""
MAX_FILES: Final = 100_000

_MOST_HEADERS: Final = 64 * 1024
"""Bytes before a member's content: its header, a long name, padding. A path takes a few hundred."""
_MOST_DECOMPRESSED: Final = MAX_TOTAL_BYTES + MAX_FILES * 2 * 1024
"""The whole stream: content, and two kilobytes of header and padding for each member."""
_BLOCK: Final = 10 * 1024
"""Read at a time, ahead of what is asked for: tar's own record."""
_DELETE: Final = 0x7F
_NOT_WHOLE: Final = (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError, ValueError, RecursionError)


class Content(Protocol):
    """What is read of a file."""

    def read(self, size: int = -1, /) -> bytes:
        """At most `size` bytes, or all that is left.

        Raises:
            PolicyLoadError: the archive is not whole.
        """
        ...


class _CountedStream(io.RawIOBase):
    """A decompressed stream that ends with an error at `limit`."""

    def __init__(self, stream: gzip.GzipFile, source: str) -> None:
        self._stream, self._source = stream, source
        self._count = 0
        self.limit = 0

    def allow(self, content: int) -> None:
        """Let one more member's content and the headers after it through."""
        self.limit = min(self._count + content + _MOST_HEADERS + _BLOCK, _MOST_DECOMPRESSED)

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        if self._count >= self.limit:
            raise PolicyLoadError(f"{self._source}: unpacks to more than a policy's files and their names")
        chunk = self._stream.read(_BLOCK if size < 0 else min(size, _BLOCK))
        self._count += len(chunk)
        return chunk


class _Content:
    """A member's content. What is wrong with the stream is found while somebody else reads it."""

    def __init__(self, stream: IO[bytes], source: str) -> None:
        self._stream, self._source = stream, source

    def read(self, size: int = -1, /) -> bytes:
        try:
            return self._stream.read(size)
        except _NOT_WHOLE as error:
            raise PolicyLoadError(f"{self._source}: is not a whole .tar.gz bundle: {error}") from error


def archive_members(path: Path) -> Iterator[tuple[str, Content | None]]:
    """Path below the bundle's root, and content, of each member in order; None for a folder's content.

    Content must be read before the next member is asked for. The end of the archive has been checked when the last
    member has been passed.

    Raises:
        PolicyLoadError: it is no whole bundle, is too large, or has a member that is no plain file at a plain path.
        OSError: it cannot be read.
    """
    source = str(path)
    if path.stat().st_size > MAX_ARCHIVE_BYTES:
        raise PolicyLoadError(f"{source}: larger than {MAX_ARCHIVE_BYTES} bytes")
    try:
        with gzip.open(path) as stream:
            counted = _CountedStream(stream, source)
            counted.allow(0)
            with tarfile.open(fileobj=counted, mode="r|", bufsize=_BLOCK) as archive:
                yield from _members(archive, counted, source)
            # Only a whole stream has been held against its checksum.
            counted.allow(0)
            while rest := counted.read():
                if rest.strip(b"\0"):
                    raise PolicyLoadError(f"{source}: something follows the end of the archive")
    except _NOT_WHOLE as error:
        raise PolicyLoadError(f"{source}: is not a whole .tar.gz bundle: {error}") from error


def _members(archive: tarfile.TarFile, counted: _CountedStream, source: str) -> Iterator[tuple[str, Content | None]]:
    unpacked = count = 0
    while (member := archive.next()) is not None:
        # tarfile keeps all members, each with its headers.
        archive.members.clear()  # type: ignore[attr-defined]  # an attribute since Python 2; typeshed leaves it out
        count += 1
        unpacked += member.size
        # Members that nobody wants are decompressed too: they count, or a bomb beside the policy would pass.
        if count > MAX_FILES or unpacked > MAX_TOTAL_BYTES or member.size < 0:
            raise PolicyLoadError(f"{source}: more than {MAX_FILES} files or {MAX_TOTAL_BYTES} bytes")
        counted.allow(member.size)
        relative = _member_path(member, source)
        if member.isdir():
            yield relative, None
            continue
        stream = archive.extractfile(member) if member.isreg() and not member.issparse() else None
        if stream is None:
            raise PolicyLoadError(f"{source}: {member.name!r}: links and devices are refused in a bundle")
        with stream:
            yield relative, _Content(stream, source)


def _member_path(member: tarfile.TarInfo, source: str) -> str:
    # `opa build` writes "/aioc/…", GNU tar "./aioc/…": both mean the path below the root of the bundle.
    name = member.name
    relative = name.removeprefix("./").removeprefix("/")
    if member.isdir():
        relative = relative.rstrip("/")
        if relative in {"", "."}:
            return ""
    parts = relative.split("/")
    if "\\" in relative or posixpath.normpath(relative) != relative or ".." in parts or relative.startswith("/"):
        raise PolicyLoadError(f"{source}: {name!r}: a path in a bundle may not leave it")
    if any(ord(character) < ord(" ") or ord(character) == _DELETE for character in relative):
        raise PolicyLoadError(f"{source}: {name!r}: a control character in a path is refused")
    return relative
