"""Where the events of step 1 go. Events never affect a decision (seed "Privacy and audit")."""

from __future__ import annotations

import logging
import queue
import threading
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from aioc_opa.errors import ConfigurationError

if TYPE_CHECKING:
    from aioc_opa.models.access_event import AccessEvent

logger: Final = logging.getLogger("aioc_opa.access")
_QUIET: Final = frozenset({"allow", "approved", None})


@runtime_checkable
class EventSink(Protocol):
    """Takes events, from any thread. Should not block: put one that can behind a `BackgroundSink`."""

    def emit(self, event: AccessEvent) -> None:
        """Take one event. What it raises is swallowed."""
        ...


class LoggingSink:
    """Writes each event as a line of JSON to the logger ``aioc_opa.access``: refusals as warnings, the rest as info."""

    def ignores(self, decision: str | None) -> bool:
        """Whether an event with this decision would not be written, so that none needs to be made."""
        return not logger.isEnabledFor(_level(decision))

    def emit(self, event: AccessEvent) -> None:
        """Log `event`."""
        # ASCII: no name breaks a line, turns a terminal's writing around or hides in it.
        line = event.model_dump_json(by_alias=True, exclude_none=True, ensure_ascii=True)
        logger.log(_level(event.decision), "%s", line.replace("\x7f", r"\u007f"))


def _level(decision: str | None) -> int:
    return logging.INFO if decision in _QUIET else logging.WARNING


class BackgroundSink:
    """Hands events to another sink from a thread of its own; drops, and counts, what does not fit.

    Args:
        sink: may block and raise.
        capacity: events that may wait.

    Raises:
        ConfigurationError: `capacity` is not positive.

    Attributes:
        dropped: events that were lost, because the queue was full or `sink` raised.
    """

    def __init__(self, sink: EventSink, *, capacity: int = 10_000) -> None:
        if type(capacity) is not int or capacity < 1:
            raise ConfigurationError("BackgroundSink: capacity must be a positive integer")
        self.dropped = 0
        self._sink: Final = sink
        self._lock: Final = threading.Lock()
        self._closed = False
        self._queue: Final[queue.Queue[AccessEvent | None]] = queue.Queue(capacity)
        self._thread: Final = threading.Thread(target=self._work, name="aioc-opa-access-events", daemon=True)
        self._thread.start()

    def emit(self, event: AccessEvent) -> None:
        """Queue `event`; never waits."""
        try:
            if self._closed:
                raise queue.Full
            self._queue.put_nowait(event)
        except queue.Full:
            self._drop()

    def close(self, seconds: float = 5.0) -> None:
        """Hand over what waits, for `seconds` at most. Later events are dropped."""
        self._closed = True
        try:
            self._queue.put(None, timeout=seconds)
        except queue.Full:
            return
        self._thread.join(seconds)

    def _work(self) -> None:
        while (event := self._queue.get()) is not None:
            try:
                self._sink.emit(event)
            except Exception as error:  # noqa: BLE001 - the next event may be taken
                self._drop()
                logger.error("an event sink raised %s", type(error).__name__)  # noqa: TRY400 - exception texts stay out of logs

    def _drop(self) -> None:
        with self._lock:
            self.dropped += 1
