"""One total deadline, by a monotonic clock."""

from __future__ import annotations

import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Deadline:
    """A point in time that a whole decision must not pass.

    Attributes:
        at: `time.monotonic()` seconds.
    """

    at: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """The deadline that is `seconds` from now."""
        return cls(time.monotonic() + seconds)

    def remaining(self) -> float:
        """Seconds left; zero or less when it has passed."""
        return self.at - time.monotonic()

    def passed(self) -> bool:
        """Whether it is over."""
        return time.monotonic() >= self.at
