"""What `aioc-opa doctor` says of one thing that it looked at."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. `ok` is None for what is not needed, or cannot be seen from here."""

    topic: str
    ok: bool | None
    text: str
