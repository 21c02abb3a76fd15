"""deploy/prometheus and deploy/grafana: every metric and label that they name is one that a real OPA and the guard's
observer, through the real Prometheus exporter of OpenTelemetry, give."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import prometheus_client
import pytest
import yaml
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics import MeterProvider

from aioc_opa import OpaServerEngine, Principal, ToolGuard, UnsafeAnyRevision
from aioc_opa.access.counters import AUTHORIZATION_DECISIONS
from aioc_opa.telemetry.otel import OpenTelemetryCounters, OpenTelemetryObserver
from tests.deployment.promql import expressions, selectors
from tests.deployment.signed_opa import SignedOpa

if TYPE_CHECKING:
    from pathlib import Path

CANARY = "canary-6d11"
MADE_BY_PROMETHEUS = {"up": {"job", "instance"}}
Shown = dict[str, dict[str, set[str]]]
"""Values by label by metric."""


def shown_by(*texts: str) -> Shown:
    """Read as Prometheus does: a name stays as it is (the parser of `prometheus_client` makes all counters end alike)."""
    found: Shown = defaultdict(lambda: defaultdict(set))
    for text in texts:
        for name, labels in re.findall(r"^([a-z_:][a-z0-9_:]*)(?:\{(.*)\})? [^ ]+$", text, re.MULTILINE):
            for label, value in re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels):
                found[name][label].add(value)
            found[name]["job"].add("opa" if text is texts[0] else "guards")
    return found


@pytest.fixture(scope="module")
def shown(
    opa_binary: Path, compose: dict[str, Any], repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> Shown:
    """What is scraped after decisions, a refusal, a failure and a bundle that was not taken."""
    reader = PrometheusMetricReader()
    meters = MeterProvider(metric_readers=[reader])
    folder = tmp_path_factory.mktemp("m")
    try:
        with SignedOpa(repository, folder, opa_binary, compose["services"]["opa-signed"]) as signed:
            token = (signed.run / "guard-token").read_text()
            with OpaServerEngine(signed.opa.url, token=token) as engine:
                guard = ToolGuard(
                    engine,
                    revision_gate=UnsafeAnyRevision(),
                    telemetry=OpenTelemetryObserver(meter_provider=meters),
                )
                guard.register_json_schema("think", {"type": "object"}, lambda _arguments: "")
                guard.register_json_schema("nobodys", {"type": "object"}, lambda _arguments: "")
                for tool in ("think", "nobodys"):
                    guard.authorize(
                        tool, json.dumps({"thought": CANARY}), agent_name="a", principal=Principal(identity="p")
                    )
            OpenTelemetryCounters(meters).add(AUTHORIZATION_DECISIONS, {"decision": "allow"})
            signed.ask(None, "GET", "/v1/policies")
            (signed.run / "bundles" / "tools.tar.gz").write_bytes(b"no bundle")
            signed.until(lambda: "bundle_error" in signed.metrics())
            texts = (signed.metrics(), prometheus_client.generate_latest().decode())
    finally:
        meters.shutdown()
    assert CANARY not in "".join(texts)
    return shown_by(*texts)


def test_every_metric_and_label_of_dashboard_and_alerts_is_there(repository: Path, shown: Shown) -> None:
    for what, (expression, legend) in expressions(repository).items():
        used = selectors(expression)
        assert used, what
        grouped = {
            label.strip() for labels in re.findall(r"\bby\s*\(([^)]*)\)", expression) for label in labels.split(",")
        }
        told = set(re.findall(r"\{\{\s*(\w+)\s*\}\}", legend))
        known: set[str] = set()
        for name, matchers in used:
            if name in MADE_BY_PROMETHEUS:
                known |= MADE_BY_PROMETHEUS[name]
                continue
            assert name in shown, (what, name)
            assert set(matchers) <= set(shown[name]), (what, name)
            known |= set(shown[name])
        assert grouped <= known, (what, grouped)
        assert told <= (grouped or known | {"instance"}), (what, told)


def test_every_value_that_is_asked_for_can_be_one(repository: Path, shown: Shown) -> None:
    """`decision="deny"`, `handler="v1/data"`: a misspelt value would show an empty panel for ever."""
    for what, (expression, _) in expressions(repository).items():
        for name, matchers in selectors(expression):
            for label, (operator, value) in matchers.items():
                if operator in {"=", "=~"} and name in shown and label != "reason":
                    pattern = re.compile(value if operator == "=~" else re.escape(value))
                    assert any(pattern.fullmatch(seen) for seen in shown[name][label]), (what, name, label, value)


def test_the_dashboard_shows_what_an_operator_asks_first(repository: Path) -> None:
    used = {name for expression, _ in expressions(repository).values() for name, _ in selectors(expression)}
    assert used >= {
        "aioc_opa_decisions_total", "aioc_opa_decision_duration_seconds_bucket", "last_success_bundle_request",
        "last_success_bundle_activation", "http_request_duration_seconds_count", "bundle_failed_load_counter", "up",
    }  # fmt: skip


def test_the_names_of_targets_and_files_are_those_of_the_compose_file(
    repository: Path, compose: dict[str, Any]
) -> None:
    prometheus = yaml.safe_load((repository / "deploy" / "prometheus" / "prometheus.yml").read_text())
    jobs = {job["job_name"]: job for job in prometheus["scrape_configs"]}
    assert set(jobs) == {"opa", "guards"}
    assert jobs["opa"]["static_configs"] == [{"targets": ["opa-signed:8181"]}]
    assert jobs["opa"]["authorization"]["credentials_file"] == "/run/secrets/operator-token"
    assert compose["services"]["prometheus"]["secrets"] == ["operator-token"]
    assert prometheus["rule_files"] == ["/etc/prometheus/alerts.yml"]
    provisioning = repository / "deploy" / "grafana" / "provisioning"
    (source,) = yaml.safe_load((provisioning / "datasources" / "prometheus.yml").read_text())["datasources"]
    assert source["url"] == "http://prometheus:9090"
    (provider,) = yaml.safe_load((provisioning / "dashboards" / "dashboards.yml").read_text())["providers"]
    mounted = {volume["target"]: volume["source"] for volume in compose["services"]["grafana"]["volumes"]}
    assert mounted[provider["options"]["path"]] == "./deploy/grafana/dashboards"
    dashboard = json.loads((repository / "deploy" / "grafana" / "dashboards" / "aioc-opa.json").read_text())
    used = {each["datasource"]["uid"] for panel in dashboard["panels"] for each in [panel, *panel["targets"]]}
    assert used == {source["uid"]}


def test_panels_do_not_lie_over_each_other(repository: Path) -> None:
    dashboard = json.loads((repository / "deploy" / "grafana" / "dashboards" / "aioc-opa.json").read_text())
    taken: set[tuple[int, int]] = set()
    for panel in dashboard["panels"]:
        place = panel["gridPos"]
        cells = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert not cells & taken, panel["title"]
        assert place["x"] + place["w"] <= 24
        taken |= cells
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
