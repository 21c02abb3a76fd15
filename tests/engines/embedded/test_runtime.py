"""The door to regorus: missing, another version, built under another name."""

from __future__ import annotations

import sys
from importlib import metadata

import pytest

from aioc_opa.engines import embedded_runtime
from aioc_opa.engines.embedded import EmbeddedEngine
from aioc_opa.errors import EngineConfigurationError
from tests.engines.embedded.policies import policy


def test_without_regorus_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "regorus", None)
    with pytest.raises(EngineConfigurationError, match=r"aioc-opa\[embedded\]"):
        EmbeddedEngine(policy("decision := 1\n"))


def test_another_version_than_the_checks_were_made_for_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "version", lambda _: "0.14.0")
    with pytest.raises(EngineConfigurationError, match=r"made for regorus 0\.13\.0, but regorus 0\.14\.0"):
        EmbeddedEngine(policy("decision := 1\n"))


def test_a_build_of_upstreams_crate_is_taken_under_its_own_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        if name == "gordon-to-regorus":
            raise metadata.PackageNotFoundError(name)
        return "0.13.0"

    monkeypatch.setattr(metadata, "version", version)
    EmbeddedEngine(policy("decision := 1\n"))


def test_a_regorus_of_unknown_origin_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", version)
    with pytest.raises(EngineConfigurationError, match="unknown version"):
        EmbeddedEngine(policy("decision := 1\n"))


def test_importing_the_package_does_not_import_regorus() -> None:
    source = "import sys, aioc_opa.engines.embedded; sys.exit('regorus' in sys.modules)"
    assert embedded_runtime.installed_version() == "regorus 0.13.0"
    import subprocess

    subprocess.run([sys.executable, "-c", source], check=True)
