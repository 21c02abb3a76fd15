"""Registration: ASCII names, no two equal when case is folded, and no bare function behind a tool."""

from __future__ import annotations

import gc
import inspect
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa.async_guard import AsyncToolGuard
from aioc_opa.errors import ConfigurationError, ToolRegistrationError
from aioc_opa.guard import ToolGuard
from aioc_opa.revision_gate import UnsafeAnyRevision, UnsafeAnyRevisionWarning
from tests.doubles import ScriptedEngine

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator


@pytest.fixture
def guard() -> ToolGuard:
    return ToolGuard(ScriptedEngine(), revision_gate=UnsafeAnyRevision())


def pay(amount: int) -> int:
    """Pay an amount."""
    return amount


@pytest.mark.parametrize("name", ["", " ", "p y", "päy", "раy", "pay\n", "-pay", "a" * 129, "pay\x00", "pay\u200b"])
def test_a_name_that_is_not_plain_ascii_is_refused(guard: ToolGuard, name: str) -> None:
    with pytest.raises(ToolRegistrationError):
        guard.register_function(pay, name=name)


def test_a_name_is_taken_once_and_case_does_not_make_another(guard: ToolGuard) -> None:
    guard.register_function(pay)
    with pytest.raises(ToolRegistrationError, match="registered already"):
        guard.register_function(pay)
    with pytest.raises(ToolRegistrationError, match="case is folded"):
        guard.register_function(pay, name="PAY")
    assert guard.tools == ("pay",)


@pytest.mark.parametrize("version", ["", "v 1", "ü", "x" * 33])
def test_a_bad_version_is_refused(guard: ToolGuard, version: str) -> None:
    with pytest.raises(ToolRegistrationError, match="version"):
        guard.register_function(pay, version=version)


def test_a_decorated_tool_has_no_bare_function_behind_it(guard: ToolGuard) -> None:
    calls = []

    @guard.tool(version="1")
    def transfer(amount: int) -> int:
        """Move money."""
        calls.append(amount)
        return amount

    assert (transfer.name, transfer.version, transfer.description) == ("transfer", "1", "Move money.")
    assert not hasattr(transfer, "__wrapped__")
    assert not hasattr(transfer, "__dict__")
    unwrapped: Any = inspect.unwrap(transfer)
    assert unwrapped is transfer
    assert not any(callable(v) and not isinstance(v, type) for v in gc.get_referents(transfer))
    with pytest.raises(TypeError, match=r"guard\.call\('transfer'"):
        transfer(5)
    assert calls == []
    assert repr(transfer) == "<GuardedTool transfer>"


def test_an_injected_parameter_is_no_argument(guard: ToolGuard) -> None:
    seen = []

    @guard.tool(inject={"clerk": lambda call: call.principal or call.agent_name})
    def refund(amount: int, clerk: str) -> str:
        seen.append(clerk)
        return f"{clerk}:{amount}"

    assert guard.call("refund", '{"amount": 5}', agent_name="shop") == "shop:5"
    with pytest.raises(Exception, match="schema"):
        guard.call("refund", '{"amount": 5, "clerk": "boss"}', agent_name="shop")
    assert seen == ["shop"]


def test_generators_are_refused_since_their_body_runs_after_the_checks(guard: ToolGuard) -> None:
    def stream(n: int) -> Iterator[int]:
        yield n

    async def astream(n: int) -> AsyncIterator[int]:
        yield n

    class Streamer:
        def __call__(self, arguments: dict[str, Any]) -> Iterator[int]:
            yield 1

    for handler in (stream, astream, Streamer()):
        with pytest.raises(ToolRegistrationError, match="generator"):
            guard.register_json_schema("stream", {"type": "object"}, handler)


def test_forgotten_parentheses_are_refused(guard: ToolGuard) -> None:
    decorate: Any = guard.tool
    with pytest.raises(ToolRegistrationError, match="parentheses"):
        decorate(pay)


def test_a_handler_must_be_callable_and_fit_the_guard(guard: ToolGuard) -> None:
    async def later(arguments: dict[str, Any]) -> None:
        return None

    class Later:
        async def __call__(self, arguments: dict[str, Any]) -> None:
            return None

    not_callable: Any = "later"
    with pytest.raises(ToolRegistrationError, match="not callable"):
        guard.register_json_schema("later", {"type": "object"}, not_callable)
    for handler in (later, Later()):
        with pytest.raises(ToolRegistrationError, match="AsyncToolGuard"):
            guard.register_json_schema("later", {"type": "object"}, handler)


def test_a_guard_without_an_engine_fails_at_construction() -> None:
    nothing: Any = None
    for guard_class in (ToolGuard, AsyncToolGuard):
        with pytest.raises(ConfigurationError, match="needs an engine"):
            guard_class(nothing)
        with pytest.raises(TypeError):
            guard_class()


def test_a_guard_without_a_gate_warns_under_the_name_of_what_it_does() -> None:
    with pytest.warns(UnsafeAnyRevisionWarning, match="UnsafeAnyRevision") as caught:
        guard = ToolGuard(ScriptedEngine())
    assert caught[0].filename == __file__
    assert isinstance(guard.settings.gate, UnsafeAnyRevision)


@pytest.mark.parametrize(
    "settings",
    [
        {"deadline": 0}, {"deadline": -1}, {"deadline": float("nan")}, {"deadline": float("inf")}, {"deadline": "5"},
        {"deadline": 3601}, {"result_mode": "return"}, {"empty_arguments": "null"}, {"tool_path": "aioc/tool_policy/decision"},
        {"revision_gate": "abc"}, {"revision_gate": {"abc"}},
    ],
)  # fmt: skip
def test_a_setting_that_cannot_be_is_refused_by_name(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(settings))):
        ToolGuard(ScriptedEngine(), **{"revision_gate": UnsafeAnyRevision(), **settings})


def test_prepare_and_export_ask_nobody(guard: ToolGuard) -> None:
    guard.register_function(pay)
    assert guard.prepare("pay", '{"amount": 1}').args_canonical_json == '{"amount":1}'
    with pytest.raises(ToolRegistrationError):
        guard.prepare("play", "{}")
    assert guard.export_schemas()["pay"]["type"] == "object"
