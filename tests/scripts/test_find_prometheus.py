"""scripts/find-prometheus: the order of its places, and what it says when there is none. Programs are stand-ins."""

from __future__ import annotations

import importlib.machinery
import importlib.util
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

SOUND = 'echo "${0##*/}, version 2.42.0+ds (branch: debian/sid)"'
APT = """[ "$2" = update ] && { touch updated; exit 0; }
[ -e updated ] || [ "$LISTS" ] || exit 100
touch prometheus_2.deb"""
DPKG = f"""mkdir -p "$3/usr/bin"
for name in prometheus promtool; do printf '#!/bin/sh\\n%s\\n' '{SOUND}' > "$3/usr/bin/$name"; chmod +x "$3/usr/bin/$name"; done"""


@pytest.fixture
def script(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The script, on a Debian with nothing on PATH but a few tools."""
    loader = importlib.machinery.SourceFileLoader("find_prometheus", str(repository / "scripts" / "find-prometheus"))
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    spec = importlib.util.spec_from_loader("find_prometheus", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    monkeypatch.setattr(module, "UNPACKED", tmp_path / ".prometheus")
    monkeypatch.setattr(module, "DEBIAN", tmp_path / "debian_version")
    (tmp_path / "debian_version").touch()
    (tmp_path / "bin").mkdir()
    for tool in ("mkdir", "touch", "chmod"):
        (tmp_path / "bin" / tool).symlink_to(f"/bin/{tool}")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("AIOC_PROMETHEUS_DIR", raising=False)
    monkeypatch.chdir(tmp_path)
    return module


def program(path: Path, body: str = SOUND) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def both(folder: Path, body: str = SOUND) -> Path:
    program(folder / "prometheus", body)
    program(folder / "promtool", body)
    return folder


def refused(script: Any, capsys: pytest.CaptureFixture[str]) -> str:
    assert script.main() == 1
    out, err = capsys.readouterr()
    assert out == ""
    return str(err)


def test_the_named_folder_comes_first_and_then_path(
    script: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    both(tmp_path / "bin")
    assert script.main() == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "bin")
    monkeypatch.setenv("AIOC_PROMETHEUS_DIR", str(both(tmp_path / "named")))
    assert script.main() == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "named")


@pytest.mark.parametrize(
    "body", ['echo "node_exporter, version x"', "exit 1", 'echo "prometheus, version 1.8.0"', None]
)
def test_a_named_folder_that_does_not_serve_is_no_silent_second_choice(
    body: str | None, script: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    both(tmp_path / "bin")
    if body is not None:
        both(tmp_path / "named", body)
    monkeypatch.setenv("AIOC_PROMETHEUS_DIR", str(tmp_path / "named"))
    assert "AIOC_PROMETHEUS_DIR: " in refused(script, capsys)


@pytest.mark.parametrize("lists", ["", "yes"])
def test_the_package_is_unpacked_once(
    lists: str, script: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without package lists they are fetched first; where that is refused, it says so."""
    monkeypatch.setenv("LISTS", lists)
    program(tmp_path / "bin" / "apt-get", APT.replace("updated", str(tmp_path / "updated")))
    dpkg = program(tmp_path / "bin" / "dpkg-deb", DPKG)
    assert script.main() == 0
    expected = str(tmp_path / ".prometheus" / "root" / "usr" / "bin")
    assert capsys.readouterr().out.strip() == expected
    assert (tmp_path / "updated").exists() is (not lists)
    dpkg.unlink()
    assert script.main() == 0
    assert capsys.readouterr().out.strip() == expected


def test_without_any_it_says_what_to_do(script: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "only on Debian" in refused(script, capsys)
    program(tmp_path / "bin" / "apt-get", "exit 100")
    both(tmp_path / "bin", "exit 1")
    said = refused(script, capsys)
    assert "ended with status 100" in said
    assert "set AIOC_PROMETHEUS_DIR" in said
    (tmp_path / "debian_version").unlink()
    assert "only on Debian" in refused(script, capsys)
