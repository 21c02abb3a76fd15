"""The ways of asking that are compared: each a function that asks once and fails loudly when it is not allowed."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
from typing import TYPE_CHECKING, Any

from opa_client.opa import OpaClient
from opa_client.opa_async import AsyncOpaClient

from aioc_opa import AsyncOpaServerEngine, AsyncToolGuard, EmbeddedEngine, OpaServerEngine, ToolGuard, UnsafeAnyRevision
from bench.call import OPTIONS, RAW, prepare_only, register

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

TARGET = "/v1/data/aioc/tool_policy/decision?strict-builtin-errors=true&provenance=true"
ANY = UnsafeAnyRevision()


def _must(allowed: bool) -> None:  # noqa: FBT001 - one flag is the whole meaning
    if not allowed:
        raise SystemExit("bench: a contender was not allowed; the numbers would mean nothing")


def raw_socket(family: int, address: Any, body: bytes) -> Callable[[], None]:
    """The floor: a prebuilt request, one send, receive until the body's end; nothing is parsed."""
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.connect(address)
    if family == socket.AF_INET:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    request = (
        f"POST {TARGET} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode() + body

    def ask() -> None:
        sock.sendall(request)
        data = sock.recv(65536)
        while not data.endswith(b"}\n"):
            data += sock.recv(65536)
        _must(b'"decision":"allow"' in data)

    return ask


def stdlib_http_client(port: int, body: bytes, decision: str = "allow") -> Callable[[], None]:
    wanted = f'"decision":"{decision}"'.encode()
    connection = http.client.HTTPConnection("127.0.0.1", port)
    headers = {"Content-Type": "application/json"}

    def ask() -> None:
        connection.request("POST", TARGET, body, headers)
        _must(wanted in connection.getresponse().read())

    return ask


def opa_python_client(port: int, body: bytes) -> Callable[[], None]:
    client = OpaClient(host="127.0.0.1", port=port)
    question = json.loads(body)["input"]

    def ask() -> None:
        answer = client.query_rule(question, "aioc.tool_policy", "decision")
        _must(answer["result"]["decision"] == "allow")

    return ask


def guard_sync(engine: Any) -> Callable[[], None]:
    guard = ToolGuard(engine, revision_gate=ANY)
    register(guard)

    def ask() -> None:
        _must(guard.authorize("order", RAW, **OPTIONS).code == "allowed")

    return ask


def guard_prepare() -> Callable[[], None]:
    guard = ToolGuard(OpaServerEngine("http://127.0.0.1:1"), revision_gate=ANY)
    register(guard)
    return lambda: prepare_only(guard)


def engine_sync(engine: Any, body: bytes) -> Callable[[], None]:
    """The engine alone: post, parse, decode; no guard."""
    from aioc_opa.engines.deadline import Deadline  # noqa: PLC0415 - beside its only use
    from aioc_opa.engines.protocol import TOOL_POLICY_PATH  # noqa: PLC0415

    def ask() -> None:
        answer = engine.evaluate(TOOL_POLICY_PATH, body, Deadline.after(5.0))
        _must(answer.result["decision"] == "allow")

    return ask


def guard_async(engine: Any) -> Callable[[], Awaitable[None]]:
    guard = AsyncToolGuard(engine, revision_gate=ANY)
    register(guard)

    async def ask() -> None:
        _must((await guard.authorize("order", RAW, **OPTIONS)).code == "allowed")

    return ask


def opa_python_client_async(port: int, body: bytes) -> Callable[[], Awaitable[None]]:
    client = AsyncOpaClient(host="127.0.0.1", port=port)
    question = json.loads(body)["input"]

    opened: list[AsyncOpaClient] = []

    async def ask() -> None:
        if not opened:  # its session belongs to the loop that it is opened in
            opened.append(await client.__aenter__())
        answer = await client.query_rule(question, "aioc.tool_policy", "decision")
        _must(answer["result"]["decision"] == "allow")

    return ask


def on_loop(loop: asyncio.AbstractEventLoop, ask: Callable[[], Awaitable[None]], repeat: int) -> list[float]:
    """Latencies of `repeat` questions, one after another, measured inside the loop."""

    async def run() -> list[float]:
        times = []
        for _ in range(repeat):
            start = loop.time()
            await ask()
            times.append(loop.time() - start)
        return times

    return loop.run_until_complete(run())


def sync_contenders(port: int, unix: Path, body: bytes, policy: Path) -> dict[str, Callable[[], None]]:
    """Everything that is asked synchronously, the floor and the peers first."""
    tcp = OpaServerEngine(f"http://127.0.0.1:{port}")
    uds = OpaServerEngine(f"unix:{unix}")
    return {
        "raw socket, TCP (floor)": raw_socket(socket.AF_INET, ("127.0.0.1", port), body),
        "raw socket, Unix (floor)": raw_socket(socket.AF_UNIX, str(unix), body),
        "http.client": stdlib_http_client(port, body),
        "opa-python-client": opa_python_client(port, body),
        "engine alone, TCP": engine_sync(OpaServerEngine(f"http://127.0.0.1:{port}"), body),
        "guard.authorize, TCP": guard_sync(tcp),
        "guard.authorize, Unix": guard_sync(uds),
        "guard.authorize, embedded": guard_sync(EmbeddedEngine(policy)),
        "steps 2 to 4 only": guard_prepare(),
    }


def async_contenders(port: int, unix: Path, body: bytes) -> dict[str, Callable[[], Awaitable[None]]]:
    """Everything that is asked from an event loop."""
    return {
        "opa-python-client, async": opa_python_client_async(port, body),
        "guard.authorize, async TCP": guard_async(AsyncOpaServerEngine(f"http://127.0.0.1:{port}")),
        "guard.authorize, async Unix": guard_async(AsyncOpaServerEngine(f"unix:{unix}")),
    }
