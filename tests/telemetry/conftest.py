"""The SDK in memory, a collector, and an OPA that traces to it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from tests.opa_process import OpaProcess

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
from tests.telemetry.otel_cases import POLICY, Collector, Telemetry


@pytest.fixture
def telemetry() -> Iterator[Telemetry]:
    made = Telemetry()
    yield made
    made.close()


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    server = Collector()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def opa(opa_binary: Path, tmp_path_factory: pytest.TempPathFactory, collector: Collector) -> Iterator[OpaProcess]:
    settings = {
        "decision_logs.console": "true",
        "distributed_tracing.type": "http",
        "distributed_tracing.address": f"127.0.0.1:{collector.server_address[1]}",
        "distributed_tracing.sample_percentage": "100",
    }
    arguments = [f"--set={name}={value}" for name, value in settings.items()]
    folder = tmp_path_factory.mktemp("opa")
    with OpaProcess(opa_binary, folder, policies={"t.rego": POLICY}, arguments=arguments) as process:
        yield process
