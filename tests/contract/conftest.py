"""Every engine, synchronous and from an event loop, over the same policy."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa.engines.embedded import EmbeddedEngine
from aioc_opa.engines.local_opa import LocalOpaEngine
from aioc_opa.engines.opa_server import AsyncOpaServerEngine, OpaServerEngine
from aioc_opa.engines.protocol import DecisionPath
from tests.conftest import ROOT
from tests.opa_process import OpaProcess

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from aioc_opa.core.engine_answer import EngineAnswer
    from aioc_opa.engines.deadline import Deadline

POLICY = ROOT / "tests" / "policies" / "contract"

KINDS = ("server_tcp", "server_unix", "server_tcp_async", "local", "local_async", "embedded", "embedded_async")


RULES = (
    "allow", "deny", "hold", "undefined_rule", "misspelt", "allow/deeper_than_it_is", "just_true", "just_text",
    "looks_undefined", "just_null", "just_empty", "just_list", "unknown_field", "other_spelling", "no_echo",
    "other_hash", "other_request", "other_kind", "reserved_reason", "builtin_error", "lenient_allow", "conflict", "slow",
    "shows",
)  # fmt: skip
PATHS = [DecisionPath(f"contract/{rule}") for rule in RULES]


class OnLoop:
    """An asynchronous engine behind the synchronous protocol, on an event loop of its own."""

    def __init__(self, engine: Any) -> None:
        self.engine = engine
        self.name = engine.name
        self.loop = asyncio.new_event_loop()

    def evaluate(self, path: DecisionPath, body: bytes, deadline: Deadline) -> EngineAnswer:
        answer: EngineAnswer = self.loop.run_until_complete(self.engine.evaluate_async(path, body, deadline))
        return answer

    def close(self) -> None:
        if not self.loop.is_closed():
            self.loop.run_until_complete(self.engine.aclose())


@pytest.fixture(scope="session")
def opa_servers(opa_binary: Path) -> Iterator[dict[str, OpaProcess]]:
    # A short path: that of a Unix socket may have 108 bytes.
    with (
        tempfile.TemporaryDirectory(prefix="aioc") as one,
        tempfile.TemporaryDirectory(prefix="aioc") as other,
        OpaProcess(opa_binary, Path(one), paths=[POLICY]) as tcp,
        OpaProcess(opa_binary, Path(other), paths=[POLICY], unix=True) as unix,
    ):
        yield {"tcp": tcp, "unix": unix}


@pytest.fixture
def make_engine(opa_servers: dict[str, OpaProcess], opa_binary: Path) -> Iterator[Callable[[str], Any]]:
    made: list[Any] = []

    def make(kind: str) -> Any:
        tcp, unix = opa_servers["tcp"].url, opa_servers["unix"].url
        makers: dict[str, Callable[[], Any]] = {
            "server_tcp": lambda: OpaServerEngine(tcp),
            "server_unix": lambda: OpaServerEngine(unix),
            "server_tcp_async": lambda: OnLoop(AsyncOpaServerEngine(tcp)),
            "local": lambda: LocalOpaEngine(POLICY, opa_binary=opa_binary, decision_paths=PATHS),
            "local_async": lambda: OnLoop(LocalOpaEngine(POLICY, opa_binary=opa_binary, decision_paths=PATHS)),
            "embedded": lambda: EmbeddedEngine(POLICY),
            "embedded_async": lambda: OnLoop(EmbeddedEngine(POLICY)),
        }
        made.append(makers[kind]())
        return made[-1]

    yield make
    for engine in made:
        engine.close()
        if isinstance(engine, OnLoop):
            engine.loop.close()


@pytest.fixture(params=KINDS)
def engine(request: pytest.FixtureRequest, make_engine: Callable[[str], Any]) -> Any:
    return make_engine(request.param)
