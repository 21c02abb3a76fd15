"""Denials that the runtime makes itself, with a reserved reason (design 3.3)."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from aioc_opa.core.public_reasons import public_reason
from aioc_opa.core.reasons import Reason
from aioc_opa.models.outcome import Denied

if TYPE_CHECKING:
    from aioc_opa.models.outcome import Stage


def denied(reason: Reason, started: float, **facts: Any) -> Denied:
    """A deny that a caller may know the reason of.

    Args:
        reason: reserved.
        started: `time.perf_counter()` seconds, when the call came.
        **facts: more of `Denied`.
    """
    return Denied(
        code=reason.value,
        audit_code=reason.value,
        public_reason=public_reason(reason),
        duration_ms=(time.perf_counter() - started) * 1000.0,
        **facts,
    )


def not_authorized(audit_reason: Reason, started: float, stage: Stage = "access") -> Denied:
    """A deny of step 1: unknown, forbidden and over budget look alike to the caller, and only operators see which."""
    return Denied(
        code=Reason.TOOL_NOT_AUTHORIZED.value,
        audit_code=audit_reason.value,
        public_reason=public_reason(Reason.TOOL_NOT_AUTHORIZED),
        stage=stage,
        duration_ms=(time.perf_counter() - started) * 1000.0,
    )
