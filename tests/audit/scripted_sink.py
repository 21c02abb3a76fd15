"""A sink that does what a test says, and a trail on it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from aioc_opa.audit.reading import LogReader
from aioc_opa.audit.sink import Resumed, SinkError
from aioc_opa.audit.sources import FolderSource
from aioc_opa.audit.trail import AuditTrail
from tests.audit.logs import KEY

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from aioc_opa.core.audit.chain import Head, Sealed


class Script:
    """A sink that fails, or waits, when the test says so, and keeps what it was given."""

    def __init__(self) -> None:
        self.fails = False
        self.open = threading.Event()
        self.open.set()
        self.records: list[Sealed] = []
        self.closed = 0

    def resume(self, writer: str) -> Resumed:
        if self.fails:
            raise SinkError("down")
        return Resumed(self.records[-1].head if self.records else None)

    def segment_after(self, head: Head | None) -> int:
        return 1

    def append(self, records: Sequence[Sealed]) -> None:
        self.open.wait(20)
        if self.fails:
            raise SinkError("secret-canary")
        self.records += records

    def close(self) -> None:
        self.closed += 1


def scripted(sink: Script, **others: Any) -> AuditTrail:
    return AuditTrail(sink, writer="one", key=KEY, **others)


def contents(folder: Path) -> list[Any]:
    return [record.content for record in LogReader(FolderSource(folder)).records()]
