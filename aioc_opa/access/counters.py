"""Counters of step 1: Trussium's two by decision alone, and our own by tool and detail code, bounded."""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping

AUTHORIZATION_DECISIONS: Final = "trussium_tool_authorization_decisions"
"""Label ``decision``: ``allow``, ``deny``, ``approval_required``."""

APPROVAL_DECISIONS: Final = "trussium_tool_approval_decisions"
"""Label ``decision``: ``approved``, ``denied``, ``expired``, ``cancelled``."""

TOOL_REASONS: Final = "aioc_opa_tool_authorization_reasons"
"""Labels ``tool`` (a registered name or ``unregistered``) and ``reason``; ``other`` for both past `MAX_SERIES`."""

OTHER: Final = "other"
UNREGISTERED: Final = "unregistered"
MAX_SERIES: Final = 2000
"""Pairs of tool and reason that one gate counts apart."""


@runtime_checkable
class Counters(Protocol):
    """Takes increments, from any thread; must not block. What it raises is swallowed."""

    def add(self, name: str, labels: Mapping[str, str]) -> None:
        """Count one."""
        ...


class MemoryCounters:
    """Counters in memory. Thread-safe."""

    def __init__(self) -> None:
        self._lock: Final = threading.Lock()
        self._counts: Final[Counter[tuple[str, tuple[tuple[str, str], ...]]]] = Counter()

    def add(self, name: str, labels: Mapping[str, str]) -> None:
        """Count one."""
        key = (name, tuple(sorted(labels.items())))
        with self._lock:
            self._counts[key] += 1

    def snapshot(self) -> dict[tuple[str, tuple[tuple[str, str], ...]], int]:
        """Counts so far, by name and sorted labels."""
        with self._lock:
            return dict(self._counts)


class BoundedSeries:
    """Keeps the labels of `TOOL_REASONS` bounded, whatever codes an adapter makes up. Thread-safe."""

    def __init__(self, limit: int = MAX_SERIES) -> None:
        self._limit: Final = limit
        self._lock: Final = threading.Lock()
        self._seen: Final[set[tuple[str, str]]] = set()

    def labels(self, tool: str, reason: str) -> dict[str, str]:
        """The labels to count under."""
        pair = (tool, str(reason))  # plain text, also from an enumeration
        with self._lock:
            if pair not in self._seen:
                if len(self._seen) >= self._limit:
                    return {"tool": OTHER, "reason": OTHER}
                self._seen.add(pair)
        return {"tool": tool, "reason": pair[1]}
