"""How much the fuzz tests try: a few thousand inputs, or AIOC_FUZZ_EXAMPLES of them (`make fuzz`: 200,000)."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

_ASKED = os.environ.get("AIOC_FUZZ_EXAMPLES")


def examples(share: float, *, usually: int) -> settings:
    """Settings of one test: `usually` inputs, the same ones each time; or its `share` of what was asked for, at random."""
    return settings(
        max_examples=usually if _ASKED is None else max(1, int(int(_ASKED) * share)),
        derandomize=_ASKED is None,
        deadline=None,  # no timed assertions: a hang shows as a hang
        database=None,
        suppress_health_check=list(HealthCheck),
    )
