"""Building a guard and registering tools: the same for `ToolGuard` and `AsyncToolGuard`."""

from __future__ import annotations

import inspect
import logging
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from aioc_opa.arrival import metadata_of
from aioc_opa.core.tool_schemas.function_schema import FunctionSchema
from aioc_opa.core.tool_schemas.json_schema import JsonSchemaTool
from aioc_opa.core.tool_schemas.pydantic_schema import PydanticSchema
from aioc_opa.errors import ToolRegistrationError
from aioc_opa.guard_core import GuardCore
from aioc_opa.guarded_tool import GuardedTool
from aioc_opa.tool_registry import RegisteredTool, is_async, require_callable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from aioc_opa.core.json_value import JsonObject
    from aioc_opa.core.preparation import PreparedCall
    from aioc_opa.core.tool_schemas.protocol import ToolSchema
    from aioc_opa.guard_settings import GuardSettings
    from aioc_opa.models.invocation import Invocation
    from aioc_opa.models.principal import Principal

    Provider = Callable[[Invocation], Any]

logger: Final = logging.getLogger("aioc_opa.guard")


class GuardBase:
    """Settings, registrations and the shared pipeline. Use `ToolGuard` or `AsyncToolGuard`."""

    _takes_async_handlers = False

    def __init__(self, settings: GuardSettings) -> None:
        settings.warn_without_gate(stacklevel=3)
        if settings.access is not None:
            settings.access.require_usable(asynchronous=self._takes_async_handlers)
        self._core = GuardCore(settings)

    @property
    def settings(self) -> GuardSettings:
        """The settings in force."""
        return self._core.settings

    @property
    def tools(self) -> tuple[str, ...]:
        """Names of the registered tools, sorted."""
        return self._core.registry.names()

    def tool(
        self,
        name: str | None = None,
        *,
        version: str | None = None,
        description: str | None = None,
        inject: Mapping[str, Provider] | None = None,
        once: bool = False,
        cost: int = 1,
        handler_seconds: float | None = None,
    ) -> Callable[[Callable[..., Any]], GuardedTool]:
        """Decorator: register a function whose signature is its schema. See `register_function`.

        Raises:
            ToolRegistrationError: the function cannot be judged faithfully, or the parentheses were forgotten.
        """
        if callable(name):
            raise ToolRegistrationError("write @guard.tool() with parentheses; without them nothing is registered")

        def register(function: Callable[..., Any]) -> GuardedTool:
            return self.register_function(
                function,
                name=name,
                version=version,
                description=description,
                inject=inject,
                once=once,
                cost=cost,
                handler_seconds=handler_seconds,
            )

        return register

    def register_function(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        version: str | None = None,
        description: str | None = None,
        inject: Mapping[str, Provider] | None = None,
        once: bool = False,
        cost: int = 1,
        handler_seconds: float | None = None,
    ) -> GuardedTool:
        """Register a function; its parameters are the tool's arguments.

        Args:
            function: annotated; no var-args. It receives the very values that were judged.
            name: tool name; the function's without one.
            version: the tool's version.
            description: the function's docstring without one.
            inject: parameters that the application fills in, each with a provider called just before the handler.
                They are no arguments: the model cannot set them, and they are outside the hash.
            once: the effect may happen only once for a call id of a run; a repeat is denied with
                ``call_already_executed``. Needs an approval store, and ids from the application.
            cost: units that one call takes from the budgets of the access gate, 1 to 16.
            handler_seconds: how long the function may take, seconds; without it as long as it likes. Past it `call`
                raises `ToolOutcomeUnknownError`: an async function has been cancelled, a plain one may still run.

        Raises:
            ToolRegistrationError: the function cannot be judged faithfully.
        """
        tool_name = getattr(function, "__name__", "") if name is None else name
        injected = dict(inject or {})
        schema = FunctionSchema(function, tool_name=tool_name, injected=frozenset(injected))
        text = inspect.getdoc(function) if description is None else description
        return self._add(
            tool_name,
            function,
            schema,
            version=version,
            description=text,
            inject=injected,
            once=once,
            cost=cost,
            handler_seconds=handler_seconds,
        )

    def register_model(
        self,
        name: str,
        arguments: Any,
        handler: Callable[..., Any],
        *,
        version: str | None = None,
        description: str = "",
        once: bool = False,
        cost: int = 1,
        handler_seconds: float | None = None,
    ) -> GuardedTool:
        """Register a tool whose arguments are one pydantic model or type; the handler gets the parsed object.

        Raises:
            ToolRegistrationError: the type cannot be judged faithfully.
        """
        return self._add(
            name,
            handler,
            PydanticSchema(arguments, tool_name=name),
            version=version,
            description=description,
            once=once,
            cost=cost,
            handler_seconds=handler_seconds,
        )

    def register_json_schema(
        self,
        name: str,
        schema: JsonObject,
        handler: Callable[..., Any],
        *,
        version: str | None = None,
        description: str = "",
        once: bool = False,
        cost: int = 1,
        handler_seconds: float | None = None,
    ) -> GuardedTool:
        """Register a tool that is described by a JSON Schema (MCP, OpenAI, Anthropic); the handler gets the dict.

        Raises:
            ToolRegistrationError: the schema is not usable.
        """
        return self._add(
            name,
            handler,
            JsonSchemaTool(schema, tool_name=name),
            version=version,
            description=description,
            once=once,
            cost=cost,
            handler_seconds=handler_seconds,
        )

    def visible_tools(self, principal: Principal | None, capability: str | None = None) -> tuple[str, ...]:
        """The tools that this caller could use at all, for a framework to offer no others to the model.

        Without an access gate that is every registered tool. It is no decision: each call is still judged.

        Returns:
            Names, sorted; none when the gate fails.
        """
        gate = self.settings.access
        if gate is None:
            return self.tools
        try:
            registered = [metadata_of(tool) for tool in self._core.registry.all()]
            offered = gate.visible(principal, capability, registered)
            return tuple(sorted(set(offered) & set(self.tools)))
        except Exception as error:  # noqa: BLE001 - whatever fails, nothing is offered
            logger.error("no tool is offered: the access gate raised %s", type(error).__name__)  # noqa: TRY400 - no values
            return ()

    def prepare(self, tool_name: str, raw_arguments: object) -> PreparedCall:
        """Steps 2 to 4 only, for inspection: nothing is asked, permitted or run.

        Raises:
            ToolRegistrationError: no such tool.
            ToolArgumentsValidationError: stage ``json`` or ``schema``.
        """
        tool = self._core.registry.find(tool_name)
        if tool is None:
            raise ToolRegistrationError(f"no tool {tool_name!r} is registered")
        return self._core.prepare(tool, raw_arguments)

    def export_schemas(self) -> dict[str, JsonObject]:
        """JSON Schema of each tool's canonical arguments, by tool name, for ``opa check --schema``."""
        return {tool.name: tool.schema.export() for tool in self._core.registry.all()}

    def _add(
        self,
        name: str,
        handler: Callable[..., Any],
        schema: ToolSchema,
        *,
        version: str | None,
        description: str | None,
        inject: Mapping[str, Provider] = MappingProxyType({}),
        once: bool,
        cost: int,
        handler_seconds: float | None,
    ) -> GuardedTool:
        require_callable(name, handler)
        if is_async(handler) and not self._takes_async_handlers:
            raise ToolRegistrationError(f"tool {name!r}: the handler is async; register it with AsyncToolGuard")
        tool = RegisteredTool(
            name=name,
            version=version,
            description=description or "",
            schema=schema,
            handler=handler,
            inject=MappingProxyType(dict(inject)),
            once=once,
            cost=cost,
            handler_seconds=handler_seconds,
        )
        if once and self._core.effects is None:
            raise ToolRegistrationError(
                f"tool {name!r}: once needs a store that remembers the calls: give the guard approvals=… or effects=…"
            )
        self._core.registry.add(tool)
        return GuardedTool(name=name, version=version, description=tool.description)
