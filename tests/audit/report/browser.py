"""A headless Chromium, spoken to over a pipe (DevTools protocol, messages that end with a null): no port, no library."""

from __future__ import annotations

import base64
import json
import os
import select
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from pathlib import Path

_SECONDS = 60

# The protocol's descriptors are 3 and 4; they are put there in a process of its own, without preexec_fn beside threads.
_LAUNCH = """
import fcntl, os, sys
ours = [fcntl.fcntl(int(number), fcntl.F_DUPFD, 10) for number in sys.argv[1:3]]
os.dup2(ours[0], 3)
os.dup2(ours[1], 4)
for number in ours:
    os.close(number)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """One browser with one tab.

    Attributes:
        events: what the tab has said on its own since the last page was opened.
    """

    def __init__(self, binary: Path, profile: Path) -> None:
        ours, its_output = os.pipe()
        its_input, self._to = os.pipe()
        self._from = ours
        command = [
            str(binary), "--headless=new", "--remote-debugging-pipe", f"--user-data-dir={profile}", "--no-first-run",
            "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking", "--disable-extensions",
            "--no-default-browser-check", "--disable-sync", "--hide-scrollbars", "--force-color-profile=srgb",
            # Chromium refuses its own sandbox to root, as whom containers run; the pages are our own.
            *(["--no-sandbox"] if os.geteuid() == 0 else []),
            "about:blank",
        ]  # fmt: skip

        launched = [sys.executable, "-I", "-S", "-c", _LAUNCH, str(its_input), str(its_output), *command]
        self._log = (profile / "log").open("wb")
        self._process = subprocess.Popen(
            launched, pass_fds=(its_input, its_output), stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log
        )
        os.close(its_input)
        os.close(its_output)
        self._buffer = b""
        self._number = 0
        self.events: list[dict[str, Any]] = []
        self._session: str | None = None
        try:
            target = self.do("Target.createTarget", url="about:blank")["targetId"]
            self._session = self.do("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            for domain in ("Page", "Network", "Log", "Runtime"):
                self.do(f"{domain}.enable")
        except BaseException:
            self._end(seconds=0)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._session = None
            self.do("Browser.close")
        finally:
            self._end(seconds=10)

    def do(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Run a command and return its result."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, (method, answer["error"])
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def open(self, path: Path) -> None:
        """Open a file and wait until it is loaded."""
        self.events.clear()
        self.do("Page.navigate", url=path.as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._next())

    def value(self, expression: str) -> Any:
        """What an expression is in the page. The page's own policy does not hold for the protocol."""
        answer = self.do("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def size(self, width: int, height: int = 900) -> None:
        self.do("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def scheme(self, name: str) -> None:
        self.do("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def screenshot(self, path: Path) -> None:
        """Of the whole page."""
        answer = self.do("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(answer["data"]))

    def requested(self) -> list[str]:
        """Addresses that the page has asked for."""
        sent = (event for event in self.events if event.get("method") == "Network.requestWillBeSent")
        return [event["params"]["request"]["url"] for event in sent]

    def complaints(self) -> list[str]:
        """What stands in the console."""
        entries = (event for event in self.events if event.get("method") == "Log.entryAdded")
        return [event["params"]["entry"]["text"] for event in entries]

    def _end(self, *, seconds: float) -> None:
        os.close(self._to)
        os.close(self._from)
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()

    def _next(self) -> dict[str, Any]:
        end = time.monotonic() + _SECONDS
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._from], [], [], max(0.0, end - time.monotonic()))
            piece = os.read(self._from, 65536) if ready else b""
            if not piece:
                raise RuntimeError("the browser has gone, or says nothing; its log is in its profile folder")
            self._buffer += piece
        message, _, self._buffer = self._buffer.partition(b"\0")
        answer: dict[str, Any] = json.loads(message)
        return answer
