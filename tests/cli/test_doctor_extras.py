"""`aioc-opa doctor` lists the extras, and how to install one that is missing."""

from __future__ import annotations

import json
import re
import tomllib
from importlib.metadata import PackageNotFoundError
from typing import TYPE_CHECKING

from aioc_opa.cli import doctor_extras
from aioc_opa.cli.doctor_extras import EXTRAS, extra_findings

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from tests.cli.conftest import Command


def test_every_extra_is_listed_with_what_is_installed(aioc: Command) -> None:
    ran = aioc("doctor", "--json")
    found = {each["topic"]: each for each in json.loads(ran.out)["findings"]}
    for name in ("embedded", "approvals", "postgres", "otel"):
        assert found[f"extra {name}"]["ok"] is True
        assert all(re.search(rf"\b{each} [0-9]", found[f"extra {name}"]["text"]) for each in EXTRAS[name][1])


def test_a_missing_one_is_no_failure_and_is_said_with_the_command(
    aioc: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def version(distribution: str) -> str:
        if distribution in {"psycopg", "psycopg-binary", "opentelemetry-api"}:
            raise PackageNotFoundError(distribution)
        return "1.0"

    monkeypatch.setattr(doctor_extras, "version", version)
    assert {each.topic: each.ok for each in extra_findings()} == {
        "extra embedded": True,
        "extra approvals": True,
        "extra postgres": None,
        "extra otel": None,
    }
    ran = aioc("doctor")
    assert ran.status == 0
    assert "not installed (no psycopg, psycopg-binary): pip install 'aioc-opa[postgres]'" in ran.out
    assert "pip install 'aioc-opa[otel]', for traces and metrics" in ran.out


def test_the_extras_are_those_of_the_package(repository: Path) -> None:
    project = tomllib.loads((repository / "pyproject.toml").read_text())["project"]
    extras = {name: needs for name, needs in project["optional-dependencies"].items() if name != "dev"}

    def distributions(name: str) -> set[str]:
        found: set[str] = set()
        for need in extras[name]:
            distribution, options = re.match(r"([\w-]+)(?:\[(\w+)\])?", need).groups()  # type: ignore[union-attr]  # a requirement
            if distribution == "aioc-opa":
                found |= distributions(options)
            else:
                found |= {distribution, *([f"{distribution}-{options}"] if options else [])}
        return found

    assert {name: set(named) for name, (_, named) in EXTRAS.items()} == {name: distributions(name) for name in extras}
