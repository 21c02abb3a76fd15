"""scripts/find-chromium: the order of its places, and what it says when there is none. Programs are stand-ins."""

from __future__ import annotations

import importlib.machinery
import importlib.util
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def script(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The script, on a machine with nothing in the usual places, and an empty PATH; not root."""
    loader = importlib.machinery.SourceFileLoader("find_chromium", str(repository / "scripts" / "find-chromium"))
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    spec = importlib.util.spec_from_loader("find_chromium", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    monkeypatch.setattr(module, "PLACES", (str(tmp_path / "usual" / "chromium"),))
    monkeypatch.setattr(module.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(module.os, "geteuid", lambda: 1000)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("AIOC_CHROMIUM_BIN", raising=False)
    return module


def program(path: Path, body: str = 'echo "Chromium 156.0.8078.114 built on Debian"') -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def found(script: Any, capsys: pytest.CaptureFixture[str]) -> str:
    assert script.main() == 0
    return str(capsys.readouterr().out.strip())


def refused(script: Any, capsys: pytest.CaptureFixture[str]) -> str:
    assert script.main() == 1
    out, err = capsys.readouterr()
    assert out == ""
    return str(err)


def test_the_named_one_comes_first(
    script: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / "bin" / "chromium")
    named = program(tmp_path / "named", 'echo "Google Chrome 140.0.1.2 "')
    monkeypatch.setenv("AIOC_CHROMIUM_BIN", str(named))
    assert found(script, capsys) == str(named)


@pytest.mark.parametrize("body", ['echo "Firefox 140.0"', "exit 1", 'echo "Chromium 99.0.1.2"', None])
def test_a_named_one_that_does_not_serve_is_refused_without_a_second_choice(
    script: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, body: str | None
) -> None:
    program(tmp_path / "bin" / "chromium")
    if body is not None:
        program(tmp_path / "named", body)
    monkeypatch.setenv("AIOC_CHROMIUM_BIN", str(tmp_path / "named"))
    assert "AIOC_CHROMIUM_BIN: " in refused(script, capsys)


def test_then_path_then_the_usual_places(script: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    usual = program(tmp_path / "usual" / "chromium")
    program(tmp_path / "bin" / "chromium", 'echo "Chromium 90.0.1.2"')
    assert found(script, capsys) == str(usual)
    on_path = program(tmp_path / "bin" / "google-chrome", 'echo "Google Chrome 140.0.1.2"')
    assert found(script, capsys) == str(on_path)


def test_without_any_it_says_what_to_do(script: Any, capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(script, capsys)
    assert "only by root on Debian" in said
    assert "set AIOC_CHROMIUM_BIN" in said
    assert "apt-get install chromium" in said


def as_root(script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, apt_get: str) -> None:
    program(tmp_path / "bin" / "apt-get", f'echo "$@" >> {tmp_path}/asked; {apt_get}')
    monkeypatch.setattr(script.os, "geteuid", lambda: 0)
    debian = tmp_path / "debian_version"
    debian.write_text("12")
    monkeypatch.setattr(script, "DEBIAN", debian)


def test_root_on_debian_installs_it_and_updates_the_lists_when_that_fails(
    script: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "bin" / "chromium"
    made = program(tmp_path / "made")
    once = f'case "$*" in *update) /usr/bin/touch {tmp_path}/fresh ;; *) [ -e {tmp_path}/fresh ] && /bin/cp {made} {target} ;; esac'
    as_root(script, tmp_path, monkeypatch, once)
    assert found(script, capsys) == str(target)
    asked = [line.split()[-1] for line in (tmp_path / "asked").read_text().splitlines()]
    assert asked == ["chromium", "update", "chromium"]


@pytest.mark.parametrize("status", [0, 100])
def test_an_installation_that_fails_is_said(
    script: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    as_root(script, tmp_path, monkeypatch, f"exit {status}")
    assert ("ended with status 100" if status else "installed no") in refused(script, capsys)
