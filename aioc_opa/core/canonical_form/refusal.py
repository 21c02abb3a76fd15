"""The two ways to say no: at registration from the annotations, at run time from the value."""

from __future__ import annotations


class AnnotationRefusedError(Exception):
    """An annotation allows values without a faithful canonical form.

    Attributes:
        place: the way from the arguments' root, e.g. ``("lines", "[]", "price")``.
        problem: what is wrong and what to write instead.
    """

    def __init__(self, place: tuple[str, ...], problem: str) -> None:
        super().__init__(problem)
        self.place = place
        self.problem = problem


class ValueRefusedError(Exception):
    """A value is not what was declared. Carries its place from the inside out, so that success costs nothing.

    Attributes:
        problem: what is wrong and what to do instead, without the value.
        trail: keys and indexes, the innermost first.
    """

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.trail: list[str | int] = []


def shown(place: tuple[str, ...]) -> str:
    """A place as a person reads it: ``lines[].price``, or ``the arguments`` for the root."""
    text = ""
    for part in place:
        text += part if part.startswith("[") or not text else f".{part}"
    return text or "the arguments"
