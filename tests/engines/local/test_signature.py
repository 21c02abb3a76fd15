"""Signed bundles: made by the real `opa`, tampered with, and refused."""

from __future__ import annotations

import io
import subprocess
import tarfile
from typing import TYPE_CHECKING

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from aioc_opa.engines import local_opa_signature
from aioc_opa.engines.deadline import Deadline
from aioc_opa.engines.local_opa import BundleVerification, LocalOpaEngine
from aioc_opa.engines.protocol import DecisionPath
from aioc_opa.errors import EngineConfigurationError, PolicyLoadError
from aioc_opa.packs import bundle_archive

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ANSWER = DecisionPath("acme/answer")


def write_key(folder: Path, name: str, key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey) -> tuple[Path, Path]:
    private, public = folder / f"{name}.pem", folder / f"{name}.pub"
    private.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
    )
    public.write_bytes(
        key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    return private, public


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return write_key(tmp_path_factory.mktemp("keys"), "rsa", rsa.generate_private_key(65537, 2048))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    source = tmp_path / "source"
    (source / "acme").mkdir(parents=True)
    (source / "acme" / "a.rego").write_text(
        "package acme\n\nimport future.keywords.not\n\nanswer := data.limits.refund\n"
    )
    (source / "acme" / "a_test.rego").write_text("package acme_test\n\nimport future.keywords.not\n\ntest_a if true\n")
    (source / "data.json").write_text('{"limits": {"refund": 5}}')
    return source


def build(opa: Path, source: Path, *options: str | Path) -> Path:
    bundle = source.parent / "bundle.tar.gz"
    subprocess.run([opa, "build", "--bundle", ".", "--output", bundle, *options], cwd=source, check=True)
    return bundle


def rewrite(bundle: Path, change: Callable[[dict[str, bytes]], None]) -> None:
    """Change an archive's files and leave its signature as it is."""
    with tarfile.open(bundle) as archive:
        files = {member.name: archive.extractfile(member).read() for member in archive}  # type: ignore[union-attr]  # regular files
    change(files)
    with tarfile.open(bundle, "w:gz") as archive:
        for name, content in files.items():
            add(archive, name, content)


def add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))


@pytest.fixture
def signed(opa_binary: Path, source: Path, keys: tuple[Path, Path]) -> Path:
    return build(opa_binary, source, "--revision", "r7", "--signing-key", keys[0])


@pytest.fixture
def verification(keys: tuple[Path, Path]) -> BundleVerification:
    return BundleVerification(public_key_file=keys[1])


def start(bundle: Path, opa_binary: Path, verification: BundleVerification | None) -> object:
    with LocalOpaEngine(bundle, opa_binary=opa_binary, verification=verification, decision_paths=[ANSWER]) as engine:
        answer = engine.evaluate(ANSWER, b'{"input":{}}', Deadline.after(30))
        return answer.result, answer.policy_revision


def test_a_signed_bundle_is_served_under_its_own_revision(
    signed: Path, opa_binary: Path, verification: BundleVerification
) -> None:
    assert start(signed, opa_binary, verification) == (5, '{"local":"r7"}')


def test_a_signed_bundle_without_a_key_to_verify_it_is_refused(signed: Path, opa_binary: Path) -> None:
    with pytest.raises(PolicyLoadError, match="signed"):
        start(signed, opa_binary, None)


def test_an_unsigned_bundle_is_refused_when_a_signature_is_wanted(
    source: Path, opa_binary: Path, verification: BundleVerification
) -> None:
    with pytest.raises(PolicyLoadError, match="not signed"):
        start(build(opa_binary, source), opa_binary, verification)


def raise_the_limit(files: dict[str, bytes]) -> None:
    files["/data.json"] = b'{"limits":{"refund":1000000}}'


def change_a_rule(files: dict[str, bytes]) -> None:
    files["/acme/a.rego"] = b"package acme\n\nimport future.keywords.not\n\nanswer := 6\n"


def add_a_rule(files: dict[str, bytes]) -> None:
    files["/acme/b.rego"] = b"package acme\n\nimport future.keywords.not\n\nmore := 6\n"


def take_a_rule_away(files: dict[str, bytes]) -> None:
    del files["/data.json"]


def change_the_revision(files: dict[str, bytes]) -> None:
    files["/.manifest"] = files["/.manifest"].replace(b"r7", b"r8")


def cut_the_signature(files: dict[str, bytes]) -> None:
    files["/.signatures.json"] = b'{"signatures":[]}'


@pytest.mark.parametrize(
    "change",
    [raise_the_limit, change_a_rule, add_a_rule, take_a_rule_away, change_the_revision, cut_the_signature],
)
def test_a_bundle_that_was_changed_after_signing_is_refused(
    signed: Path, opa_binary: Path, verification: BundleVerification, change: Callable[[dict[str, bytes]], None]
) -> None:
    rewrite(signed, change)
    with pytest.raises(PolicyLoadError, match="signature"):
        start(signed, opa_binary, verification)


