"""The audit trail of one process: what a guard hands its events to.

``required``: an intent is durable before its effect, or the effect does not begin. ``best_effort``: nobody ever waits;
what was lost is counted, and the count becomes a record. In both, a failure after the fact alarms and raises nothing:
it must not turn a done effect into a denial (design 3.4).
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import os
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Self

from aioc_opa.audit.chain_writer import ChainWriter, Mode
from aioc_opa.audit.pump import AuditCounts, Item, Pump
from aioc_opa.audit.sink import SinkError
from aioc_opa.core.audit.proposal_ref import MIN_KEY_BYTES, proposal_ref
from aioc_opa.errors import AuditUnavailableError, ConfigurationError
from aioc_opa.models.audit_record import WRITER_NAME

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from aioc_opa.audit.keys import AuditKey
    from aioc_opa.audit.pump import Unmade
    from aioc_opa.audit.sink import AuditSink
    from aioc_opa.models.audit_event import AuditEvent

_log: Final = logging.getLogger("aioc_opa.audit")
_LINGER_SECONDS: Final = 0.05
_MODES: Final = frozenset({"required", "best_effort"})


class AuditTrail:
    """Records events in a writer's chain. Thread-safe; usable from coroutines; not across a fork.

    Args:
        sink: where the records go; closed with the trail.
        writer: name of this writer, 1 to 64 ASCII letters, digits, ``_`` and ``-``: one process at a time has it.
        key: signs checkpoints.
        tenant_keys: at least 32 random bytes by tenant, for `proposal_ref`; ``""`` stands for no tenant.
        mode: see the module.
        timeout_seconds: how long somebody waits for durability, in ``required`` mode.
        capacity: events that may wait to be written.
        checkpoint_records: a checkpoint follows after so many records,
        checkpoint_seconds: and so long after the first that is not signed.

    Raises:
        ConfigurationError: one of them cannot work.
        AuditLogError: this writer cannot go on in this sink: another process is it, or the log is not what was written.
    """

    def __init__(
        self,
        sink: AuditSink,
        *,
        writer: str,
        key: AuditKey,
        tenant_keys: Mapping[str, bytes] = MappingProxyType({}),
        mode: Mode = "required",
        timeout_seconds: float = 5.0,
        capacity: int = 10_000,
        checkpoint_records: int = 1000,
        checkpoint_seconds: float = 60.0,
    ) -> None:
        if type(writer) is not str or WRITER_NAME.fullmatch(writer) is None:
            raise ConfigurationError("a writer's name is 1 to 64 ASCII letters, digits, '_' and '-'")
        if mode not in _MODES:
            raise ConfigurationError("mode is 'required' or 'best_effort'")
        if not (0 < timeout_seconds < float("inf") and 0 < checkpoint_seconds < float("inf")):
            raise ConfigurationError("times of an audit trail are positive and finite")
        if capacity < 1 or checkpoint_records < 1:
            raise ConfigurationError("capacity and checkpoint_records must be at least 1")
        for tenant, tenant_key in tenant_keys.items():
            if type(tenant) is not str or type(tenant_key) is not bytes or len(tenant_key) < MIN_KEY_BYTES:
                raise ConfigurationError(f"tenant_keys: at least {MIN_KEY_BYTES} bytes for each tenant")
        self.mode: Final[Mode] = mode
        self.writer: Final = writer
        if key.writers and writer not in key.writers:
            named = ", ".join(key.writers[:5])
            raise ConfigurationError(f"the key {key.key_id} is for the log of {named}, not for that of {writer}")
        self._tenant_keys: Final = dict(tenant_keys)
        self._timeout: Final = timeout_seconds
        self._pid: Final = os.getpid()
        chain = ChainWriter(sink, writer=writer, key=key, mode=mode, checkpoint_records=checkpoint_records)
        try:
            chain.open()
        except SinkError as error:
            # A database that is down now may be up when something has to be recorded.
            _log.critical("audit: the log of %r cannot be used now: %s", writer, error)
        except BaseException:
            sink.close()
            raise
        linger = _LINGER_SECONDS if mode == "best_effort" else 0.0
        self._pump: Final = Pump(chain, capacity=capacity, linger_seconds=linger, checkpoint_seconds=checkpoint_seconds)
        atexit.register(self.close)

    def record(self, event: AuditEvent | Unmade) -> None:
        """Record something that has been decided or has happened. Never raises.

        ``best_effort``: never waits. ``required``: waits until it is durable, `timeout_seconds` at most, then alarms.
        """
        self._settle(self._submit(event))

    async def record_async(self, event: AuditEvent | Unmade) -> None:
        """`record`, for coroutines: the event loop goes on meanwhile."""
        done = self._submit(event)
        if done is not None and not await self._durable_async(done):
            self._late()

    def record_intent(self, event: AuditEvent) -> None:
        """Record what is about to be done; in ``best_effort`` mode the same as `record`.

        Raises:
            AuditUnavailableError: ``required`` mode, and the record is not known to be durable: do not go on.
        """
        if self.mode == "best_effort":
            self.record(event)
            return
        done = self._submit(event)
        if done is None or not self._durable(done):
            raise AuditUnavailableError("the audit record is not known to be durable")

    async def record_intent_async(self, event: AuditEvent) -> None:
        """`record_intent`, for coroutines.

        Raises:
            AuditUnavailableError: as for `record_intent`.
        """
        if self.mode == "best_effort":
            self.record(event)
            return
        done = self._submit(event)
        if done is None or not await self._durable_async(done):
            raise AuditUnavailableError("the audit record is not known to be durable")

    def proposal_ref(self, tenant: str | None, proposal_hash: str) -> str | None:
        """The reference of a proposal under its tenant's key; None when there is no key for the tenant."""
        key = self._tenant_keys.get(tenant or "")
        return None if key is None else proposal_ref(key, proposal_hash)

    @property
    def counts(self) -> AuditCounts:
        """What became of the events so far, in this process."""
        return self._pump.counts

    def flush(self, timeout_seconds: float = 5.0) -> bool:
        """Write and sign what waits; whether that was done in time."""
        return not self._foreign() and self._pump.flush(timeout_seconds)

    def close(self, timeout_seconds: float = 5.0) -> bool:
        """Take no more events, write and sign what waits, and close the sink. Idempotent.

        Returns:
            Whether nothing had to be dropped for it.
        """
        atexit.unregister(self.close)
        return not self._foreign() and self._pump.close(timeout_seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def _submit(self, event: AuditEvent | Unmade) -> Future[None] | None:
        """Queue an event; what tells when it is durable, or None: nobody waits, or it was dropped."""
        if self._foreign():
            _log.critical("audit: this process was forked from the writer; open a trail of its own")
            return None
        done: Future[None] | None = Future() if self.mode == "required" else None
        return done if self._pump.put(Item(event, done)) else None

    def _settle(self, done: Future[None] | None) -> None:
        if done is not None and not self._durable(done):
            self._late()

    def _late(self) -> None:
        self._pump.drop()
        _log.critical("audit: an event after the fact is not known to be durable")

    def _durable(self, done: Future[None]) -> bool:
        try:
            done.result(self._timeout)
        except (FutureTimeoutError, Exception):  # noqa: BLE001 - cancelled or failed: whatever it is, it is not durable
            done.cancel()
            return False
        return True

    async def _durable_async(self, done: Future[None]) -> bool:
        wrapped = asyncio.wrap_future(done)
        try:
            await asyncio.wait({wrapped}, timeout=self._timeout)
        except asyncio.CancelledError:
            wrapped.cancel()
            raise
        if not wrapped.done():
            wrapped.cancel()
        return not wrapped.cancelled() and wrapped.exception() is None

    def _foreign(self) -> bool:
        return os.getpid() != self._pid
