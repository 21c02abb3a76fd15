"""What the private folder holds, and where it may be."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa.engines import local_opa_staging
from aioc_opa.engines.local_opa_staging import SOCKET, Staging, private_folder
from aioc_opa.engines.protocol import HANDOFF_POLICY_PATH, TOOL_POLICY_PATH
from aioc_opa.errors import EngineConfigurationError, PolicyLoadError
from aioc_opa.packs.policy_folder import LoadedPolicy

if TYPE_CHECKING:
    from pathlib import Path

PATHS = (TOOL_POLICY_PATH, HANDOFF_POLICY_PATH)


def loaded(modules: dict[str, str] | None = None, data: dict[str, Any] | None = None) -> LoadedPolicy:
    return LoadedPolicy(
        modules=modules or {"acme/a.rego": "package acme\n"}, data=data or {}, files={"never": b"staged"}, revision="r"
    )


def staged(policy: LoadedPolicy, tmp_path: Path) -> dict[str, bytes]:
    folder = tmp_path / "private"
    folder.mkdir(mode=0o700)
    Staging(policy, PATHS).write(folder)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_only_the_loaded_modules_the_data_the_manifest_and_our_authz_are_staged(tmp_path: Path) -> None:
    files = staged(loaded(data={"limits": {"refund": 1.5}}), tmp_path)
    assert set(files) == {
        "local/.manifest",
        "local/data.json",
        "local/acme/a.rego",
        "local/aioc_local_engine/authz/authz.rego",
    }
    assert json.loads(files["local/data.json"]) == {"limits": {"refund": 1.5}}
    assert json.loads(files["local/.manifest"]) == {"revision": "r", "roots": [""], "rego_version": 1}


def test_our_authz_passes_the_checks_that_policies_pass(tmp_path: Path, opa_binary: Path) -> None:
    staged(loaded(), tmp_path)
    place = tmp_path / "private" / "local" / "aioc_local_engine"
    subprocess.run([opa_binary, "check", "--strict", place], check=True)


@pytest.mark.parametrize(
    "path",
    [
        "../a.rego",
        "acme/../../a.rego",
        "/etc/a.rego",
        "acme//a.rego",
        "./a.rego",
        "acme/.hidden.rego",
        ".manifest",
        "patch.json",
        "acme/data.yaml",
        "policy.wasm",
        "acme/a.rego\n",
        "acme\\a.rego",
        "acme/a_test.rego",
        "",
    ],
)
def test_a_path_that_opa_would_read_otherwise_is_refused(path: str) -> None:
    with pytest.raises(PolicyLoadError, match="relative path"):
        Staging(loaded({path: "package acme\n"}), PATHS)


def test_a_policy_cannot_widen_what_the_local_opa_answers() -> None:
    with pytest.raises(PolicyLoadError, match="reserved"):
        Staging(loaded({"x/a.rego": "package aioc_local_engine.authz\n\nallow := true\n"}), PATHS)
    with pytest.raises(PolicyLoadError, match="reserved"):
        Staging(loaded(data={"aioc_local_engine": {"authz": {"allow": True}}}), PATHS)


@pytest.mark.parametrize("data", [{"x": float("nan")}, {"x": {1, 2}}])
def test_data_without_a_json_form_is_refused(data: dict[str, Any]) -> None:
    with pytest.raises(PolicyLoadError, match="no JSON"):
        Staging(loaded(data=data), PATHS)


def test_a_module_without_a_utf_8_form_is_refused() -> None:
    with pytest.raises(PolicyLoadError, match="UTF-8"):
        Staging(loaded({"acme/a.rego": "package acme # \ud800"}), PATHS)


def test_what_is_there_is_replaced_and_a_missing_folder_made(tmp_path: Path) -> None:
    folder = tmp_path / "private"
    staging = Staging(loaded(), PATHS)
    staging.write(folder)
    (folder / "local" / "planted.rego").write_text("package planted")
    staging.write(folder)
    assert not (folder / "local" / "planted.rego").exists()
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_folder_that_is_not_ours_alone_is_not_written(tmp_path: Path) -> None:
    staging = Staging(loaded(), PATHS)
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o755)
    ours = tmp_path / "ours"
    ours.mkdir(mode=0o700)
    (link := tmp_path / "link").symlink_to(ours)
    for folder in (shared, link):
        with pytest.raises(PermissionError):
            staging.write(folder)
    assert list(ours.iterdir()) == []


def test_a_folder_of_another_user_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir(mode=0o700)
    us = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: us + 1)
    with pytest.raises(PermissionError):
        Staging(loaded(), PATHS).write(folder)


def test_the_private_folder_is_where_it_is_wanted(tmp_path: Path) -> None:
    folder = private_folder(tmp_path)
    assert folder.parent == tmp_path
    assert folder.stat().st_mode & 0o777 == 0o700


def test_the_private_folder_is_in_the_runtime_folder_if_there_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert private_folder().parent == tmp_path
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "gone"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert private_folder().parent == tmp_path


def test_a_socket_path_that_is_too_long_goes_elsewhere_or_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / ("d" * 100)
    deep.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(deep))
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    folder = private_folder()
    assert len(os.fsencode(folder / SOCKET)) <= local_opa_staging._MAX_SOCKET_PATH_BYTES
    folder.rmdir()
    assert list(deep.iterdir()) == []
    with pytest.raises(EngineConfigurationError, match="more than 103"):
        private_folder(deep)


def test_no_folder_at_all_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(EngineConfigurationError, match="No such file"):
        private_folder(tmp_path / "gone")
