"""Which `opa` may be run: where it is looked for, who could have replaced it, what version it is."""

from __future__ import annotations

import grp
import hashlib
import os
import pwd
import stat
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from aioc_opa.engines import opa_binary as module
from aioc_opa.engines.opa_binary import MINIMUM_OPA_VERSION, check_opa_binary, find_opa_binary
from aioc_opa.errors import EngineConfigurationError


def program(path: Path, body: str = 'echo "Version: 1.22.4"') -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def refused(path: Path) -> str:
    with pytest.raises(EngineConfigurationError) as error:
        check_opa_binary(path, source="here")
    assert str(error.value).startswith("here: ")
    return str(error.value)


@pytest.fixture(autouse=True)
def _no_memory() -> None:
    module._probe.cache_clear()


def test_the_real_one_is_named_by_path_version_and_digest(opa_binary: Path, repository: Path) -> None:
    found = check_opa_binary(opa_binary, source="here")
    assert found.path == opa_binary.resolve()
    assert found.version.split(".")[:2] >= (repository / ".opa-version").read_text().split(".")[:2]
    assert found.sha256 == hashlib.sha256(opa_binary.read_bytes()).hexdigest()


def test_the_pinned_version_is_of_the_minor_version_that_is_required(repository: Path) -> None:
    pinned = tuple(map(int, (repository / ".opa-version").read_text().split(".")))
    assert pinned[:2] == MINIMUM_OPA_VERSION[:2]
    assert pinned >= MINIMUM_OPA_VERSION


def test_the_explicit_one_comes_first_then_the_environment_then_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    explicit, named, on_path = (program(tmp_path / name / "opa") for name in ("explicit", "named", "path"))
    monkeypatch.setenv("PATH", str(on_path.parent))
    monkeypatch.delenv("AIOC_OPA_BIN", raising=False)
    assert find_opa_binary().path == on_path
    monkeypatch.setenv("AIOC_OPA_BIN", str(named))
    assert find_opa_binary().path == named
    assert find_opa_binary(explicit).path == explicit


def test_the_first_that_is_given_counts_and_no_other_is_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(program(tmp_path / "opa").parent))
    monkeypatch.setenv("AIOC_OPA_BIN", str(tmp_path / "gone"))
    with pytest.raises(EngineConfigurationError, match="AIOC_OPA_BIN"):
        find_opa_binary()


def test_the_working_directory_is_not_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, repository: Path
) -> None:
    pinned = (repository / ".opa-version").read_text().strip()
    program(tmp_path / ".opa" / pinned / "opa")
    program(tmp_path / "opa")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("AIOC_OPA_BIN", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with pytest.raises(EngineConfigurationError, match="or put one on PATH"):
        find_opa_binary()


def test_a_relative_path_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path / "opa")
    monkeypatch.chdir(tmp_path)
    assert "absolute" in refused(Path("opa"))
    monkeypatch.setenv("PATH", ".")
    monkeypatch.delenv("AIOC_OPA_BIN", raising=False)
    with pytest.raises(EngineConfigurationError, match="absolute"):
        find_opa_binary()


def test_what_is_no_executable_file_is_refused(tmp_path: Path) -> None:
    assert "cannot be read" in refused(tmp_path / "gone")
    assert "not an executable file" in refused(tmp_path)
    plain = program(tmp_path / "plain")
    plain.chmod(0o644)
    assert "not an executable file" in refused(plain)
    (loop := tmp_path / "loop").symlink_to(loop)
    assert "cannot be read" in refused(loop)


def test_links_are_resolved_before_anything_is_checked(tmp_path: Path) -> None:
    real = program(tmp_path / "real" / "opa")
    (link := tmp_path / "opa").symlink_to(real)
    assert check_opa_binary(link, source="here").path == real
    real.parent.chmod(0o777)
    assert "writable" in refused(link)


@pytest.mark.parametrize("mode", [0o757, 0o777])
def test_a_file_that_everyone_can_write_is_refused(tmp_path: Path, mode: int) -> None:
    path = program(tmp_path / "opa")
    path.chmod(mode)
    assert f"mode {mode:o}" in refused(path)


def test_a_folder_that_everyone_can_write_is_refused_at_any_height(tmp_path: Path) -> None:
    path = program(tmp_path / "open" / "closed" / "opa")
    (tmp_path / "open").chmod(0o777)
    assert repr(str(tmp_path / "open")) in refused(path)


def test_a_sticky_folder_is_fine_when_what_is_in_it_is_ours(tmp_path: Path) -> None:
    path = program(tmp_path / "sticky" / "opa")
    path.parent.chmod(0o1777)
    assert check_opa_binary(path, source="here").path == path


