"""A real Prometheus with deploy/prometheus and the arguments of docker-compose.yml scrapes a real OPA, with the operator's
token, and a real guard's exporter; every expression of dashboard and alerts is one that it takes.

The Debian package's version is older than the image's; both have to take the same files.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import prometheus_client
import pytest
import requests
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics import MeterProvider

from aioc_opa import OpaServerEngine, ToolGuard, UnsafeAnyRevision
from aioc_opa.telemetry.otel import OpenTelemetryObserver
from tests.deployment.promql import expressions
from tests.deployment.signed_opa import SignedOpa
from tests.opa_process import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def programs(repository: Path) -> Path:
    """The folder of the `prometheus` and `promtool` that `scripts/find-prometheus` found or unpacked."""
    found = subprocess.run(
        [sys.executable, repository / "scripts" / "find-prometheus"], capture_output=True, text=True, check=False
    )
    if found.returncode != 0:
        pytest.fail(found.stderr, pytrace=False)
    return Path(found.stdout.strip())


@pytest.fixture(scope="module")
def signed(
    opa_binary: Path, compose: dict[str, Any], repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SignedOpa]:
    folder = tmp_path_factory.mktemp("p")
    with SignedOpa(repository, folder, opa_binary, compose["services"]["opa-signed"]) as made:
        yield made


def configured(repository: Path, signed: SignedOpa, exporter: int) -> Path:
    """deploy/prometheus with the addresses and files that containers would map, scraping every second."""
    text = (repository / "deploy" / "prometheus" / "prometheus.yml").read_text()
    for inside, outside in {
        "opa-signed:8181": f"127.0.0.1:{signed.opa.port}",
        "host.docker.internal:9464": f"127.0.0.1:{exporter}",
        "/run/secrets/operator-token": str(signed.run / "operator-token"),
        "/etc/prometheus/alerts.yml": str(repository / "deploy" / "prometheus" / "alerts.yml"),
        "_interval: 15s": "_interval: 1s",
    }.items():
        assert inside in text
        text = text.replace(inside, outside)
    file = signed.folder / "prometheus.yml"
    file.write_text(text)
    return file


def test_promtool_finds_nothing_wrong_with_configuration_and_rules(
    programs: Path, repository: Path, signed: SignedOpa
) -> None:
    ran = subprocess.run(
        [programs / "promtool", "check", "config", "--lint=all", "--lint-fatal", configured(repository, signed, 1)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_it_scrapes_both_takes_every_expression_and_alarms_over_a_bundle_that_was_refused(
    programs: Path, repository: Path, signed: SignedOpa, compose: dict[str, Any], tmp_path: Path
) -> None:
    meters = MeterProvider(metric_readers=[PrometheusMetricReader()])
    exporter, thread = prometheus_client.start_http_server(0, addr="127.0.0.1")
    port = free_port()
    arguments = [
        argument.replace("/etc/prometheus/prometheus.yml", str(configured(repository, signed, exporter.server_port)))
        .replace("=/prometheus", f"={tmp_path / 'data'}")
        for argument in compose["services"]["prometheus"]["command"]
    ]  # fmt: skip
    with (tmp_path / "log").open("wb") as log:
        prometheus = subprocess.Popen(
            [programs / "prometheus", *arguments, f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log
        )

    def api(path: str, **parameters: str) -> Any:
        try:
            answer = requests.get(f"http://127.0.0.1:{port}/api/v1/{path}", params=parameters, timeout=10).json()
        except requests.RequestException:
            return None
        assert answer["status"] == "success", (parameters, answer)
        return answer["data"]

    def has(expression: str) -> bool:
        return bool((api("query", query=expression) or {"result": []})["result"])

    try:
        token = (signed.run / "guard-token").read_text()
        with OpaServerEngine(signed.opa.url, token=token) as engine:
            guard = ToolGuard(
                engine,
                revision_gate=UnsafeAnyRevision(),
                telemetry=OpenTelemetryObserver(meter_provider=meters),
                audit_codes=[],
            )
            guard.register_json_schema("think", {"type": "object"}, lambda _arguments: "")
            guard.authorize("think", "{}", agent_name="a")
        (signed.run / "bundles" / "tools.tar.gz").write_bytes(b"no bundle")
        signed.until(lambda: has('up{job="opa"} == 1') and has('up{job="guards"} == 1'))
        signed.until(lambda: has('aioc_opa_decisions_total{decision="allow"}') and has("last_success_bundle_request"))
        for expression, _ in expressions(repository).values():
            api("query", query=expression.replace("$__rate_interval", "1m"))
        signed.until(lambda: "OpaBundleRefused" in {each["labels"]["alertname"] for each in api("alerts")["alerts"]})
        (said,) = {each["annotations"]["summary"] for each in api("alerts")["alerts"]}
        assert said == "OPA did not take bundle tools: bundle_error. The old one decides on."
    finally:
        prometheus.terminate()
        prometheus.wait()
        exporter.shutdown()
        exporter.server_close()
        thread.join()
        meters.shutdown()
