"""Names: within the deadline whatever the resolver does, each address with its share of the time."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa.core.reasons import Reason
from aioc_opa.engines.deadline import Deadline
from aioc_opa.engines.http_endpoint import TlsFiles, parse_endpoint
from aioc_opa.engines.http_exchange import DeadlineError
from aioc_opa.engines.http_resolver import Resolver
from tests.engines.opa_server.test_real_opa import body
from tests.hostile.server import HostileServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.engines.opa_server.edges import SyncEdge

NAME = "opa.test"


class FakeNames:
    """Answers for `NAME` only."""

    def __init__(self) -> None:
        self.addresses: list[tuple[str, int]] = []
        self.calls = 0
        self.go_on = threading.Event()
        self.go_on.set()
        self.error: Exception | None = None

    def getaddrinfo(self, host: str, port: int, **_: Any) -> list[Any]:
        assert host == NAME
        self.calls += 1
        self.go_on.wait(30)
        if self.error is not None:
            raise self.error
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", address) for address in self.addresses]


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeNames]:
    fake = FakeNames()
    monkeypatch.setattr(socket, "getaddrinfo", fake.getaddrinfo)
    yield fake
    fake.go_on.set()


def address_of(server: HostileServer) -> tuple[str, int]:
    return "127.0.0.1", int(server.url.rpartition(":")[2])


def test_a_resolver_that_hangs_is_a_timeout_and_is_asked_once_for_all(names: FakeNames, edge: type[SyncEdge]) -> None:
    with HostileServer() as server, edge(f"http://{NAME}") as asked:
        names.addresses = [address_of(server)]
        names.go_on.clear()
        for _ in range(3):
            assert asked.failure(body(), seconds=0.05) is Reason.POLICY_TIMEOUT
        assert names.calls == 1
        names.go_on.set()
        assert asked.ask(body()).result


@pytest.mark.parametrize("error", [socket.gaierror(-2, "Name or service not known"), UnicodeError("label too long")])
def test_a_name_that_does_not_exist_is_unavailable_and_is_asked_again(
    names: FakeNames, edge: type[SyncEdge], error: Exception
) -> None:
    with HostileServer() as server, edge(f"http://{NAME}") as asked:
        names.error = error
        assert asked.failure(body()) is Reason.POLICY_UNAVAILABLE
        names.error = None
        names.addresses = [address_of(server)]
        assert asked.ask(body()).result


def test_a_name_without_addresses_is_unavailable(names: FakeNames, edge: type[SyncEdge]) -> None:
    with edge(f"http://{NAME}") as asked:
        assert asked.failure(body()) is Reason.POLICY_UNAVAILABLE


def test_the_second_address_is_tried_when_the_first_refuses(names: FakeNames, edge: type[SyncEdge]) -> None:
    nobody = HostileServer()
    with HostileServer() as server, edge(f"http://{NAME}") as asked:
        names.addresses = [address_of(nobody), address_of(server)]
        assert asked.ask(body()).result
        assert server.connections == 1
    nobody.close()


def test_the_second_address_has_time_left_when_the_first_swallows_packets(
    names: FakeNames, edge: type[SyncEdge]
) -> None:
    """A listener with a full backlog drops the handshake, as a black hole does."""
    with HostileServer() as server, socket.socket() as full, edge(f"http://{NAME}") as asked:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(full.getsockname())
        names.addresses = [full.getsockname(), address_of(server)]
        assert asked.ask(body(), seconds=1.0).result
        names.addresses = [full.getsockname()]
        for filler in fillers:
            filler.close()


def test_an_address_that_swallows_packets_is_a_timeout(edge: type[SyncEdge]) -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(full.getsockname())
        with edge(f"http://127.0.0.1:{full.getsockname()[1]}") as asked:
            assert asked.failure(body(), seconds=0.1) is Reason.POLICY_TIMEOUT
        for filler in fillers:
            filler.close()


def test_a_forked_child_does_not_wait_for_its_parents_lookup(names: FakeNames, monkeypatch: pytest.MonkeyPatch) -> None:
    resolver = Resolver(parse_endpoint(f"http://{NAME}", TlsFiles()))
    names.go_on.clear()
    with pytest.raises(DeadlineError):
        resolver.addresses(Deadline.after(0.05))
    monkeypatch.setattr(os, "getpid", lambda: -1)  # as in a child: another process, in which no lookup is running
    names.go_on.set()
    names.addresses = [("127.0.0.1", 1)]
    assert resolver.addresses(Deadline.after(10)) == [(socket.AF_INET, ("127.0.0.1", 1))]
    assert names.calls == 2


async def test_a_cancelled_waiter_does_not_cancel_the_lookup_of_others(names: FakeNames) -> None:
    resolver = Resolver(parse_endpoint(f"http://{NAME}", TlsFiles()))
    names.go_on.clear()
    first, second = asyncio.wrap_future(resolver.lookup()), asyncio.wrap_future(resolver.lookup())
    first.cancel()
    await asyncio.sleep(0)
    names.addresses = [("127.0.0.1", 1)]
    names.go_on.set()
    assert await second == [(socket.AF_INET, ("127.0.0.1", 1))]
