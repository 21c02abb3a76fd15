"""A signed bundle, verified by OPA before anything of it is used.

https://www.openpolicyagent.org/docs/management-bundles#signing, in this order:

1. The archive is read once, by us, into names and bytes; links, odd paths and doubles are refused.
2. A plain archive of exactly these is written into the private folder, and OPA verifies it: every file has a hash in
   the signature, and every hash a file. What Python and Go may read differently in an odd archive does not matter:
   OPA judges what we have read.
3. That plain archive is loaded as any bundle is.

A signature has no expiry and does not stop an older bundle from being served again (`iat` is not verified): that is for
the revision gate.
"""

from __future__ import annotations

import io
import re
import subprocess
import tarfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aioc_opa.errors import EngineConfigurationError, PolicyLoadError
from aioc_opa.packs.bundle_archive import archive_members

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from aioc_opa.engines.opa_binary import OpaBinary

_PUBLIC_KEY_ALGORITHMS: Final = frozenset(
    {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512"}
)
_WORD: Final = re.compile(r"[A-Za-z0-9_.:/@+-]+")
_VERIFY_SECONDS: Final = 60.0
_MAX_KEY_BYTES: Final = 64 * 1024
_PUBLIC: Final = re.compile(rb"-----BEGIN (?:[A-Z0-9]+ )?(?:PUBLIC KEY|CERTIFICATE)-----")


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleVerification:
    """What a bundle's signature must satisfy. There is one key, whatever ``keyid`` the signer wrote.

    Attributes:
        public_key_file: PEM file of the public key; one with a private key is refused.
        algorithm: of RFC 7518, one with a public key: a shared secret (HS256) would stand in the process list.
        scope: the ``scope`` claim that the signature must have, if any.

    Raises:
        EngineConfigurationError: one of these cannot be.
    """

    public_key_file: Path
    algorithm: str = "RS256"
    scope: str | None = None

    def __post_init__(self) -> None:
        if self.algorithm not in _PUBLIC_KEY_ALGORITHMS:
            raise EngineConfigurationError(
                f"bundle signatures: algorithm must be one of {', '.join(sorted(_PUBLIC_KEY_ALGORITHMS))}"
            )
        if self.scope is not None and _WORD.fullmatch(self.scope) is None:
            raise EngineConfigurationError(f"bundle signatures: scope {self.scope!r} is empty or has odd characters")
        # OPA takes the name of a file that does not exist for a secret.
        if not self.public_key_file.is_file():
            raise EngineConfigurationError(f"bundle signatures: no public key file {str(self.public_key_file)!r}")
        _require_public(self.public_key_file)


def _require_public(file: Path) -> None:
    """Refuse a private key: whoever verifies must not be able to sign, and it has no business on this machine."""
    name = f"bundle signatures: the public key file {str(file)!r}"
    try:
        with file.open("rb") as stream:
            content = stream.read(_MAX_KEY_BYTES + 1)
    except OSError as problem:
        raise EngineConfigurationError(f"{name} cannot be read: {problem.strerror or type(problem).__name__}") from None
    if b"PRIVATE KEY" in content:
        raise EngineConfigurationError(
            f"{name} holds a PRIVATE key: give the public one (openssl pkey -in KEY -pubout), and keep that one secret"
        )
    if len(content) > _MAX_KEY_BYTES or _PUBLIC.search(content) is None:
        raise EngineConfigurationError(f"{name} is no PEM file of a public key or a certificate")


def verified_copy(bundle: Path, verification: BundleVerification, *, binary: OpaBinary, into: Path) -> Path:
    """Write a plain copy of the signed `bundle` into the folder `into`, verified by OPA, and return its path.

    Raises:
        PolicyLoadError: it cannot be read, or is not signed as `verification` wants.
    """
    copy = plain_copy(bundle, into=into)
    verify_copies({copy: bundle}, verification, binary=binary)
    return copy


def plain_copy(bundle: Path, *, into: Path, name: str = "verified.tar.gz") -> Path:
    """Write a plain archive of the signed `bundle`, not yet verified, to `name` in the folder `into`.

    Raises:
        PolicyLoadError: it cannot be read, or has no signature.
    """
    files = _read(bundle)
    if ".signatures.json" not in files:
        raise PolicyLoadError(f"{bundle}: is not signed (it has no .signatures.json)")
    copy = into / name
    with tarfile.open(copy, "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for path, content in files.items():
            member = tarfile.TarInfo(path)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return copy


def verify_copies(copies: Mapping[Path, Path], verification: BundleVerification, *, binary: OpaBinary) -> None:
    """Let OPA verify plain copies of bundles that make one policy together: it compiles what it verifies.

    Args:
        copies: each copy, all in one folder, with the bundle that it is of.
        verification: what every signature must satisfy.
        binary: the `opa`.

    Raises:
        PolicyLoadError: a signature does not hold, or OPA refuses the policy.
    """
    names = ", ".join(str(bundle) for bundle in copies.values())
    folder = next(iter(copies)).parent
    command = [
        str(binary.path),
        "build",
        f"--verification-key={verification.public_key_file.resolve()}",
        f"--signing-alg={verification.algorithm}",
        *([f"--scope={verification.scope}"] if verification.scope else []),
        "--output=/dev/null",
        "--bundle",
        *(copy.name for copy in copies),
    ]
    try:
        done = subprocess.run(  # noqa: S603 - a checked binary, no shell, and words that were checked above
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            cwd=folder,
            env={},
            timeout=_VERIFY_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise PolicyLoadError(f"{names}: the signature could not be verified: {problem}") from None
    if done.returncode != 0:
        said = (done.stderr or done.stdout).decode("utf-8", "replace").strip()
        for copy, bundle in copies.items():
            said = said.replace(copy.name, bundle.name)
        raise PolicyLoadError(f"{names}: OPA does not accept the bundle or its signature: {said}")


def _read(bundle: Path) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    try:
        for name, stream in archive_members(bundle):
            if stream is None:
                continue
            if not name.isascii() or name in files:
                raise PolicyLoadError(f"{bundle}: {name!r}: an odd path, or there twice")
            files[name] = stream.read()
    except OSError as problem:
        raise PolicyLoadError(f"{bundle}: cannot be read: {problem.strerror or problem}") from None
    return files