def test_another_key_another_algorithm_another_scope_are_refused(
    signed: Path, opa_binary: Path, keys: tuple[Path, Path], tmp_path: Path
) -> None:
    _, other = write_key(tmp_path, "other", rsa.generate_private_key(65537, 2048))
    for verification in (
        BundleVerification(public_key_file=other),
        BundleVerification(public_key_file=keys[1], algorithm="RS512"),
        BundleVerification(public_key_file=keys[1], scope="write"),
    ):
        with pytest.raises(PolicyLoadError, match="OPA does not accept"):
            start(signed, opa_binary, verification)


def test_algorithm_and_scope_are_the_signers(source: Path, opa_binary: Path, tmp_path: Path) -> None:
    private, public = write_key(tmp_path, "ec", ec.generate_private_key(ec.SECP256R1()))
    (claims := tmp_path / "claims.json").write_text('{"scope": "write", "keyid": "k1"}')
    bundle = build(opa_binary, source, "--signing-key", private, "--signing-alg", "ES256", "--claims-file", claims)
    verification = BundleVerification(public_key_file=public, algorithm="ES256", scope="write")
    result = start(bundle, opa_binary, verification)
    assert isinstance(result, tuple)
    assert result[0] == 5


@pytest.mark.parametrize(
    "name", ["../x.rego", "/../x.rego", "a/./b.rego", "a\\b.rego", "a//b.rego", "caf\u00e9.rego", "data.json"]
)
def test_an_odd_or_doubled_member_is_refused(
    signed: Path, opa_binary: Path, verification: BundleVerification, name: str
) -> None:
    with tarfile.open(signed) as archive:
        members = [(member, archive.extractfile(member).read()) for member in archive]  # type: ignore[union-attr]  # regular files
    with tarfile.open(signed, "w:gz") as archive:
        for member, content in members:
            archive.addfile(member, io.BytesIO(content))
        add(archive, name, b"")
    with pytest.raises(PolicyLoadError, match=r"odd path|may not leave it"):
        start(signed, opa_binary, verification)


def test_a_link_is_refused_and_a_folder_is_nothing(
    tmp_path: Path, opa_binary: Path, verification: BundleVerification
) -> None:
    bundle = tmp_path / "bundle.tar.gz"
    with tarfile.open(bundle, "w:gz") as archive:
        folder = tarfile.TarInfo("acme")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        link = tarfile.TarInfo("data.json")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    with pytest.raises(PolicyLoadError, match="links and devices"):
        start(bundle, opa_binary, verification)


@pytest.mark.parametrize("cut", [0, 10, 200])
def test_a_file_that_is_no_whole_archive_is_refused(
    signed: Path, opa_binary: Path, verification: BundleVerification, cut: int
) -> None:
    signed.write_bytes(signed.read_bytes()[:cut])
    with pytest.raises(PolicyLoadError, match="not a whole"):
        start(signed, opa_binary, verification)


@pytest.mark.parametrize("cap", [("MAX_ARCHIVE_BYTES", 10), ("MAX_TOTAL_BYTES", 10), ("MAX_FILES", 1)])
def test_an_archive_that_is_too_large_is_refused(
    signed: Path,
    opa_binary: Path,
    verification: BundleVerification,
    monkeypatch: pytest.MonkeyPatch,
    cap: tuple[str, int],
) -> None:
    monkeypatch.setattr(bundle_archive, *cap)
    with pytest.raises(PolicyLoadError, match=r"(larger|more) than"):
        start(signed, opa_binary, verification)


def test_a_verification_that_takes_too_long_is_refused(
    signed: Path, opa_binary: Path, verification: BundleVerification, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_opa_signature, "_VERIFY_SECONDS", 0.0001)
    with pytest.raises(PolicyLoadError, match="could not be verified"):
        start(signed, opa_binary, verification)


def test_only_the_path_of_a_bundle_can_be_verified(
    source: Path, opa_binary: Path, verification: BundleVerification
) -> None:
    with pytest.raises(EngineConfigurationError, match="signed bundle"):
        start(source, opa_binary, verification)


@pytest.mark.parametrize("algorithm", ["HS256", "none", "", "rs256"])
def test_an_algorithm_without_a_public_key_is_refused(keys: tuple[Path, Path], algorithm: str) -> None:
    with pytest.raises(EngineConfigurationError, match="algorithm"):
        BundleVerification(public_key_file=keys[1], algorithm=algorithm)


def test_a_key_file_that_is_not_there_would_be_taken_for_a_secret_and_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EngineConfigurationError, match="no public key file"):
        BundleVerification(public_key_file=tmp_path / "gone.pem")


@pytest.mark.parametrize("scope", ["", "a b", "a\n"])
def test_an_empty_or_odd_scope_is_refused(keys: tuple[Path, Path], scope: str) -> None:
    with pytest.raises(EngineConfigurationError, match="scope"):
        BundleVerification(public_key_file=keys[1], scope=scope)
