"""A load balancer as a Service of Kubernetes is one: it spreads connections over the servers that are ready.

``python -m tests.deployment.parts.balancer PORT SERVER_PORT…``. A connection stays where it went: a server that hangs
keeps the ones that it has. One that refuses a connection is passed over. Ready is who answers `/health?bundles` with 200.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import closing, suppress

PROBE_SECONDS = 1.0
PAUSE_SECONDS = 0.05


class Balancer:
    """Round robin over the servers that are ready."""

    def __init__(self, ports: list[int]) -> None:
        self.ports = ports
        self.ready: set[int] = set()
        self.turn = 0

    async def probe(self, port: int) -> None:
        while True:
            try:
                async with asyncio.timeout(PROBE_SECONDS):
                    fine = await healthy(port)
            except (OSError, TimeoutError):
                fine = False
            (self.ready.add if fine else self.ready.discard)(port)
            await asyncio.sleep(PAUSE_SECONDS)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer):
            server = await self.connected()
            if server is None:
                return
            with closing(server[1]):
                there = asyncio.create_task(pump(reader, server[1]))
                back = asyncio.create_task(pump(server[0], writer))
                _, open_ones = await asyncio.wait({there, back}, return_when=asyncio.FIRST_COMPLETED)
                for task in open_ones:
                    task.cancel()
                await asyncio.gather(*open_ones, return_exceptions=True)

    async def connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        for _ in self.ports:
            self.turn += 1
            port = self.ports[self.turn % len(self.ports)]
            if port in self.ready:
                with suppress(OSError):
                    return await asyncio.open_connection("127.0.0.1", port)
        return None


async def healthy(port: int) -> bool:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    with closing(writer):
        writer.write(b"GET /health?bundles HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        return (await reader.read(64)).startswith(b"HTTP/1.1 200")


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while some := await reader.read(65_536):
            writer.write(some)
            await writer.drain()


async def main(port: int, ports: list[int]) -> None:
    balancer = Balancer(ports)
    server = await asyncio.start_server(balancer.serve, "127.0.0.1", port, reuse_address=True)
    async with server:
        await asyncio.gather(server.serve_forever(), *map(balancer.probe, ports))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), [int(port) for port in sys.argv[2:]]))
