"""A proposed call or handoff as the application gives it, and the checks on what surrounds the arguments.

What fails here denies with ``policy_input_invalid``: exact types only, so that nothing that merely behaves like a
`RunContext` or a name can be judged as one thing and mean another.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Required, TypedDict, Unpack

from aioc_opa.core.canonical_json import NotCanonicalError
from aioc_opa.models.invocation import Invocation
from aioc_opa.models.principal import Principal
from aioc_opa.models.run_context import RunContext

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MAX_NAME: Final = 256
MAX_METADATA_NAME: Final = 128
MAX_TURN: Final = 2**31


class CallOptions(TypedDict, total=False):
    """Keyword arguments of `authorize` and `call`: what surrounds the arguments of one call.

    Attributes:
        agent_name: the agent that proposes the call; required.
        run_context: the run and what the application knows; never from the model.
        turn: turn of the run, from 0; default 0.
        call_id: the provider's id of the call; made when absent.
        principal: the authenticated identity behind the call.
        run_started_by: identity of who started the run; under separation of duties it may not approve.
        capability: the capability that the call is made under, for the access gate.
        provider: the model's provider, for the access gate.
        model: the model's name, for the access gate.
    """

    agent_name: Required[str]
    run_context: RunContext | None
    turn: int
    call_id: str | None
    principal: Principal | None
    run_started_by: str | None
    capability: str | None
    provider: str | None
    model: str | None


class WaitingOptions(CallOptions, total=False):
    """Keyword arguments of `call`: those of `authorize`, and how long to wait for a person.

    Attributes:
        wait: seconds to wait for the decision of a held call; without it the held call is delivered at once.
        renew_run_context: gives the run context after the wait, for the world has moved; the first one without it.
    """

    wait: float | None
    renew_run_context: Callable[[], RunContext] | None


class ResumeOptions(TypedDict, total=False):
    """Keyword arguments of `authorize_resume` and `resume`. All else comes from the store (design 3.5).

    Attributes:
        principal: the authenticated caller; the one that the call was held for.
        run_context: what the application knows now; its run id, where given, is that of the held call.
        capability: as in `CallOptions`.
        provider: as in `CallOptions`.
        model: as in `CallOptions`.
    """

    principal: Principal | None
    run_context: RunContext | None
    capability: str | None
    provider: str | None
    model: str | None


class _HandoffRest(TypedDict, total=False):
    run_context: RunContext | None
    turn: int
    principal: Principal | None


class HandoffOptions(_HandoffRest):
    """Keyword arguments of `authorize_handoff`; as in `CallOptions`, with the agent that hands over."""

    from_agent_name: Required[str]


class SurroundingsError(ValueError):
    """What surrounds the arguments cannot be judged. The message has places and types, never values."""


@dataclass(slots=True, kw_only=True)
class Surroundings:
    """Everything about a call but its arguments, checked.

    Attributes:
        request_id: random, 32 hex digits, one a question.
        call_id: the application's, else random.
        run_id: likewise.
        run_id_given: whether the application gave it; made ones tell no two runs apart.
        call_id_given: likewise.
    """

    request_id: str
    agent_name: str
    call_id: str
    run_id: str
    run_id_given: bool
    call_id_given: bool
    turn: int
    run_context: RunContext
    principal: Principal | None
    run_started_by: str | None = None
    capability: str | None = None
    provider: str | None = None
    model: str | None = None

    @property
    def tenant(self) -> str | None:
        """The principal's tenant."""
        return None if self.principal is None else self.principal.tenant

    def invocation(self, tool_name: str) -> Invocation:
        """What the providers of injected context see."""
        return Invocation(
            agent_name=self.agent_name,
            tool_name=tool_name,
            call_id=self.call_id,
            run_id=self.run_id,
            turn=self.turn,
            run_context=self.run_context,
            principal=self.principal,
        )


