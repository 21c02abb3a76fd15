"""What stands in a function's place once it is a guarded tool: a name to call it by, and nothing behind it."""

from __future__ import annotations

from typing import Final, NoReturn


class GuardedTool:
    """The handle of a registered tool.

    There is no way from here to the bare function (no ``__wrapped__``, no attribute): a tool that has been handed
    to a guard runs through that guard or not at all.

    Attributes:
        name: the name to give to `guard.call`.
        version: the tool's version.
        description: the tool's description.
    """

    __slots__ = ("description", "name", "version")

    def __init__(self, *, name: str, version: str | None, description: str) -> None:
        self.name: Final = name
        self.version: Final = version
        self.description: Final = description

    def __call__(self, *_args: object, **_kwargs: object) -> NoReturn:
        """Refuse: a direct call would run the tool without a decision.

        Raises:
            TypeError: always, naming what to call instead.
        """
        raise TypeError(f"{self.name!r} is a guarded tool: run it with guard.call({self.name!r}, arguments, …)")

    def __repr__(self) -> str:
        return f"<GuardedTool {self.name}>"
