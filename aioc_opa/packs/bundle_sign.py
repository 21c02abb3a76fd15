"""Sign a bundle with `opa sign` (https://www.openpolicyagent.org/docs/management-bundles#signing).

The signature is a JSON Web Token over the SHA-256 of every file, the manifest with the publisher's statement among
them. So one key and one signature cover the rules, the data, the counter and the expiry, and OPA verifies it as any
other.
With RS256 the signed archive, too, has the same bytes each time; the other algorithms draw random numbers.
"""

from __future__ import annotations

import json
import os
import re
import stat
import tempfile
from pathlib import Path
from typing import Final

from aioc_opa.errors import InputFileError, PolicyLoadError
from aioc_opa.packs.bundle_file import read_bundle
from aioc_opa.packs.bundle_writer import bundle_archive
from aioc_opa.packs.lint.linted import run_opa
from aioc_opa.packs.policy_files import SIGNATURES

ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512")
"""Those with a public key: with a shared secret, whoever verifies could sign."""

_SCOPE: Final = re.compile(r"[A-Za-z0-9_.:/@+-]{1,128}")


def sign_bundle(path: Path, *, key_file: Path, opa_binary: Path, algorithm: str = "RS256", scope: str = "") -> bytes:
    """The archive of the bundle at `path`, signed; a signature that it has is replaced.

    Args:
        path: a bundle that `build_bundle` made.
        key_file: PEM of the private key, of a mode that lets nobody but its owner read it.
        opa_binary: the `opa` that signs.
        algorithm: one of `ALGORITHMS`; it must fit the key.
        scope: the ``scope`` claim, when OPA is configured to ask for one.

    Raises:
        PolicyLoadError: the bundle is refused, or `opa sign` refuses key or algorithm.
        InputFileError: the key file cannot be used.
    """
    if algorithm not in ALGORITHMS:
        raise PolicyLoadError(f"bundle: the algorithm must be one of {', '.join(ALGORITHMS)}")
    if scope and _SCOPE.fullmatch(scope) is None:
        raise PolicyLoadError("bundle: the scope has odd characters")
    _require_private(key_file)
    bundle = read_bundle(path)
    files = {name: content for name, content in bundle.files.items() if name != SIGNATURES}
    with tempfile.TemporaryDirectory(prefix="aioc-opa-sign-") as folder:
        place = Path(folder)
        unsigned = place / "unsigned.tar.gz"
        unsigned.write_bytes(bundle_archive(files))
        arguments = ["sign", f"--signing-key={key_file.resolve()}", f"--signing-alg={algorithm}"]
        if scope:
            (place / "claims.json").write_text(json.dumps({"scope": scope}))
            arguments.append("--claims-file=claims.json")
        done = run_opa(opa_binary, *arguments, "--output-file-path=.", "--bundle", unsigned.name, cwd=place)
        signature = place / SIGNATURES
        if done.returncode != 0 or not signature.is_file():
            said = (done.stderr or done.stdout).strip().replace(str(key_file.resolve()), "the key")
            raise PolicyLoadError(f"{path}: opa sign refuses: {said}")
        return bundle_archive({**files, SIGNATURES: signature.read_bytes()})


def _require_private(key_file: Path) -> None:
    """OPA takes the name of a file that does not exist for a shared secret."""
    try:
        found = key_file.stat()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise InputFileError(f"{key_file}: cannot be read: {reason or type(error).__name__}") from None
    if not stat.S_ISREG(found.st_mode) or not os.access(key_file, os.R_OK):
        raise InputFileError(f"{key_file}: is not a file that can be read")
    if found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise InputFileError(f"{key_file}: others have rights to this private key: chmod 600 {key_file}")
