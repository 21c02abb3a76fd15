"""bundle build."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from aioc_opa.packs.bundle_file import read_bundle

if TYPE_CHECKING:
    from tests.cli.conftest import Command
from tests.cli.bundle.bundle_cases import PACK, RULES, build

# -- build


def test_the_same_policy_gives_the_same_bytes_and_the_digest_is_of_the_content_alone(
    aioc: Command, made: Path, bundle: Path, tmp_path: Path
) -> None:
    again, other = tmp_path / "again.tar.gz", tmp_path / "other.tar.gz"
    build(aioc, made / "policy", again, "--expires", "2230-01-01T00:00:00Z")
    assert again.read_bytes() == bundle.read_bytes()
    built = build(aioc, made / "policy", other, "--created", "2026-12-01T00:00:00Z", "--json", counter=8)
    assert read_bundle(other).revision.digest == read_bundle(bundle).revision.digest
    assert built.document == {"bundle": str(other), "name": "tools", "revision": str(read_bundle(other).revision)}
    assert str(read_bundle(other).revision).startswith("8-")
    assert stat.S_IMODE(other.stat().st_mode) & 0o022 == 0


def test_the_roots_own_every_package_every_table_and_every_path_that_a_pack_declares(
    aioc: Command, policy: Path, tmp_path: Path
) -> None:
    file = policy / PACK / "data.json"
    content = json.loads(file.read_text())
    content["manifest"]["data"]["properties"]["limits_of_all"] = {"type": "object"}
    file.write_text(json.dumps(content))
    assert aioc("routes", str(policy)).status == 0
    assert build(aioc, policy, tmp_path / "b.tar.gz").status == 0
    assert read_bundle(tmp_path / "b.tar.gz").roots == (
        ("aioc",),
        ("limits_of_all",),
        ("system", "authz"),
        ("system", "log"),
    )
    only = build(aioc, policy, tmp_path / "c.tar.gz", "--only", PACK)
    assert (only.status, "declares data.limits_of_all, which nobody would own" in only.err) == (3, True)
    both = build(aioc, policy, tmp_path / "c.tar.gz", "--only", PACK, "--only", "limits_of_all")
    assert both.status == 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("aioc/routes/routes.rego", "package aioc.routes\n\n", "package aioc.routes\n\n# x\n\n"), "routes-stale"),
        ((RULES, "\nloaded := true\n", "\nloaded := true\n\nnow := time.now_ns()\n"), "time.now_ns"),
        (
            (RULES, "\nloaded := true\n", '\nloaded := true\n\nx := http.send({"method": "get", "url": "http://a"})\n'),
            "http.send",
        ),
        ((RULES, 'deny("role_missing")', 'deny("role_mising")'), "code-undeclared"),
        (("aioc/lib/verdicts/verdicts.rego", "allow(code) :=", "allow(code) = "), "library-changed"),
    ],
)
def test_stale_routes_lint_findings_and_builtins_beyond_the_capabilities_are_refused(
    aioc: Command, policy: Path, tmp_path: Path, change: tuple[str, str, str], said: str
) -> None:
    file = policy / change[0]
    file.write_text(file.read_text().replace(change[1], change[2]))
    ran = build(aioc, policy, tmp_path / "b.tar.gz")
    assert ran.status == 3
    assert said in ran.err
    assert not (tmp_path / "b.tar.gz").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--minimum-counter", "8"), "minimumCounter is above counter"),
        (("--expires", "tomorrow"), "must be an RFC 3339 time"),
        (("--expires", "2020-01-01T00:00:00Z"), "expiresAt: 2020-01-01T00:00:00Z has passed"),
        (("--owner", "a\nb"), "an owner is one line of text"),
        (("--name", "Tools"), "bundle: name:"),
        (("--only", PACK, "--without", PACK), "not both"),
        (("--only", "/aioc/packs"), "is not a place below data"),
        (("--only", "nowhere"), "nothing of the policy lies in this part"),
        (("--only", "aioc/packs", "--only", PACK), "are parts of each other"),
    ],
)
def test_a_statement_or_a_part_that_cannot_be_is_refused(
    aioc: Command, made: Path, tmp_path: Path, *, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], said: str
) -> None:
    monkeypatch.setattr("aioc_opa.packs.bundle_build.require_clean", lambda *_: None)  # another test's
    ran = build(aioc, made / "policy", tmp_path / "b.tar.gz", *arguments)
    assert (ran.status, said in ran.err) == (3, True), ran.err


def test_a_folder_with_a_manifest_and_a_file_that_cannot_be_written_are_refused(
    aioc: Command, policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aioc_opa.packs.bundle_build.require_clean", lambda *_: None)
    ran = build(aioc, policy, Path("/proc/nowhere/b.tar.gz"))
    assert (ran.status, "cannot be written" in ran.err) == (3, True)
    (policy / ".manifest").write_text("{}")
    ran = build(aioc, policy, tmp_path / "b.tar.gz")
    assert (ran.status, "the build writes the manifest" in ran.err) == (3, True)
