"""Where faults are registered by name, with the reason that the call is denied with.

`TRANSPORT` faults are seen by the engine; `DECISION` faults are whole responses that only the decoder can refuse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aioc_opa.core.reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.hostile.server import Exchange

    Fault = Callable[[Exchange], bool | None]

TRANSPORT: dict[str, tuple[Fault, Reason]] = {}
DECISION: dict[str, tuple[Fault, Reason]] = {}
TIMEOUTS: set[str] = set()
"""Faults that only the deadline ends."""


def transport(reason: Reason) -> Callable[[Fault], Fault]:
    def register(fault: Fault) -> Fault:
        TRANSPORT[fault.__name__] = (fault, reason)
        if reason is Reason.POLICY_TIMEOUT:
            TIMEOUTS.add(fault.__name__)
        return fault

    return register


def decision(reason: Reason) -> Callable[[Fault], Fault]:
    def register(fault: Fault) -> Fault:
        DECISION[fault.__name__] = (fault, reason)
        return fault

    return register
