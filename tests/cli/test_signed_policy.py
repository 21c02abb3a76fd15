"""`authorize` and `replay` with a signed bundle: what decides is what its publisher signed."""

from __future__ import annotations

import json
import shutil
import signal
import tarfile
from typing import TYPE_CHECKING

import pytest

from aioc_opa.packs.scaffolding import new_pack
from aioc_opa.packs.starter import new_policy
from tests.cli.test_serve import serve
from tests.opa.bundle_server import signing_key
from tests.opa_process import free_port

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Command, Files, Ran

TOOLS = [{"name": "send_email", "inputSchema": {"type": "object"}}]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("signed")
    new_policy(folder / "policy")
    new_pack("mail", folder / "policy", tools=["send_email"])
    signing_key(folder)
    (folder / "other").mkdir()
    signing_key(folder / "other")
    return folder


@pytest.fixture
def bundle(aioc: Command, folder: Path) -> Path:
    made = folder / "signed.tar.gz"
    if not made.exists():
        named = ("--name", "mail", "--counter", "3", "--owner", "mail team")
        assert aioc("bundle", "build", str(folder / "policy"), *named, "-o", str(folder / "plain.tar.gz")).status == 0
        key = ("--key", str(folder / "signing.pem"))
        assert aioc("bundle", "sign", str(folder / "plain.tar.gz"), *key, "-o", str(made)).status == 0
    return made


@pytest.fixture
def decide(aioc: Command, files: Files, folder: Path) -> Callable[..., Ran]:
    sample = json.loads((folder / "policy/aioc/packs/mail/samples/confirmed.json").read_text())
    call, tools = files.write("call.json", sample["call"]), files.write("tools.json", TOOLS)

    def decide(*options: str) -> Ran:
        return aioc("authorize", call, "--tools", tools, "--json", *options)

    return decide


@pytest.mark.parametrize("engine", ["embedded", "local", "both"])
def test_a_bundle_that_its_publisher_signed_decides(
    decide: Callable[..., Ran], bundle: Path, folder: Path, engine: str
) -> None:
    key = str(folder / "signing.pub.pem")
    done = decide("--policy", str(bundle), "--public-key", key, "--engine", engine)
    assert (done.status, done.document["outcome"]) == (0, "allow")
    verdicts = done.document.get("verdicts", [done.document])
    assert all('"local":"3-' in verdict["policyRevision"] for verdict in verdicts)


def test_a_signed_bundle_without_a_key_is_refused_and_the_option_is_named(
    decide: Callable[..., Ran], bundle: Path
) -> None:
    refused = decide("--policy", str(bundle), "--engine", "embedded")
    assert (refused.status, "with --public-key" in refused.err) == (3, True)


def test_what_somebody_else_signed_or_changed_decides_nothing(
    decide: Callable[..., Ran], bundle: Path, folder: Path, tmp_path: Path
) -> None:
    other = str(folder / "other/signing.pub.pem")
    assert decide("--policy", str(bundle), "--public-key", other).status == 3
    unsigned = str(folder / "plain.tar.gz")
    assert decide("--policy", unsigned, "--public-key", str(folder / "signing.pub.pem")).status == 3
    with tarfile.open(bundle) as archive:
        archive.extractall(tmp_path / "x", filter="data")
    data = tmp_path / "x/data.json"
    data.write_text(data.read_text().replace('"operator"', '"nobody"'))
    changed = shutil.make_archive(str(tmp_path / "changed"), "gztar", tmp_path / "x")
    assert decide("--policy", changed, "--public-key", str(folder / "signing.pub.pem")).status == 3


def test_what_contradicts_itself_is_wrong_usage(
    decide: Callable[..., Ran], bundle: Path, folder: Path, files: Files
) -> None:
    key = ("--public-key", str(folder / "signing.pub.pem"))
    data = files.write("data.json", {"x": 1})
    for options in (
        ("--policy", str(bundle), *key, "--data", data),
        ("--policy", str(bundle), "--scope", "write"),
        ("--policy", str(bundle), "--algorithm", "ES256"),
        ("--policy", str(bundle), *key, "--algorithm", "HS256"),
        ("--opa", "http://127.0.0.1:9", *key),
    ):
        assert decide(*options).status in {2, 3}, options
    assert decide("--policy", str(folder / "policy"), *key).status == 3


def test_a_signed_bundle_is_served_once_it_is_verified(bundle: Path, folder: Path, opa_binary: Path) -> None:
    address = f"127.0.0.1:{free_port()}"
    command = ("--policy", bundle, "--addr", address, "--public-key")
    refused = serve(opa_binary, *command, folder / "other" / "signing.pub.pem")
    _, err = refused.communicate(timeout=60)
    assert (refused.returncode, "signature" in err) == (3, True), err
    running = serve(opa_binary, *command, folder / "signing.pub.pem")
    try:
        assert running.stdout is not None
        assert f"http://{address}" in running.stdout.readline()
        assert running.stdout.readline().startswith("revision 3-")
        running.send_signal(signal.SIGTERM)
        running.communicate(timeout=60)
    finally:
        running.kill()
        running.communicate()
