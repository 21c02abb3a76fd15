"""Decisions a second at 1, 8 and 32 callers: threads, tasks, and `wrk` against the same OPA."""

from __future__ import annotations

import asyncio
import re
import shutil
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from aioc_opa import AsyncOpaServerEngine, OpaServerEngine
from bench.contenders import TARGET, guard_async, guard_sync

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

SECONDS = 4.0
CALLERS = (1, 8, 32)


def threads(port: int, callers: int) -> float:
    ask = guard_sync(OpaServerEngine(f"http://127.0.0.1:{port}"))
    counts = [0] * callers
    end = time.monotonic() + SECONDS

    def work(slot: int) -> None:
        while time.monotonic() < end:
            ask()
            counts[slot] += 1

    workers = [threading.Thread(target=work, args=(slot,)) for slot in range(callers)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sum(counts) / SECONDS


def tasks(loop: asyncio.AbstractEventLoop, port: int, callers: int) -> float:
    ask: Callable[[], Awaitable[None]] = guard_async(AsyncOpaServerEngine(f"http://127.0.0.1:{port}"))

    async def work(end: float) -> int:
        count = 0
        while loop.time() < end:
            await ask()
            count += 1
        return count

    async def run() -> float:
        end = loop.time() + SECONDS
        return sum(await asyncio.gather(*(work(end) for _ in range(callers)))) / SECONDS

    return loop.run_until_complete(run())


def wrk(port: int, callers: int, body: bytes) -> float | None:
    """Requests a second that `wrk` gets; None where it is not installed."""
    program = shutil.which("wrk")
    if program is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "post.lua"
        quoted = body.decode().replace("\\", "\\\\").replace("'", "\\'")
        script.write_text(
            f"wrk.method = 'POST'\nwrk.headers['Content-Type'] = 'application/json'\nwrk.body = '{quoted}'\n"
        )
        command = [program, "-t", "1", "-c", str(callers), "-d", f"{SECONDS:.0f}s", "-s", str(script)]
        done = subprocess.run(
            [*command, f"http://127.0.0.1:{port}{TARGET}"], capture_output=True, text=True, check=True
        )
    found = re.search(r"Requests/sec:\s+([0-9.]+)", done.stdout)
    if found is None or "Non-2xx" in done.stdout:
        raise SystemExit(f"bench: wrk failed:\n{done.stdout}")
    return float(found[1])


def measure(loop: asyncio.AbstractEventLoop, port: int, body: bytes) -> list[dict[str, float | None]]:
    """One row a number of callers."""
    return [
        {
            "callers": callers,
            "threads": threads(port, callers),
            "tasks": tasks(loop, port, callers),
            "wrk": wrk(port, callers, body),
        }
        for callers in CALLERS
    ]
