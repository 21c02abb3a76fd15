"""The wheel has what a user needs who has no checkout: the library, templates, data, and the program."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path
from typing import Any

import pytest

from aioc_opa.packs.starter import library_files
from tests.conftest import ROOT

SOURCES = ("aioc_opa", "rego", "pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, so that nothing is left in the source tree; without a network."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in SOURCES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / "source" / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / "source" / name)
    done = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--disable-pip-version-check",
         "--wheel-dir", str(folder), str(folder / "source")],
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = folder.glob("aioc_opa-*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel, and what it depends on from this one."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder, symlinks=True)
    # A path in a .pth file is searched, but the .pth files in it are not read: this checkout stays out of sight.
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    site = folder / "lib" / version / "site-packages"
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "install", "--no-deps", "--no-index",
         "--ignore-installed", "--disable-pip-version-check", str(wheel)],
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "bin"


def test_the_wheel_has_the_library_as_it_is_in_the_source_tree(wheel: Path) -> None:
    prefix = "aioc_opa/packs/library/"
    with zipfile.ZipFile(wheel) as archive:
        packed = {
            name.removeprefix(prefix): archive.read(name) for name in archive.namelist() if name.startswith(prefix)
        }
        names = set(archive.namelist())
    assert packed == library_files()
    assert "aioc_opa/py.typed" in names
    assert {name.partition("/")[0] for name in names if ".dist-info" not in name} == {"aioc_opa"}
    data = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "aioc_opa").rglob("*")
        if path.suffix in {".json", ".tmpl", ".py"}
    }
    assert data <= names


def test_from_the_wheel_to_a_decision_outside_a_checkout(installed: Path, tmp_path: Path, opa_binary: Path) -> None:
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "AIOC_OPA_BIN": str(opa_binary)}

    def program(*arguments: str, status: int = 0) -> str:
        done = subprocess.run(
            [installed / "aioc-opa", *arguments],
            cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout

    where = "import aioc_opa; print(aioc_opa.__file__)"
    found = subprocess.run(
        [installed / "python", "-c", where],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert Path(found.stdout.strip()).is_relative_to(installed.parent)

    assert "my-policy/aioc/tool_policy/tool_policy.rego" in program("new", "policy", "my-policy").splitlines()
    program("new", "pack", "payments", "--policy", "my-policy", "--tool", "refund", "--rules", "amounts")
    assert program("routes", "my-policy") == "my-policy/aioc/routes/routes.rego: current\n"
    program("routes", "my-policy", "--check")
    assert program("lint", "my-policy") == "my-policy: clean\n"
    program("schema", "contract", "--out", "schemas")
    subprocess.run(
        [opa_binary, "check", "--strict", "--schema", "schemas", "-b", "my-policy"], cwd=tmp_path, check=True
    )
    subprocess.run([opa_binary, "test", "-b", "my-policy"], cwd=tmp_path, check=True, capture_output=True)

    sample: dict[str, Any] = json.loads(
        (tmp_path / "my-policy/aioc/packs/payments/samples/above_limit.json").read_text()
    )
    (tmp_path / "call.json").write_text(json.dumps(sample["call"]))
    (tmp_path / "tools.json").write_text(json.dumps([{"name": "refund", "inputSchema": {"type": "object"}}]))
    options = ["call.json", "--tools", "tools.json", "--policy", "my-policy", "--engine", "both", "--json"]
    document = json.loads(program("authorize", *options, status=10))
    assert (document["outcome"], document["reasons"]) == ("deny", ["amount_above_limit"])
