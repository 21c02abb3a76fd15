"""A revision gate that asks the server: how old is what it last fetched, and is anything there that no bundle brought?

A bundle that is not replaced keeps deciding: when the bundle server is down, serves bundles that do not verify, or is
cut off by whoever wants an old policy to stay. OPA's health says nothing of it; its status does
(https://www.openpolicyagent.org/docs/management-status), which this reads in the background.

What can be seen, and where:

- an extra or missing bundle, a delta bundle, a failing fetch: in the status, which needs OPA's status plugin
  (``--set=status.console=true``) and a token that may read ``/v1/status``;
- a module put over the policy API: in the list of policies, with `policies=True` and a token that may read
  ``/v1/policies``, unless it was given a name like those of a bundle; `rego/system/authz` lets nobody read it, nor
  write, which is better;
- data put over the data API: nowhere. Where a bundle's roots own a path OPA refuses to write it, and
  `aioc-opa bundle build` makes them own every path that a pack declares; what lies elsewhere no pack may read (lint).
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Protocol, Self

from aioc_opa.core.bundles.server_status import BundleFact, bundle_facts, set_problems, stray_policies
from aioc_opa.errors import AiocOpaError, ConfigurationError
from aioc_opa.revision_gates import revisions_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from types import TracebackType

    from aioc_opa.core.json_value import JsonObject

DEFAULT_REFRESH_SECONDS: Final = 10.0
MAX_AGE_SECONDS: Final = 30 * 24 * 3600
_CLOCK_SKEW_SECONDS: Final = 60.0
"""How far a server's clock may be ahead of ours; a fetch in the future would stay fresh for as long."""

logger: Final = logging.getLogger("aioc_opa.bundles")


class BundleServer(Protocol):
    """What is asked of a server; `engines.opa_admin.OpaAdmin` does it."""

    def status(self) -> JsonObject:
        """The status document."""
        ...

    def policy_ids(self) -> Sequence[str]:
        """The ids of all modules."""
        ...

    def close(self) -> None:
        """Close the connections."""
        ...


@dataclass(frozen=True, slots=True)
class _Facts:
    """What one look at the server found. `fresh_until` is a monotonic time; it has passed when something is wrong."""

    fresh_until: float
    problems: tuple[str, ...]


_NOTHING: Final = _Facts(float("-inf"), ("the server has not been asked yet",))

_CLOSED: Final = _Facts(float("-inf"), ("the gate is closed: nothing is accepted",))