@dataclass(slots=True, kw_only=True)
class CallRequest:
    """One proposed call, unchecked.

    Attributes:
        target: the tool's name, or the agent that is handed over to.
        raw_arguments: the provider's string, or a plain dict.
        agent_name: the agent that proposes.
    """

    target: str
    raw_arguments: object
    agent_name: str
    run_context: RunContext | None = None
    turn: int = 0
    call_id: str | None = None
    principal: Principal | None = None
    run_started_by: str | None = None
    capability: str | None = None
    provider: str | None = None
    model: str | None = None

    @classmethod
    def of_call(cls, target: str, raw_arguments: object, **options: Unpack[CallOptions]) -> CallRequest:
        """A tool call.

        Raises:
            TypeError: an option is missing or unknown, as for any function.
        """
        check_options(options, required="agent_name", known=CallOptions.__annotations__)
        return cls(target=target, raw_arguments=raw_arguments, **options)

    @classmethod
    def of_handoff(cls, target: str, raw_payload: object, **options: Unpack[HandoffOptions]) -> CallRequest:
        """A handoff; `target` is the agent that is handed over to.

        Raises:
            TypeError: an option is missing or unknown, as for any function.
        """
        check_options(options, required="from_agent_name", known=HandoffOptions.__annotations__)
        rest: _HandoffRest = {k: v for k, v in options.items() if k != "from_agent_name"}  # type: ignore[assignment] # the rest of a checked TypedDict
        return cls(target=target, raw_arguments=raw_payload, agent_name=options["from_agent_name"], **rest)

    def surroundings(self) -> Surroundings:
        """Check what surrounds the arguments, and make the ids that were not given.

        Raises:
            SurroundingsError: something is not of exactly the right type or size; says what.
        """
        random = os.urandom(48).hex()
        run_context = RunContext() if self.run_context is None else self.run_context
        if type(run_context) is not RunContext or type(run_context.context) is not dict:
            raise SurroundingsError(f"run_context must be a RunContext, not {type(run_context).__name__}")
        if self.principal is not None and type(self.principal) is not Principal:
            raise SurroundingsError(f"principal must be a Principal, not {type(self.principal).__name__}")
        if type(self.turn) is not int or not 0 <= self.turn <= MAX_TURN:
            raise SurroundingsError(f"turn must be an integer of 0 to {MAX_TURN}")
        return Surroundings(
            request_id=random[:32],
            agent_name=checked_name("agent_name", self.agent_name),
            call_id=random[32:64] if self.call_id is None else checked_name("call_id", self.call_id),
            run_id=random[64:]
            if run_context.run_id is None
            else checked_name("run_context.run_id", run_context.run_id),
            run_id_given=run_context.run_id is not None,
            call_id_given=self.call_id is not None,
            turn=self.turn,
            run_context=run_context,
            principal=self.principal,
            run_started_by=_optional_name("run_started_by", self.run_started_by),
            capability=_optional_name("capability", self.capability),
            provider=_optional_name("provider", self.provider),
            model=_optional_name("model", self.model),
        )


def checked_name(place: str, name: object) -> str:
    """A name of 1 to `MAX_NAME` characters.

    Raises:
        SurroundingsError: it is not; names the place.
    """
    if type(name) is not str or not 1 <= len(name) <= MAX_NAME:
        raise SurroundingsError(f"{place} must be a str of 1 to {MAX_NAME} characters")
    return name


def _optional_name(place: str, name: object) -> str | None:
    if name is not None and (type(name) is not str or not 1 <= len(name) <= MAX_METADATA_NAME):
        raise SurroundingsError(f"{place} must be a str of 1 to {MAX_METADATA_NAME} characters")
    return name


def problem_of(error: Exception) -> str:
    """What an operator may read about why the surroundings of a call were refused: places and types, no values."""
    if isinstance(error, SurroundingsError):
        return str(error)
    if isinstance(error, NotCanonicalError):
        place = "".join(f"[{part!r}]" for part in error.path)
        return f"a name, the principal, or run_context.context{place}: {error.problem}"
    return type(error).__name__


def check_options(options: Mapping[str, object], *, required: str | None, known: Mapping[str, object]) -> None:
    """Refuse keyword options as any function would.

    Raises:
        TypeError: the required one is missing, or one is unknown.
    """
    if required is not None and required not in options:
        raise TypeError(f"{required} is required: pass {required}=… as a keyword")
    for name in options:
        if name not in known:
            raise TypeError(f"unknown option {name!r}: there are {', '.join(known)}")


def run_context_of(document: Mapping[str, object]) -> RunContext:
    """A `RunContext` from its wire form ``{"runId"?, "context": {…}}``.

    Raises:
        pydantic.ValidationError: it is not of that form.
    """
    return RunContext.model_validate(document, by_alias=True, by_name=False)
