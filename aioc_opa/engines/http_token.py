"""The bearer token for OPA's ``--authentication=token``: a string, or a file that something else rotates.

A file is read again when its modification time, inode or size has changed, so that a projected secret which is
replaced under a running process is used from the next question on.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final, Protocol

from aioc_opa.core.engine_answer import EngineFailureError
from aioc_opa.core.reasons import Reason
from aioc_opa.errors import EngineConfigurationError

_TOKEN: Final = re.compile(rb"[\x21-\x7e]+")
"""Visible ASCII. No blank, CR or LF: a token must not become a second header (RFC 9110 section 5.5)."""

_MAX_TOKEN_BYTES: Final = 64 * 1024


class Authorization(Protocol):
    """Gives the ``Authorization`` line of a request."""

    def line(self) -> bytes:
        """The whole header line with its CRLF, or nothing.

        Raises:
            EngineFailureError: ``policy_unavailable``: there is no usable token.
        """
        ...


def authorization(*, token: str | None, token_file: Path | str | None) -> Authorization:
    """The authorization for what is configured: neither, or one of the two.

    Raises:
        EngineConfigurationError: both are given, or the one given is not usable now.
    """
    if token is not None and token_file is not None:
        raise EngineConfigurationError("give token or token_file, not both")
    if token_file is not None:
        return _TokenFile(Path(token_file))
    if token is None:
        return _Fixed(b"")
    problem = _problem(token.encode("utf-8", "replace"))
    if problem:
        raise EngineConfigurationError(f"the token {problem}")
    return _Fixed(_line(token.encode("ascii")))


class _Fixed:
    """Always the same line."""

    __slots__ = ("_text",)

    def __init__(self, text: bytes) -> None:
        self._text = text

    def line(self) -> bytes:
        return self._text


class _TokenFile:
    """A line that follows a file. Thread-safe: what was read and its stamp are replaced together."""

    __slots__ = ("_path", "_read")

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._read = self._load()
        except (OSError, ValueError) as error:
            raise EngineConfigurationError(f"token_file {str(path)!r} {_words(error)}") from error

    def line(self) -> bytes:
        try:
            stamp, line = self._read
            if _stamp(os.stat(self._path)) != stamp:  # noqa: PTH116 - once a call, and Path.stat costs twice as much
                self._read = (stamp, line) = self._load()
        except (OSError, ValueError) as error:
            raise EngineFailureError(
                Reason.POLICY_UNAVAILABLE, f"token_file {str(self._path)!r} {_words(error)}"
            ) from error
        return line

    def _load(self) -> tuple[tuple[int, int, int], bytes]:
        with self._path.open("rb") as file:
            stamp = _stamp(os.fstat(file.fileno()))
            raw = file.read(_MAX_TOKEN_BYTES + 1)
        token = raw.strip(b" \t\r\n")
        problem = _problem(token)
        if problem:
            raise ValueError(problem)
        return stamp, _line(token)


def _stamp(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_mtime_ns, status.st_ino, status.st_size


def _line(token: bytes) -> bytes:
    return b"Authorization: Bearer " + token + b"\r\n"


def _problem(token: bytes) -> str:
    """What is wrong with it, never the token itself."""
    if not token:
        return "is empty"
    if len(token) > _MAX_TOKEN_BYTES:
        return f"is longer than {_MAX_TOKEN_BYTES} bytes"
    if _TOKEN.fullmatch(token) is None:
        return "has a character that is not visible ASCII (a blank, a line break, or worse)"
    return ""


def _words(error: OSError | ValueError) -> str:
    return f"cannot be read: {error.strerror}" if isinstance(error, OSError) else str(error)
