"""What one walk carries along, and the shape of a writer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from aioc_opa.core.canonical_form.refusal import ValueRefusedError
from aioc_opa.core.limits import HARD_MAX_DEPTH, HARD_MAX_NODES


class WriteState:
    """One walk over one value.

    Attributes:
        left: values that may still come, so that parts shared over and over cannot fill the memory.
    """

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = HARD_MAX_NODES

    def enter(self, size: int, depth: int) -> None:
        """Count a container of `size` values at `depth` (the root's is 1).

        Raises:
            ValueRefusedError: too deep (a cycle, for one) or too large.
        """
        self.left -= size
        if depth > HARD_MAX_DEPTH:
            raise ValueRefusedError(f"it is nested deeper than {HARD_MAX_DEPTH}, or contains itself")
        if self.left < 0:
            raise ValueRefusedError(f"it has more than {HARD_MAX_NODES} values")


Writer: TypeAlias = Callable[[Any, WriteState, int], str]
"""``(value, state, depth)`` to RFC 8785 text; raises `ValueRefusedError`.

`depth` is that of the container that `value` would be. Lone surrogates are looked for once, in the whole text.
"""

QuickWriter: TypeAlias = Callable[[Any], str]
"""For a value whose exact type is known already; raises KeyError where it has to be looked at more closely."""

NEVER: Final = type("NEVER", (), {})
"""A class without instances: the exact type of a field that has no `QuickWriter`."""


def not_declared(value: object, declared: str) -> ValueRefusedError:
    """The error for a value of another class than the one declared; a subclass is another class."""
    return ValueRefusedError(
        f"it holds {type(value).__name__}, not exactly {declared}: declare what the validator or default returns"
    )


def utf16_order(name: str) -> bytes:
    """Sort key of RFC 8785 section 3.2.3: UTF-16 code units. A lone surrogate is sorted, and refused later."""
    return name.encode("utf-16-be", "surrogatepass")
