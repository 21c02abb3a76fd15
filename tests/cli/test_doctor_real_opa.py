"""Every diagnosis of `aioc-opa doctor --opa …` on a real OPA that has the trouble, and on one that has not."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa.cli import doctor_server
from tests.cli.servers import files_served
from tests.opa.bundle_server import signing_key
from tests.opa_process import OpaProcess

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Command

POLICY = """package aioc.tool_policy

decision := object.union(
	{key: input[key] | some key in ["kind", "requestId", "proposalHash"]},
	{"decision": "deny", "reason": "no_rule_allows", "reasons": []},
)
"""


def looked(aioc: Command, opa: OpaProcess, *options: str, url: str = "") -> dict[str, tuple[bool | None, str]]:
    ran = aioc("doctor", "--opa", url or opa.url, "--json", *options)
    findings = json.loads(ran.out)["findings"]
    assert ran.status == (1 if any(each["ok"] is False for each in findings) else 0)
    return {each["topic"]: (each["ok"], each["text"]) for each in findings}


@pytest.fixture(scope="module")
def served(opa_binary: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A folder with a signed bundle and one that is not, and the public key."""
    folder = tmp_path_factory.mktemp("served")
    private, public = signing_key(tmp_path_factory.mktemp("keys"))
    policy = folder / "policy"
    policy.mkdir()
    (policy / "p.rego").write_text(POLICY)
    build = [opa_binary, "build", "--bundle", policy, "--revision", "7-x", "--output"]
    subprocess.run([*build, folder / "unsigned.tar.gz"], check=True)
    subprocess.run([*build, folder / "signed.tar.gz", "--signing-key", private, "--signing-alg", "RS256"], check=True)
    shutil.rmtree(policy)
    return folder, public


def fetching(
    opa_binary: Path, folder: Path, url: str, resource: str, key: Path | None = None, **more: Any
) -> OpaProcess:
    """An open OPA that fetches one bundle every second, with a key or without."""
    bundle: dict[str, Any] = {
        "service": "bundles", "resource": resource, "polling": {"min_delay_seconds": 1, "max_delay_seconds": 1},
    }  # fmt: skip
    keys = {}
    if key is not None:
        bundle["signing"] = {"keyid": "publisher"}
        keys = {"publisher": {"algorithm": "RS256", "key": key.read_text()}}
    services = {"bundles": {"url": url}}
    document = {"services": services, "keys": keys, "bundles": {"tools": bundle}, "status": {"console": True}, **more}
    (folder / "opa.json").write_text(json.dumps(document))
    return OpaProcess(opa_binary, folder, arguments=["--config-file", str(folder / "opa.json")])


def until(look: Callable[[], tuple[bool | None, str]], said: str) -> tuple[bool | None, str]:
    """What it says once it says this; the test's timeout ends this."""
    while said not in (found := look())[1]:
        pass
    return found


def test_a_signed_bundle_is_sound_and_stale_when_the_server_is_away(
    aioc: Command, opa_binary: Path, served: tuple[Path, Path], tmp_path: Path
) -> None:
    folder, public = served
    with files_served(folder) as url:
        opa = fetching(opa_binary, tmp_path, url, "signed.tar.gz", public).start()
        try:
            found = until(lambda: looked(aioc, opa).get("bundle tools", (None, "")), "revision '7-x'")
            sound = looked(aioc, opa)
        except BaseException:
            opa.stop()
            raise
    with_trouble = {}
    try:  # the bundle server is gone
        with_trouble["age"] = until(
            lambda: looked(aioc, opa, "--max-age", "1")["bundle tools"], "the last one was not taken"
        )
    finally:
        opa.stop()
    assert found[0] is True
    assert sound["signatures"] == (True, "asked for with every bundle")
    assert sound["version"][0] is True
    assert with_trouble["age"][0] is False


