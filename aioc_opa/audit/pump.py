"""One thread that writes what others hand over: in order, in batches, and never in a thread that decides.

Batches also make durability cheaper: records that wait while a sync is under way share the next one.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from aioc_opa.audit.sink import SinkError
from aioc_opa.errors import AuditLogError
from aioc_opa.models.audit_event import AuditEvent

if TYPE_CHECKING:
    from concurrent.futures import Future

    from aioc_opa.audit.chain_writer import ChainWriter
    from aioc_opa.core.json_value import JsonObject

_log: Final = logging.getLogger("aioc_opa.audit")
_BATCH: Final = 512


class Unmade(Protocol):
    """Facts that have been taken, and that become an event where it is written."""

    def made(self) -> AuditEvent | None:
        """The event; None when they are none."""
        ...


@dataclass(slots=True, eq=False)
class Item:
    """An event on its way.

    Attributes:
        event: what to write.
        done: tells who waits; None where nobody does.
    """

    event: AuditEvent | Unmade
    done: Future[None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditCounts:
    """What became of the events of one process.

    Attributes:
        written: durable.
        dropped: not known to be: the queue was full or closed, or the sink failed. A record says how many, once one can
            be written.
        failures: times that the sink failed.
    """

    written: int = 0
    dropped: int = 0
    failures: int = 0


class Pump:
    """Takes events from any thread.

    Args:
        writer: appends them.
        capacity: events that may wait.
        linger_seconds: how long the first of a batch waits for others.
        checkpoint_seconds: what is written is signed after so long at most.
    """

    def __init__(self, writer: ChainWriter, *, capacity: int, linger_seconds: float, checkpoint_seconds: float) -> None:
        self._writer: Final = writer
        self._capacity: Final = capacity
        self._linger: Final = linger_seconds
        self._checkpoint_seconds: Final = checkpoint_seconds
        self._changed: Final = threading.Condition()
        self._waiting: deque[Item] = deque()
        self._busy = False
        self._closed = False
        self._hurry = False
        self._signing = False
        self._sign_at: float | None = None
        self._thread: threading.Thread | None = None
        self._written = self._dropped = self._failures = self._untold = 0

    @property
    def counts(self) -> AuditCounts:
        """What became of the events so far."""
        with self._changed:
            return AuditCounts(written=self._written, dropped=self._dropped, failures=self._failures)

    def put(self, item: Item) -> bool:
        """Queue an event without waiting; False when it is dropped."""
        with self._changed:
            if self._closed or len(self._waiting) >= self._capacity or not self._running():
                self._drop(1)
                return False
            self._waiting.append(item)
            if len(self._waiting) == 1 or item.done is not None:
                self._hurry |= item.done is not None
                self._changed.notify_all()
            return True

    def drop(self) -> None:
        """Count an event that is not even queued."""
        with self._changed:
            self._drop(1)

    def flush(self, timeout_seconds: float) -> bool:
        """Wait until what was queued is written and signed, or the time is over; whether it was written."""
        with self._changed:
            self._hurry = True
            self._signing = True
            if self._sign_at is not None:
                self._sign_at = time.monotonic()
            self._changed.notify_all()
            return self._changed.wait_for(self._idle, timeout_seconds)

    def close(self, timeout_seconds: float) -> bool:
        """Take no more, write and sign what waits, and let go of the sink. Idempotent; whether nothing was dropped."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join(timeout_seconds)
        with self._changed:
            left = len(self._waiting)
            for item in self._waiting:
                _fail(item)
            self._waiting.clear()
            if left:
                self._drop(left)
        if thread is None:
            self._writer.close()
        return not left

    def _idle(self) -> bool:
        return not self._waiting and not self._busy and self._sign_at is None

    def _running(self) -> bool:
        if self._thread is None:
            thread = threading.Thread(target=self._run, name="aioc-opa-audit", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # no thread can be had, or the interpreter is going down
                return False
            self._thread = thread
        return True

    def _drop(self, count: int) -> None:
        if not self._untold:
            _log.critical("audit: events are being dropped")
        self._dropped += count
        self._untold += count

    def _run(self) -> None:
        while (items := self._next()) is not None:
            self._write(items)
        self._shielded_checkpoint()
        self._writer.close()

    def _next(self) -> list[Item] | None:
        """The next events, none when a checkpoint is due; None at the end."""
        with self._changed:
            self._busy = False
            self._changed.notify_all()
            while not self._waiting and not self._closed:
                wait = None if self._sign_at is None else self._sign_at - time.monotonic()
                if wait is not None and wait <= 0:
                    self._busy = True
                    return []
                self._changed.wait(wait)
            if not self._waiting:
                return None
            full = self._capacity // 2
            self._changed.wait_for(lambda: self._hurry or self._closed or len(self._waiting) >= full, self._linger)
            self._hurry = False
            self._busy = True
            return [self._waiting.popleft() for _ in range(min(_BATCH, len(self._waiting)))]

    def _write(self, items: list[Item]) -> None:
        if not items:
            self._shielded_checkpoint()
            return
        # Who has given up waiting has been told that there is no such record.
        taken = [item for item in items if item.done is None or item.done.set_running_or_notify_cancel()]
        if taken:
            self._write_taken(taken)

    def _write_taken(self, items: list[Item]) -> None:
        with self._changed:
            untold = self._untold
        try:
            contents: list[JsonObject] = [{"type": "events_dropped", "count": untold}] if untold else []
            contents += [_content(item.event) for item in items]
            self._writer.append(contents)
        except (SinkError, AuditLogError) as error:
            self._failed(error, items)
            return
        except BaseException as error:  # noqa: BLE001 - the thread serves the next ones, whatever this was
            if len(items) == 1:
                self._failed(error, items)
            for item in items if len(items) > 1 else ():  # one of them is no event: the others are
                self._write_taken([item])
            return
        with self._changed:
            self._written += len(items)
            self._untold -= untold
            if not self._writer.unsigned:
                self._sign_at = None
            elif self._sign_at is None or self._signing:
                self._sign_at = time.monotonic() + (0.0 if self._signing else self._checkpoint_seconds)
        for item in items:
            if item.done is not None:
                item.done.set_result(None)

    def _failed(self, error: BaseException, items: list[Item]) -> None:
        _log.critical("audit: %d events are not known to be durable: %s", len(items), _words(error))
        with self._changed:
            self._failures += 1
            unasked = sum(item.done is None for item in items)
            self._dropped += unasked
            self._untold += unasked
        for item in items:
            _fail(item)

    def _shielded_checkpoint(self) -> None:
        failed = False
        try:
            self._writer.checkpoint()
        except BaseException as error:  # noqa: BLE001 - as above
            _log.critical("audit: a checkpoint is not known to be durable: %s", _words(error))
            failed = True
        with self._changed:
            self._failures += failed
            self._signing = False
            self._sign_at = time.monotonic() + self._checkpoint_seconds if failed else None


def _content(event: AuditEvent | Unmade) -> JsonObject:
    made = event if isinstance(event, AuditEvent) else event.made()
    if made is None:
        raise ValueError("the facts are no event")
    return {"type": "event", "event": made.model_dump(by_alias=True, exclude_defaults=True)}


def _words(error: BaseException) -> str:
    """The text of an error that somebody has to do something about. Any other one's text may hold values."""
    return str(error) if isinstance(error, AuditLogError) else type(error).__name__


def _fail(item: Item) -> None:
    if item.done is not None and not item.done.done():
        item.done.cancel()
        if not item.done.cancelled():
            item.done.set_exception(RuntimeError("not durable"))
