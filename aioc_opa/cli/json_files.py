"""Strict JSON from the files that a user names. Every refusal names the file and the place in it."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, Final

from aioc_opa.core.limits import HARD_MAX_DEPTH, HARD_MAX_NODES, JsonLimits
from aioc_opa.core.strict_json import StrictJsonError, decode
from aioc_opa.errors import InputFileError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from aioc_opa.core.json_value import JsonObject

FILE_LIMITS: Final = JsonLimits(max_bytes=64 * 1024 * 1024, max_depth=HARD_MAX_DEPTH, max_nodes=HARD_MAX_NODES)
"""Of one document, or of one line of a JSON Lines file."""

STDIN: Final = "-"

_ONE_A_LINE: Final = "; this file has one JSON object per line"


@dataclass(frozen=True, slots=True)
class JsonDocument:
    """An object that was read.

    Attributes:
        value: the object.
        source: file, and line where it is one of many, for messages.
    """

    value: JsonObject
    source: str


def read_object(path: Path) -> JsonDocument:
    """The JSON object in the file at `path`, or on standard input for ``-``.

    Raises:
        InputFileError: it cannot be read or is no strict JSON object.
    """
    if str(path) == STDIN:
        return JsonDocument(
            _decode(sys.stdin.buffer.read(FILE_LIMITS.max_bytes + 1), "standard input"), "standard input"
        )
    with _opened(path) as handle:
        return JsonDocument(_decode(_read(handle, path, FILE_LIMITS.max_bytes + 1), str(path)), str(path))


def read_lines(path: Path) -> Iterator[JsonDocument]:
    """The JSON objects in a JSON Lines file, one at a time. Blank lines are passed over.

    Raises:
        InputFileError: it cannot be read, or a line is no strict JSON object.
    """
    with _opened(path) as handle:
        number = 0
        while True:
            try:
                line = handle.readline(FILE_LIMITS.max_bytes + 2)
            except OSError as error:
                raise _unreadable(path, error) from None
            if not line:
                return
            number += 1
            if line.strip():
                source = f"{path}, line {number}"
                yield JsonDocument(_decode(line.rstrip(b"\r\n"), source, hint=_ONE_A_LINE), source)


def count_lines(path: Path) -> int:
    """Lines of the file that are not blank, for a progress bar.

    Raises:
        InputFileError: it cannot be read.
    """
    with _opened(path) as handle:
        try:
            return sum(1 for line in handle if line.strip())
        except OSError as error:
            raise _unreadable(path, error) from None


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except (OSError, ValueError) as error:  # ValueError: a null character in the path
        raise _unreadable(path, error) from None


def _read(handle: BinaryIO, path: Path, size: int) -> bytes:
    try:
        return handle.read(size)
    except OSError as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: Exception) -> InputFileError:
    reason = error.strerror if isinstance(error, OSError) else None
    return InputFileError(f"{path}: cannot be read: {reason or type(error).__name__}")


def _decode(content: bytes, source: str, *, hint: str = "") -> JsonObject:
    try:
        value = decode(content, FILE_LIMITS)
    except StrictJsonError as error:
        at = "" if error.offset is None else f" at character {error.offset}"
        place = "".join(f"[{part!r}]" for part in error.path)
        raise InputFileError(
            f"{source}: not a strict JSON object{at}: ${place}: {error.message} ({error.code}){hint}"
        ) from None
    if type(value) is not dict:
        raise InputFileError(f"{source}: $: the top level must be an object (not_an_object){hint}")
    return value
