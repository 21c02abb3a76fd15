"""The tools that a guard may run, each with the schema that parses its arguments.

Names are ASCII, and two that are equal when case is folded are refused: a policy that matches names and a person
who reads them must not be fooled by a look-alike.
"""

from __future__ import annotations

import inspect
import re
import threading
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from aioc_opa.core.approvals.digests import tool_digest
from aioc_opa.errors import ToolRegistrationError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from aioc_opa.core.tool_schemas.protocol import ToolSchema
    from aioc_opa.models.invocation import Invocation

TOOL_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,127}")
MAX_COST: Final = 16
"""The largest `resource_budget` of a `ToolAuthorizationRequest`."""

MAX_HANDLER_SECONDS: Final = 86_400

_VERSION: Final = re.compile(r"[!-~]{1,32}")


@dataclass(frozen=True, kw_only=True)  # no slots: the digest is kept once it has been asked for
class RegisteredTool:
    """One registration. Immutable: a permit holds the one it was made for.

    Attributes:
        name: ASCII name, 1 to 128 characters.
        version: the tool's version, 1 to 32 printable ASCII characters.
        description: shown to models and reviewers.
        schema: compiled argument schema.
        handler: what runs; never handed out.
        inject: providers of the parameters that the application fills in, by parameter name.
        once: whether its effect may happen only once for a call of a run, whoever retries.
        cost: units of a budget that one call takes, 1 to 16.
        handler_seconds: how long its handler may take; None: as long as it likes.
    """

    name: str
    version: str | None
    description: str
    schema: ToolSchema
    handler: Callable[..., Any]
    inject: Mapping[str, Callable[[Invocation], Any]]
    once: bool = False
    cost: int = 1
    handler_seconds: float | None = None

    @cached_property
    def digest(self) -> str:
        """SHA-256 over name, description and schema: what an approval is bound to (design 3.5)."""
        return tool_digest(name=self.name, description=self.description, schema=self.schema.export())


class ToolRegistry:
    """Registered tools by name. Thread-safe; a tool cannot be replaced."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tools: dict[str, RegisteredTool] = {}
        self._folded: dict[str, str] = {}

    def add(self, tool: RegisteredTool) -> None:
        """Register `tool`.

        Raises:
            ToolRegistrationError: its name or version is not acceptable, or the name is taken.
        """
        if TOOL_NAME.fullmatch(tool.name) is None:
            raise ToolRegistrationError(
                f"tool name {tool.name[:140]!a}: use 1 to 128 of A-Z a-z 0-9 _ . : / -, beginning with A-Z a-z 0-9 _"
            )
        if tool.version is not None and _VERSION.fullmatch(tool.version) is None:
            raise ToolRegistrationError(f"tool {tool.name!r}: version must be 1 to 32 printable ASCII characters")
        if type(tool.once) is not bool:
            raise ToolRegistrationError(f"tool {tool.name!r}: once must be True or False")
        if type(tool.cost) is not int or not 1 <= tool.cost <= MAX_COST:
            raise ToolRegistrationError(f"tool {tool.name!r}: cost must be an integer of 1 to {MAX_COST}")
        seconds = tool.handler_seconds
        if seconds is not None and (type(seconds) not in {int, float} or not 0 < seconds <= MAX_HANDLER_SECONDS):
            raise ToolRegistrationError(
                f"tool {tool.name!r}: handler_seconds must be above 0 and at most {MAX_HANDLER_SECONDS}, or None"
            )
        folded = tool.name.casefold()
        with self._lock:
            taken = self._folded.get(folded)
            if taken is not None:
                raise ToolRegistrationError(
                    f"tool {tool.name!r}: {taken!r} is registered already"
                    + ("" if taken == tool.name else ", and the two are equal when case is folded")
                )
            self._folded[folded] = tool.name
            self._tools[tool.name] = tool

    def find(self, name: object) -> RegisteredTool | None:
        """The tool of exactly this name."""
        return self._tools.get(name) if type(name) is str else None

    def names(self) -> tuple[str, ...]:
        """All names, sorted."""
        return tuple(sorted(self._tools))

    def all(self) -> tuple[RegisteredTool, ...]:
        """All registrations, by name."""
        return tuple(self._tools[name] for name in self.names())


def require_callable(name: str, handler: object) -> None:
    """Refuse handlers whose body would run after the checks have ended.

    Raises:
        ToolRegistrationError: not callable, or a generator function.
    """
    if not callable(handler):
        raise ToolRegistrationError(f"tool {name!r}: the handler is not callable")
    call = getattr(handler, "__call__", None)  # noqa: B004 - asks for the method of a callable object
    if any(inspect.isgeneratorfunction(f) or inspect.isasyncgenfunction(f) for f in (handler, call)):
        raise ToolRegistrationError(
            f"tool {name!r}: the handler is a generator; its body would run after the arguments were checked. "
            "Return a value, or start the stream from inside an ordinary function"
        )


def is_async(handler: object) -> bool:
    """Whether calling `handler` gives a coroutine."""
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(getattr(handler, "__call__", None))  # noqa: B004 - asks for the method, not whether it is callable