class FreshBundles:
    """Accepts a decision while the server's bundles are those expected, and were fetched lately. Thread-safe.

    A thread asks every `refresh_seconds`; `accepts` only compares times. Nothing is accepted before the first answer,
    and when the server cannot be asked, what is known grows old. A forked child asks for itself.

    Args:
        connect: makes the client, once in a process: ``lambda: OpaAdmin(url, token_file=…)``.
        bundles: the names of exactly the bundles that the server must have.
        max_age_seconds: since the server's last sound fetch, for the oldest of them. Above the longest poll delay, and
            `refresh_seconds`. The clocks of server and guard are compared: keep them right.
        refresh_seconds: between two questions.
        policies: reject, too, when a module is there that no bundle brought.

    Raises:
        ConfigurationError: one of these cannot be.
    """

    def __init__(
        self,
        connect: Callable[[], BundleServer],
        *,
        bundles: Collection[str],
        max_age_seconds: float,
        refresh_seconds: float = DEFAULT_REFRESH_SECONDS,
        policies: bool = False,
    ) -> None:
        if isinstance(bundles, str) or not bundles or not all(bundles):
            raise ConfigurationError("bundles: name the bundles that the server must have")
        if not 0 < refresh_seconds < max_age_seconds <= MAX_AGE_SECONDS:
            raise ConfigurationError(
                f"max_age_seconds must be above refresh_seconds, which is above 0, and at most {MAX_AGE_SECONDS}"
            )
        self._connect: Final = connect
        self._bundles: Final = frozenset(bundles)
        self._max_age: Final = max_age_seconds
        self._refresh: Final = refresh_seconds
        self._policies: Final = policies
        self._facts = _NOTHING
        self._closed = threading.Event()
        self._begin()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    @property
    def problems(self) -> tuple[str, ...]:
        """What the last look found wrong, in words for operators.

        Not all of it rejects at once: an error in fetching does when `max_age_seconds` have passed since the last
        sound fetch.
        """
        return self._facts.problems

    def accepts(self, policy_revision: str | None) -> bool:
        """Whether the decision was made under exactly the bundles, and they are fresh."""
        if self._pid != os.getpid():
            self._facts = _NOTHING
            self._begin()
        found = revisions_of(policy_revision)
        if found is None or found.keys() != self._bundles:
            return False
        return not self._closed.is_set() and time.monotonic() <= self._facts.fresh_until

    def refresh(self) -> tuple[str, ...]:
        """Ask the server now; what is wrong, as `problems`. Blocks; for start-up and `guard.check()`."""
        if self._closed.is_set():
            return _CLOSED.problems
        with self._asking:
            before = self._facts.problems
            facts = self._look()
            self._facts = facts
        if facts.problems != before:
            for problem in facts.problems:
                logger.warning("%s", problem)
            if not facts.problems:
                logger.info("the bundles are as expected, and fresh")
        return facts.problems

    def close(self) -> None:
        """Stop asking. From here on nothing is accepted."""
        self._closed.set()
        thread = self._thread
        if self._pid == os.getpid() and thread is not threading.current_thread():
            thread.join()

    def _begin(self) -> None:
        """Start asking in this process: locks, threads and connections are not shared with the one that forked us."""
        self._pid = os.getpid()
        self._asking = threading.Lock()
        self._server: BundleServer | None = None
        if self._closed.is_set():
            return
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="aioc-opa-bundles", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        closed = self._closed
        while not closed.is_set():
            try:
                self.refresh()
            except Exception:
                logger.exception("the status of the bundles could not be judged, so they grow old")
            closed.wait(self._refresh)
        with self._asking:
            self._disconnect()

    def _disconnect(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            with contextlib.suppress(AiocOpaError):
                server.close()

    def _look(self) -> _Facts:
        try:
            if self._server is None:
                self._server = self._connect()
            # Our clocks are read before the question is asked: an answer that is late is older, not younger.
            now, wall = time.monotonic(), datetime.now(UTC)
            facts = bundle_facts(self._server.status())
            wrong = list(set_problems(facts, self._bundles))
            if self._policies:
                strays = stray_policies(self._server.policy_ids(), self._bundles)
                wrong.extend(f"policy {stray!r} is at the server, and no bundle brought it" for stray in strays)
        except AiocOpaError as error:
            # What is known stays known until it is too old.
            return _Facts(self._facts.fresh_until, (f"the server's bundles cannot be looked at: {error}",))
        errors = [f"bundle {fact.name!r}: {fact.error}" for fact in facts if fact.error is not None]
        ages = [self._age(fact, wall) for fact in facts]
        if wrong or not ages:
            return _Facts(float("-inf"), (*wrong, *errors))
        until, known = now + self._max_age - max(ages), self._facts.fresh_until
        if errors and known != float("-inf"):
            # While something is wrong, nothing makes what decides fresher than it was known to be.
            until = known if any(fact.is_refused for fact in facts) else min(until, known)
        if until < now:
            errors.append(f"the oldest bundle was last fetched more than {self._max_age:.0f} s ago")
        return _Facts(until, tuple(errors))

    def _age(self, fact: BundleFact, wall: datetime) -> float:
        """Seconds since the last sound fetch; without one, or in a future beyond the skew, infinitely many."""
        if fact.fetched_at is None:
            return float("inf")
        age = (wall - fact.fetched_at).total_seconds()
        return float("inf") if age < -_CLOCK_SKEW_SECONDS else max(age, 0.0)
