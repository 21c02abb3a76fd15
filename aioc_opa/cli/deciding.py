"""Deciding calls from files: the tools of a list, one or two engines, and nothing that ever runs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final, NoReturn

from aioc_opa.cli.decision_document import Document, of_both, of_invalid_arguments, of_outcome
from aioc_opa.errors import InputFileError, ToolArgumentsValidationError, ToolRegistrationError
from aioc_opa.guard import ToolGuard
from aioc_opa.revision_gate import UnsafeAnyRevision

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aioc_opa.cli.call_document import CallDocument
    from aioc_opa.engines.protocol import DecisionPath, Engine
    from aioc_opa.revision_gate import RevisionGate
    from aioc_opa.tool_lists import ToolDefinition

_MOST_VERSIONS: Final = 64
"""Distinct `toolVersion`s in one run; each needs its own registrations."""

ANY_REVISION: Final = (
    "any policy revision counts: whoever can change this policy decides; name those that count (authorize and replay:"
    " --accept-revision; a guard: revision_gate)"
)


def make_guard(
    engine: Engine,
    tools: Sequence[ToolDefinition],
    *,
    path: DecisionPath,
    deadline: float,
    version: str | None = None,
    gate: RevisionGate | None = None,
) -> ToolGuard:
    """A guard for `tools` whose handlers refuse to run. Without a `gate` any policy revision counts.

    Raises:
        ConfigurationError: a setting or a tool is refused.
    """
    guard = ToolGuard(engine, deadline=deadline, tool_path=path, revision_gate=gate or UnsafeAnyRevision())
    for tool in tools:
        guard.register_json_schema(tool.name, tool.schema, never_runs, version=version, description=tool.description)
    return guard


def never_runs(arguments: dict[str, Any]) -> NoReturn:  # noqa: ARG001 - a handler's parameter
    """The handler of every tool here: this program decides, and runs nothing."""
    raise RuntimeError("aioc-opa decides calls; it does not run tools")


class Decider:
    """Decides calls one after the other.

    Args:
        engines: one, or two that must agree.
        tools: of the list.
        path: the decision path.
        deadline: seconds for one decision on one engine.
        gate: the policy revisions that count; None for any.

    Raises:
        ConfigurationError: a setting or a tool is refused.
    """

    def __init__(
        self,
        engines: Sequence[Engine],
        tools: Sequence[ToolDefinition],
        *,
        path: DecisionPath,
        deadline: float,
        gate: RevisionGate | None = None,
    ) -> None:
        self._engines = engines
        self._tools = tools
        self._path = path
        self._deadline = deadline
        self._gate = gate
        self._guards: dict[str | None, list[ToolGuard]] = {}
        self._of_version(None)

    def decide(self, call: CallDocument) -> tuple[Document, bool]:
        """The document of `call`, and whether the engines differ.

        Raises:
            InputFileError: its `toolVersion` is none, or there are too many of them.
        """
        try:
            guards = self._of_version(call.tool_version)
        except ToolRegistrationError as error:
            raise InputFileError(f"{call.source}: $.toolVersion: {error}") from None
        named = zip(guards, self._engines, strict=True)
        return of_both([_document(guard, engine.name, call) for guard, engine in named])

    def _of_version(self, version: str | None) -> list[ToolGuard]:
        guards = self._guards.get(version)
        if guards is None:
            if len(self._guards) > _MOST_VERSIONS:
                raise ToolRegistrationError(f"more than {_MOST_VERSIONS} versions in one run; split the file")
            guards = [
                make_guard(
                    engine, self._tools, path=self._path, deadline=self._deadline, version=version, gate=self._gate
                )
                for engine in self._engines
            ]
            self._guards[version] = guards
        return guards


def _document(guard: ToolGuard, engine: str, call: CallDocument) -> Document:
    started = time.perf_counter()
    try:
        outcome = guard.authorize(
            call.tool_name,
            call.arguments,
            agent_name=call.agent_name,
            run_context=call.run_context,
            turn=call.turn,
            call_id=call.call_id,
            principal=call.principal,
        )
    except ToolArgumentsValidationError as error:
        return of_invalid_arguments(error, engine, (time.perf_counter() - started) * 1000.0)
    return of_outcome(outcome, engine)
