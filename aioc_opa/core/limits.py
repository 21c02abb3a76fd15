"""Limits on JSON from outside, and their defaults, in one place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

HARD_MAX_DEPTH: Final = 100
"""Deeper than this no engine can be trusted to read (the embedded engine stops at 128)."""

HARD_MAX_NODES: Final = 1_000_000
"""More values, keys included, than this have no canonical form. It stops containers that share parts over and over."""

MAX_SAFE_INTEGER: Final = 2**53 - 1
"""RFC 8785 section 3.2.2.3, RFC 7493 section 2.2: the largest integer that binary64 keeps apart."""


@dataclass(frozen=True, slots=True)
class JsonLimits:
    """Limits of one strict decode.

    Attributes:
        max_bytes: size of the UTF-8 text, bytes.
        max_depth: nesting of arrays and objects; ``{}`` has depth 1. At most `HARD_MAX_DEPTH`.
        max_nodes: values of any kind, the root included; keys are counted as nodes too.
    """

    max_bytes: int = 1024 * 1024
    max_depth: int = 64
    max_nodes: int = 100_000

    def __post_init__(self) -> None:
        if not (1 <= self.max_depth <= HARD_MAX_DEPTH):
            raise ValueError(f"max_depth must be 1 to {HARD_MAX_DEPTH}, not {self.max_depth}")
        if self.max_bytes < 2 or self.max_nodes < 1:  # noqa: PLR2004 - "{}" is two bytes
            raise ValueError("max_bytes must be at least 2 and max_nodes at least 1")


ARGUMENT_LIMITS: Final = JsonLimits()
"""For a tool call's arguments."""

RESPONSE_LIMITS: Final = JsonLimits()
"""For what a policy engine answers."""
