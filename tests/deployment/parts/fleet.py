"""The whole set-up, run as plain processes: bundle server, two OPAs, balancer, PostgreSQL, and a service with guards."""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections import Counter
from contextlib import ExitStack, contextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Self

import requests

from aioc_opa.approvals.keys import SigningKey
from aioc_opa.approvals.stores import open_store
from aioc_opa.audit.keys import AuditKey
from aioc_opa.audit.sources import open_source
from tests.approvals.treasury import Treasury
from tests.deployment.parts.part import Part, python
from tests.deployment.parts.publisher import COUNTER, GUARD_TOKEN, signed_bundle
from tests.killed_postgres import OwnServer, own_server
from tests.opa_process import free_port

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SECONDS = 60.0
"""How long anything is waited for; nothing is expected to take so long."""

CLOSED = ["--authentication=token", "--authorization=basic", "--skip-version-check", "--log-level=error"]
GUARDS = ("required", "best_effort", "budget", "hasty", "counted")
PERSIST = "--set=bundles.tools.persist=true"


class Fleet:
    """All parts. `ask` asks the service, `vote` is a person somewhere else."""

    def __init__(self, folder: Path, opa_binary: Path, database: OwnServer) -> None:
        self.folder = folder
        self.database = database
        self.run = 0
        bundle, public_key = signed_bundle(folder, opa_binary)
        served = folder / "served"
        served.mkdir()
        shutil.copy(bundle, served)
        authority, writer = SigningKey.generate(), AuditKey.generate()
        (folder / "keys.json").write_text(json.dumps({"keys": [authority.public_entry().to_json()]}))
        writer.save(folder / "writer.key")
        writer.save_public(folder / "writer.pub.json")
        (folder / "token").write_text(GUARD_TOKEN)
        (folder / "effects").touch()
        bundles, *opas, balancer = (free_port() for _ in range(4))
        self.bundle_server = Part(
            folder / "bundles.log",
            [sys.executable, "-m", "http.server", "--bind", "127.0.0.1", "--directory", served, str(bundles)],
        )
        configuration = self.configuration(bundles)
        self.opa_ports = opas
        self.opas = [
            Part(
                folder / f"opa-{port}.log",
                [
                    opa_binary, "run", "--server", f"--addr=127.0.0.1:{port}", *CLOSED, "--config-file", configuration,
                    f"--set-file=keys.publisher.key={public_key}", f"--set=persistence_directory={folder}/opa-{port}",
                ],
            )
            for port in opas
        ]  # fmt: skip
        self.balancer = Part(folder / "balancer.log", python("tests.deployment.parts.balancer", balancer, *opas))
        self.opa_url = f"http://127.0.0.1:{balancer}"
        self.service = Part(
            folder / "service.log",
            python("tests.deployment.parts.service", folder, self.opa_url, self.database_url, COUNTER),
            talks=True,
        )
        self.store = open_store(self.database_url)
        self.treasury = Treasury(None, self.store, authority=authority)

    def configuration(self, port: int) -> Path:
        """OPA's configuration file, as the manifests have it; polling every second."""
        document = {
            "services": {"bundles": {"url": f"http://127.0.0.1:{port}", "response_header_timeout_seconds": 1}},
            "keys": {"publisher": {"algorithm": "RS256"}},
            "bundles": {
                "tools": {
                    "service": "bundles",
                    "resource": "tools.tar.gz",
                    "signing": {"keyid": "publisher"},
                    "polling": {"min_delay_seconds": 1, "max_delay_seconds": 1},
                }
            },
            "status": {"console": True},
            "decision_logs": {"console": True, "reporting": {"buffer_type": "event", "buffer_size_limit_events": 1000}},
        }
        file = self.folder / "opa.json"
        file.write_text(json.dumps(document))
        return file

    @property
    def database_url(self) -> str:
        """The server's address, with less patience for a connection than is usual."""
        return f"{self.database.url}{'&' if '?' in self.database.url else '?'}connect_timeout=2"

    @property
    def parts(self) -> list[Part]:
        return [self.bundle_server, *self.opas, self.balancer, self.service]

    def start(self) -> Self:
        for part in self.parts:
            part.start()
        self.until_it_works()
        return self

    def mend(self) -> None:
        """Whatever a test that failed has left broken: the next one finds a whole set-up."""
        self.database.start()
        self.database.go_on()
        for part in self.parts:
            if part.process is None:
                part.start()
            part.go_on()

    def end(self) -> None:
        self.store.close()
        for part in self.parts:
            part.end()

    def ask(self, do: str, guard: str = "required", **told: Any) -> dict[str, Any]:
        """What the service answers; `KeyError` where it has died over it."""
        self.tell(do, guard, **told)
        pipe = self.service.running.stdout
        assert pipe is not None
        answer: dict[str, Any] = json.loads(pipe.readline() or "{}")
        return answer

    def tell(self, do: str, guard: str = "required", **told: Any) -> None:
        """Ask, and do not wait for the answer."""
        pipe = self.service.running.stdin
        assert pipe is not None
        pipe.write(json.dumps({"do": do, "guard": guard, **told}) + "\n")
        pipe.flush()

    def new_run(self) -> str:
        self.run += 1
        return f"run-{self.run}"

    def call(self, guard: str = "required") -> tuple[str, int]:
        """What a call that needs no approval is told, and how often it had its effect."""
        run = self.new_run()
        said = self.ask("call", guard, to="A7", amount=50, run=run)["said"]
        return said, self.effects(run)

    def hold(self, to: str = "A7", run: str | None = None) -> dict[str, Any]:
        """What a call that needs an approval is told."""
        return self.ask("hold", to=to, amount=500, run=run or self.new_run())

    def approved(self, run: str, to: str = "A7") -> str:
        """The id of an approval that is ready to be used."""
        approval_id = str(self.hold(to, run)["approval"])
        self.treasury.vote(approval_id)
        return approval_id

    def resume(self, approval_id: str) -> str:
        return str(self.ask("resume", approval=approval_id)["said"])

    def effects(self, run: str) -> int:
        return self.lines("effects").count(run)

    def lines(self, name: str) -> list[str]:
        """What the service has noted."""
        file = self.folder / name
        return file.read_text().splitlines() if file.exists() else []

    def audit(self) -> list[dict[str, Any]]:
        """The contents of all records of the best-effort writer."""
        source = open_source(self.database_url)
        return [json.loads(line.content)["content"] for line in source.lines("service-best_effort")]

    def health(self, opa: Part) -> int | None:
        """The status of its health check; None while nobody answers."""
        try:
            return requests.get(f"http://127.0.0.1:{self.port_of(opa)}/health?bundles", timeout=5).status_code
        except requests.RequestException:
            return None

    def until_ready(self, opa: Part) -> None:
        until(lambda: self.health(opa) == HTTPStatus.OK)

    def persisted(self, opa: Part) -> Path | None:
        """The bundle that it keeps on disk, once there is one."""
        file = self.folder / f"opa-{self.port_of(opa)}" / "bundles" / "tools" / "bundle.tar.gz"
        return file if file.exists() else None

    def port_of(self, opa: Part) -> int:
        return self.opa_ports[self.opas.index(opa)]

    def denials_until_it_works(self, guard: str = "required") -> list[str]:
        """The denials before five calls in a row have run; what was denied had no effect, what ran had one."""
        denials: list[str] = []
        in_a_row, end = 0, time.monotonic() + SECONDS
        while in_a_row < 5:
            said, effects = self.call(guard)
            assert effects == (said == "ran")
            in_a_row = in_a_row + 1 if said == "ran" else 0
            if said != "ran":
                denials.append(said)
                time.sleep(0.05)
            assert time.monotonic() < end, Counter(denials)
        return denials

    def until_it_works(self) -> None:
        """Every guard works, without a restart of anything."""
        for guard in GUARDS:
            self.denials_until_it_works(guard)

    def until_said(self, wanted: str, guard: str = "required") -> set[str]:
        """Call until this is said; all that was said before."""
        before: set[str] = set()
        end = time.monotonic() + SECONDS
        while True:
            said, effects = self.call(guard)
            assert effects == (said == "ran")
            if said == wanted:
                return before
            before.add(said)
            assert time.monotonic() < end, (wanted, before)
            time.sleep(0.05)


@contextmanager
def fleet_in(folder: Path, opa_binary: Path) -> Iterator[Fleet]:
    """A fleet that ends with the block, in whatever state a test has left its parts."""
    with ExitStack() as ending:
        database = ending.enter_context(own_server())
        fleet = Fleet(folder, opa_binary, database)
        ending.callback(fleet.end)
        yield fleet.start()


def until(holds: Callable[[], Any]) -> Any:
    """Wait until `holds` gives something true, and return it."""
    end = time.monotonic() + SECONDS
    while not (found := holds()):
        assert time.monotonic() < end, holds
        time.sleep(0.02)
    return found