def as_of(path: Path, monkeypatch: pytest.MonkeyPatch, uid: int) -> None:
    """Let `path` belong to `uid`."""
    real = Path.stat

    def fake(self: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        found = real(self, follow_symlinks=follow_symlinks)
        if self != path:
            return found
        fields = list(found)
        fields[stat.ST_UID] = uid
        return os.stat_result(fields, {name: getattr(found, name) for name in ("st_mtime_ns", "st_ctime_ns")})

    monkeypatch.setattr(Path, "stat", fake)


@pytest.mark.parametrize("which", ["opa", "."])
def test_a_file_or_folder_of_another_user_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, which: str
) -> None:
    path = program(tmp_path / "opa")
    as_of(tmp_path / which, monkeypatch, os.geteuid() + 1)
    assert f"uid {os.geteuid() + 1}" in refused(path)


def test_another_users_folder_in_a_sticky_one_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = program(tmp_path / "sticky" / "theirs" / "opa")
    path.parent.parent.chmod(0o1777)
    as_of(path.parent, monkeypatch, os.geteuid() + 1)
    refused(path)


@pytest.mark.parametrize(
    ("group", "members", "ours", "fine"),
    [
        ("alice", [], True, True),  # a private group, as with umask 002
        ("users", [], True, False),  # the main group of others, too
        ("admin", ["root", "alice"], False, True),  # Homebrew's
        ("staff", [], False, True),  # Debian's /usr/local
        ("staff", ["mallory"], False, False),
        (None, [], False, False),  # a number without a name
    ],
)
def test_a_group_may_write_if_it_has_no_other_members(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, group: str | None, members: list[str], *, ours: bool, fine: bool
) -> None:
    path = program(tmp_path / "opa")
    path.chmod(0o775)
    gid = 4242

    def getgrgid(_gid: int) -> object:
        if group is None:
            raise KeyError
        return SimpleNamespace(gr_name=group, gr_mem=members)

    real = Path.stat

    def fake(self: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        found = real(self, follow_symlinks=follow_symlinks)
        fields = list(found)
        fields[stat.ST_GID] = gid
        return os.stat_result(fields, {name: getattr(found, name) for name in ("st_mtime_ns", "st_ctime_ns")})

    monkeypatch.setattr(Path, "stat", fake)
    monkeypatch.setattr(grp, "getgrgid", getgrgid)
    monkeypatch.setattr(pwd, "getpwuid", lambda _uid: SimpleNamespace(pw_name="alice"))
    monkeypatch.setattr(os, "getegid", lambda: gid if ours else 1)
    if fine:
        assert check_opa_binary(path, source="here").path == path
    else:
        assert "writable" in refused(path)


def test_the_group_of_root_may_write() -> None:
    assert module._has_no_others(0)


@pytest.mark.parametrize("version", ["1.21.9", "1.9.0", "0.70.0", "1.22.0-rc.1"])
def test_an_older_version_is_refused(tmp_path: Path, version: str) -> None:
    said = refused(program(tmp_path / "opa", f'echo "Version: {version}"'))
    assert version in said
    assert "1.22.0 or newer" in said


@pytest.mark.parametrize("version", ["1.22.0", "1.22.5-dev", "1.23.0-rc.1", "2.0.0"])
def test_this_or_a_newer_version_is_taken(tmp_path: Path, version: str) -> None:
    found = check_opa_binary(program(tmp_path / "opa", f'echo "Version: {version}"'), source="here")
    assert found.version == version


@pytest.mark.parametrize("body", ["echo 1.22.4", "exit 1", 'echo "Version: 1.22.4"; exit 1', 'echo "Version: x"'])
def test_another_program_is_refused(tmp_path: Path, body: str) -> None:
    assert "as OPA does" in refused(program(tmp_path / "opa", body))


def test_a_file_that_cannot_be_run_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "opa"
    path.write_bytes(b"\x7fELF and no more")
    path.chmod(0o755)
    assert "does not run" in refused(path)


def test_one_that_hangs_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PROBE_SECONDS", 0.2)
    assert "does not run" in refused(program(tmp_path / "opa", "exec /bin/sleep 600"))


def test_it_is_asked_and_read_again_only_when_the_file_has_changed(tmp_path: Path) -> None:
    path = program(tmp_path / "opa", f'echo x >> {tmp_path}/asked; echo "Version: 1.22.4"')
    first = check_opa_binary(path, source="here")
    assert check_opa_binary(path, source="here") is first
    assert (tmp_path / "asked").read_text() == "x\n"
    program(path, f'echo x >> {tmp_path}/asked; echo "Version: 1.22.5"')
    second = check_opa_binary(path, source="here")
    assert (second.version, second.sha256 == first.sha256) == ("1.22.5", False)


def test_the_environment_of_the_probe_is_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY", "5f3a")
    check_opa_binary(program(tmp_path / "opa", f'/usr/bin/env > {tmp_path}/env; echo "Version: 1.22.4"'), source="here")
    assert "CANARY" not in (tmp_path / "env").read_text()
    assert subprocess.run(["/usr/bin/env"], capture_output=True, text=True, check=True).stdout.count("CANARY") == 1
