"""What is added to logs from now on, without reading again what was there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aioc_opa.audit.log_folder import segment_path, segments_of
from aioc_opa.audit.regular_files import NotARegularFileError, open_regular
from aioc_opa.audit.sources import LONGEST_LINE, FolderSource, Line
from aioc_opa.errors import InputFileError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from aioc_opa.audit.sources import LogSource


class Follower:
    """Remembers how far each writer's log was read.

    Args:
        source: the logs. What is in them now counts as read.

    Raises:
        InputFileError: the source cannot be read.
    """

    def __init__(self, source: LogSource) -> None:
        self._source: Final = source
        self._read: dict[str, tuple[int, int]] = {}
        for _ in self.added():
            pass

    def added(self) -> Iterator[Line]:
        """The whole lines that were added since the last call.

        Raises:
            InputFileError: the source cannot be read, or less is in it than was read.
        """
        writers = self._source.writers()
        for gone in sorted(self._read.keys() - set(writers)):
            raise _cut_off(gone)
        for writer in writers:
            if isinstance(self._source, FolderSource):
                yield from self._added_to_files(self._source.folder, writer)
            else:
                yield from self._added_rows(writer)

    def _added_rows(self, writer: str) -> Iterator[Line]:
        for line in self._source.lines(writer, self._read.get(writer, (1, 0))[1]):
            self._read[writer] = (1, line.sequence or 0)
            yield line

    def _added_to_files(self, folder: Path, writer: str) -> Iterator[Line]:
        try:
            segments = segments_of(folder, writer)
            if self._read.get(writer, (0, 0))[0] > max(segments, default=0):
                raise _cut_off(writer)
            for segment in segments:
                known, offset = self._read.get(writer, (0, 0))
                if segment < known:
                    continue
                offset = offset if segment == known else 0
                yield from self._added_to_file(segment_path(folder, writer, segment), writer, segment, offset)
        except NotARegularFileError:
            return  # who reads the whole log has been told of it
        except OSError as error:
            raise InputFileError(f"{folder}: cannot be read: {error.strerror or type(error).__name__}") from None

    def _added_to_file(self, path: Path, writer: str, segment: int, offset: int) -> Iterator[Line]:
        with open_regular(path) as file:
            if file.seek(0, 2) < offset:
                raise _cut_off(writer)
            file.seek(offset)
            while (line := file.readline(LONGEST_LINE)).endswith(b"\n"):
                offset += len(line)
                self._read[writer] = (segment, offset)
                yield Line(path.name, segment, line[:-1])
            self._read[writer] = (segment, offset)


def _cut_off(writer: str) -> InputFileError:
    return InputFileError(
        f"audit log of {writer!r}: less is there than was read before: it was cut off, or has begun anew; see "
        "`aioc-opa audit verify`"
    )
