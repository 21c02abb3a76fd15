"""The PromQL of the dashboard and the alerts, and the metrics, labels and matchers in it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import yaml

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

WORDS = {"by", "without", "on", "ignoring", "and", "or", "unless", "bool", "offset"}


def selectors(expression: str) -> list[tuple[str, dict[str, tuple[str, str]]]]:
    """The metrics of a PromQL expression, with their matchers: `{label: (operator, value)}`."""
    bare = re.sub(r"\b(?:by|without|on|ignoring)\s*\([^)]*\)", "", expression)
    found = []
    for name, matchers in re.findall(
        r"\b([a-z_:][a-z0-9_:]*)\b(?!\s*\()(?:\s*\{([^}]*)\})?", re.sub(r"\[[^]]*\]", "", bare)
    ):
        if name not in WORDS and not re.fullmatch(r"e[0-9]+", name):
            given = re.findall(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"', matchers)
            found.append((name, {label: (operator, value) for label, operator, value in given}))
    return found


def expressions(repository: Path) -> Mapping[str, tuple[str, str]]:
    """Every expression of dashboard and alerts, with the text that shows its labels; by what it is for."""
    dashboard = json.loads((repository / "deploy" / "grafana" / "dashboards" / "aioc-opa.json").read_text())
    alerts = yaml.safe_load((repository / "deploy" / "prometheus" / "alerts.yml").read_text())
    found = {
        f"{panel['title']} {target['refId']}": (target["expr"], target["legendFormat"])
        for panel in dashboard["panels"]
        for target in panel["targets"]
    }
    for group in alerts["groups"]:
        for rule in group["rules"]:
            labels = re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"])
            found[rule["alert"]] = (rule["expr"], " ".join(f"{{{{{label}}}}}" for label in labels))
    return found