def test_a_bundle_that_was_fetched_too_long_ago_is_stale(
    aioc: Command, opa_binary: Path, served: tuple[Path, Path], tmp_path: Path
) -> None:
    """Polled once a day, as it were: nothing failed, and yet it is old."""
    folder, public = served
    with files_served(folder) as url:
        opa = fetching(opa_binary, tmp_path, url, "signed.tar.gz", public)
        configuration = json.loads((tmp_path / "opa.json").read_text())
        configuration["bundles"]["tools"]["polling"] = {"min_delay_seconds": 3600, "max_delay_seconds": 7200}
        (tmp_path / "opa.json").write_text(json.dumps(configuration))
        with opa:
            until(lambda: looked(aioc, opa).get("bundle tools", (None, "")), "revision '7-x'")
            ok, text = until(lambda: looked(aioc, opa, "--max-age", "1")["bundle tools"], "stale: last fetched")
            assert ok is False
            assert "'7-x' still decides" in text
            assert looked(aioc, opa)["bundle tools"][0] is True


def test_bundles_that_need_not_be_signed_are_unsafe_and_one_of_no_known_key_is_never_activated(
    aioc: Command, opa_binary: Path, served: tuple[Path, Path], tmp_path: Path
) -> None:
    folder, public = served
    with files_served(folder) as url:
        for name, key in (("open", None), ("closed", public)):
            (tmp_path / name).mkdir()
            with fetching(opa_binary, tmp_path / name, url, "unsigned.tar.gz", key) as opa:
                if key is None:
                    until(lambda: looked(aioc, opa).get("bundle tools", (None, "")), "revision '7-x'")
                    assert looked(aioc, opa)["signatures"][0] is False
                else:
                    until(lambda: looked(aioc, opa).get("bundle tools", (None, "")), "never activated")
                    assert looked(aioc, opa)["signatures"][0] is True


@pytest.mark.parametrize("bounded", [False, True])
def test_a_decision_log_that_is_sent_away_without_a_bound_is_found(
    bounded: bool, aioc: Command, opa_binary: Path, served: tuple[Path, Path], tmp_path: Path
) -> None:
    reporting = {"buffer_type": "event"} if bounded else {}
    with (
        files_served(served[0]) as url,
        fetching(
            opa_binary, tmp_path, url, "unsigned.tar.gz", decision_logs={"service": "bundles", "reporting": reporting}
        ) as opa,
    ):
        assert looked(aioc, opa)["decision log size"][0] is bounded


def test_a_log_with_our_mask_is_masked(aioc: Command, opa_binary: Path, repository: Path, tmp_path: Path) -> None:
    mask = {
        f"log/{name}": (repository / "rego" / "system" / "log" / name).read_text()
        for name in ("mask.rego", "codes.rego")
    }
    arguments = ["--set=decision_logs.console=true"]
    with OpaProcess(opa_binary, tmp_path, policies={"p.rego": POLICY, **mask}, arguments=arguments) as opa:
        assert looked(aioc, opa)["decision log"] == (True, "masked by system.log")


def test_an_old_version_a_wrong_clock_and_plain_http_to_another_name_are_found(
    aioc: Command, opa_binary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server is the real one; what it is measured by is moved: the oldest version, our clock, a name."""

    class Ahead(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:  # type: ignore[override]  # the same, a minute on
            return datetime.now(tz) + timedelta(seconds=60)

    resolve = socket.getaddrinfo

    def resolved(host: Any, *rest: Any, **named: Any) -> Any:
        return resolve("127.0.0.1" if host == "opa.example" else host, *rest, **named)

    with OpaProcess(opa_binary, tmp_path, policies={"p.rego": POLICY}) as opa:
        sound = looked(aioc, opa)
        monkeypatch.setattr(doctor_server, "MINIMUM_OPA_VERSION", (99, 0, 0))
        monkeypatch.setattr(doctor_server, "datetime", Ahead)
        monkeypatch.setattr(socket, "getaddrinfo", resolved)
        found = looked(aioc, opa, url=f"http://opa.example:{opa.port}")
    topics = ("version", "clock", "way")
    assert [sound[topic][0] for topic in topics] == [True] * 3
    assert [found[topic][0] for topic in topics] == [False] * 3
    assert "is older than 99.0.0" in found["version"][1]
    assert "differs from ours by -" in found["clock"][1]
    assert "plain HTTP to another machine" in found["way"][1]
    assert found["policy API"][0] is False
    assert found["bundle"][0] is False
