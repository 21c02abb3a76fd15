"""Functions with postponed annotations, and what decorators do to them."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, Field

if TYPE_CHECKING:
    from collections.abc import Callable

    from somewhere import Context  # type: ignore[import-not-found] - what is tested: known to type checkers only


class Line(BaseModel):
    sku: str
    amount: int = 1


def order(ctx: Context, lines: list[Line], note: Annotated[str, Field(max_length=5)] = "-") -> None:
    """Injected first, then what the model gives."""


def unresolved(x: Context) -> None:
    """Its annotation cannot be resolved at run time."""


def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper
