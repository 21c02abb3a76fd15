"""scripts/find-opa: the order of the issue, and what may go wrong at each step.

The programs on PATH are stand-ins (small shell scripts); the last tests use the real binary.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

PINNED = "1.22.4"


@dataclass(frozen=True)
class Place:
    """A copy of the script with a PATH of its own."""

    root: Path

    @property
    def bin(self) -> Path:
        return self.root / "bin"

    @property
    def built(self) -> Path:
        return self.root / ".opa" / PINNED / "opa"

    def program(self, name: str, body: str, *, where: Path | None = None) -> Path:
        path = (where or self.bin) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
        return path

    def opa(self, version: str, *, where: Path | None = None) -> Path:
        return self.program("opa", f'echo "Version: {version}"', where=where)

    def go(self, version: str = PINNED, *, before: str = "") -> Path:
        """A Go toolchain that "builds" an opa of `version` into GOBIN and leaves its environment beside the script."""
        return self.program(
            "go",
            f"""
            if [ "$1" = env ]; then echo linux; echo amd64; exit 0; fi
            echo "$@" > {self.root}/go-arguments
            /usr/bin/env > {self.root}/go-environment
            {before}
            printf '#!/bin/sh\\necho "Version: {version}"\\n' > "$GOBIN/opa"
            """,
        )

    def docker(self, version: str = PINNED) -> Path:
        return self.program(
            "docker",
            f"""
            echo "$@" >> {self.root}/docker-arguments
            case "$1" in
              create) echo c0ffee ;;
              cp) printf '#!/bin/sh\\necho "Version: {version}"\\n' > "$3" ;;
            esac
            """,
        )

    def run(self, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-I", self.root / "scripts" / "find-opa"],
            env={"PATH": str(self.bin), **environment},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def found(self, **environment: str) -> Path:
        done = self.run(**environment)
        assert done.returncode == 0, done.stderr
        assert done.stdout.count("\n") == 1
        path = Path(done.stdout.strip())
        assert path.is_absolute()
        return path

    def refused(self, **environment: str) -> str:
        done = self.run(**environment)
        assert done.returncode == 1, done.stdout
        assert done.stdout == ""
        assert "Traceback" not in done.stderr
        return done.stderr


@pytest.fixture
def place(tmp_path: Path, repository: Path) -> Place:
    place = Place(tmp_path)
    (tmp_path / "scripts").mkdir()
    place.bin.mkdir()
    shutil.copy(repository / "scripts" / "find-opa", tmp_path / "scripts")
    (tmp_path / ".opa-version").write_text(f"{PINNED}\n")
    return place


def test_first_comes_the_file_that_the_environment_names(place: Place, tmp_path: Path) -> None:
    place.opa("1.30.0")
    named = place.opa(PINNED, where=tmp_path / "named")
    assert place.found(AIOC_OPA_BIN=str(named)) == named


def test_a_named_file_that_does_not_serve_is_an_error_and_not_a_second_choice(place: Place, tmp_path: Path) -> None:
    place.opa(PINNED)
    assert "not an executable file" in place.refused(AIOC_OPA_BIN=str(tmp_path / "nowhere"))
    old = place.opa("1.22.3", where=tmp_path / "old")
    assert "AIOC_OPA_BIN" in (said := place.refused(AIOC_OPA_BIN=str(old)))
    assert "older than 1.22.4" in said


def test_second_comes_path_if_it_is_the_pinned_version(place: Place) -> None:
    place.opa(PINNED, where=place.built.parent)
    on_path = place.opa(PINNED)
    assert place.found() == on_path


@pytest.mark.parametrize("version", ["1.22.5", "1.23.0", "1.100.0", "2.0.0"])
def test_second_comes_path_if_it_is_newer(place: Place, version: str) -> None:
    on_path = place.opa(version)
    assert place.found() == on_path


@pytest.mark.parametrize("version", ["1.22.3", "1.9.9", "0.70.0", "1.22.4-dev"])
def test_an_older_one_on_path_is_passed_over(place: Place, version: str) -> None:
    place.opa(version)
    place.go()
    assert place.found() == place.built


@pytest.mark.parametrize(
    "body",
    ["echo 'opa, the other program'", "exit 3", "echo 'Version: 1.22.4'; exit 3", "echo 'Version: soon'", "kill -9 $$"],
)
def test_another_program_called_opa_is_passed_over(place: Place, body: str) -> None:
    place.program("opa", body)
    place.go()
    assert place.found() == place.built


def test_third_comes_what_was_built_before(place: Place) -> None:
    place.go()
    place.opa(PINNED, where=place.built.parent)
    assert place.found() == place.built
    assert not (place.root / "go-arguments").exists()


def test_fourth_comes_go_install_of_the_pinned_version(place: Place) -> None:
    place.go()
    place.docker()
    assert place.found() == place.built
    assert (place.root / "go-arguments").read_text() == "install github.com/open-policy-agent/opa@v1.22.4\n"
    assert not (place.root / "docker-arguments").exists()


def test_the_version_is_pinned_in_one_place(place: Place, repository: Path) -> None:
    (place.root / ".opa-version").write_text("1.99.1\n")
    place.go("1.99.1")
    assert place.found() == place.root / ".opa" / "1.99.1" / "opa"
    assert "1.22" not in (repository / "scripts" / "find-opa").read_text()


@pytest.mark.parametrize("pin", ["", "latest", "v1.22.4", "1.22", "1.22.4; rm -rf /"])
def test_a_pin_that_is_no_version_is_an_error(place: Place, pin: str) -> None:
    (place.root / ".opa-version").write_text(pin)
    assert "must hold a version" in place.refused()


def test_a_missing_pin_is_an_error(place: Place) -> None:
    (place.root / ".opa-version").unlink()
    assert "cannot read the pinned version" in place.refused()


def test_the_callers_go_settings_do_not_matter(place: Place, tmp_path: Path) -> None:
    place.go()
    place.found(
        GOFLAGS="-mod=vendor",
        GOBIN=str(tmp_path / "elsewhere"),
        GOOS="windows",
        GOARCH="arm64",
        GOWORK="/w",
        CGO_ENABLED="1",
    )
    environment = dict(
        line.split("=", 1) for line in (place.root / "go-environment").read_text().splitlines() if "=" in line
    )
    assert environment["GOFLAGS"] == "-trimpath"
    assert Path(environment["GOBIN"]).parent == place.root / ".opa"
    assert (environment["GOOS"], environment["GOARCH"]) == ("linux", "amd64")
    assert (environment["GOWORK"], environment["CGO_ENABLED"]) == ("off", "0")


def test_a_half_finished_build_is_made_anew(place: Place) -> None:
    place.built.parent.mkdir(parents=True)
    place.built.write_bytes(b"\x7fELF half of it")
    (place.root / ".opa" / "new-left-behind").mkdir()
    place.go()
    assert place.found() == place.built
    assert sorted(path.name for path in (place.root / ".opa").iterdir()) == [PINNED, "lock"]


def test_a_failed_build_leaves_nothing_behind(place: Place) -> None:
    place.go(before="printf half > $GOBIN/opa; exit 1")
    assert "status 1" in place.refused()
    assert not place.built.exists()
    assert [path.name for path in (place.root / ".opa").iterdir()] == ["lock"]


def test_a_build_of_the_wrong_version_is_not_put_in_place(place: Place) -> None:
    place.go("1.21.0")
    assert "older than" in place.refused()
    assert not place.built.exists()


def test_a_go_that_does_not_know_its_host_is_passed_over(place: Place) -> None:
    place.program("go", "exit 0")
    place.docker()
    assert place.found() == place.built


def test_fifth_comes_the_official_image_and_its_container_is_removed(place: Place) -> None:
    place.go(before="exit 1")
    place.docker()
    assert place.found() == place.built
    create, copy, remove = (place.root / "docker-arguments").read_text().splitlines()
    assert create == "create openpolicyagent/opa:1.22.4-static"
    assert copy.startswith("cp c0ffee:/opa ")
    assert remove == "rm c0ffee"


def test_otherwise_it_says_what_was_tried_and_what_to_do(place: Place) -> None:
    place.opa("1.0.0")
    place.program("docker", "echo 'Cannot connect to the Docker daemon' >&2; exit 1")
    said = place.refused()
    for piece in ["1.0.0", "older", "no `go` on PATH", "docker", "AIOC_OPA_BIN", "install Go", "start Docker"]:
        assert piece in said


def test_two_runs_at_once_build_once(place: Place) -> None:
    place.go(before=f"echo x >> {place.root}/builds")
    lock = place.root / ".opa" / "lock"
    lock.parent.mkdir()
    command = [sys.executable, "-I", place.root / "scripts" / "find-opa"]
    with lock.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        runs = [
            subprocess.Popen(
                command, env={"PATH": str(place.bin)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
            for _ in range(3)
        ]
        for run in runs:  # each has reached the lock
            assert run.stderr is not None
            assert "waiting" in run.stderr.readline()
    for run in runs:
        out, _ = run.communicate(timeout=120)
        assert out.strip() == str(place.built)
    assert (place.root / "builds").read_text() == "x\n"


def test_the_real_binary_serves(place: Place, opa_binary: Path) -> None:
    assert place.found(AIOC_OPA_BIN=str(opa_binary)) == opa_binary


def test_the_real_binary_is_found_on_path(place: Place, opa_binary: Path) -> None:
    (place.bin / "opa").symlink_to(opa_binary)
    assert place.found() == place.bin / "opa"


def test_the_checkout_has_what_the_script_needs(repository: Path) -> None:
    assert os.access(repository / "scripts" / "find-opa", os.X_OK)
    assert ".opa/" in (repository / ".gitignore").read_text().splitlines()
