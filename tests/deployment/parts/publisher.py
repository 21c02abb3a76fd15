"""Makes the bundle of a set-up as a publisher does: `aioc-opa bundle build` and `bundle sign`, then a folder to serve."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from aioc_opa.packs.routes_file import write_routes
from tests.approvals.treasury import write_policy
from tests.conftest import ROOT
from tests.opa.bundle_server import signing_key

GUARD_TOKEN = "token-of-the-guards"
OPERATOR_TOKEN = "token-of-the-operators"
COUNTER = 7

_TEST = """package aioc.packs.treasury_test

import future.keywords.not

import data.aioc.packs.treasury

test_it_is_loaded if treasury.loaded
"""
_SAMPLE = {
    "title": "a small transfer",
    "call": {
        "agentName": "clerk",
        "toolName": "transfer",
        "arguments": {"to": "A7", "amount": 1},
        "runContext": {"context": {"frozen": False}},
    },
    "expected": {"decision": "allow", "reasons": []},
}


def signed_bundle(folder: Path, opa_binary: Path) -> tuple[Path, Path]:
    """The treasury's policy with `system.authz`, the mask and the callers' digests: the signed file, the public key."""
    policy = write_policy(folder / "policy")
    pack = policy / "aioc" / "packs" / "treasury"
    (pack / "README.md").write_text("# Treasury\n")
    (pack / "treasury_test.rego").write_text(_TEST)
    (pack / "samples").mkdir()
    (pack / "samples" / "small.json").write_text(json.dumps(_SAMPLE))
    callers = policy / "system" / "callers"
    shutil.copytree(ROOT / "deploy" / "opa" / "callers", callers)
    (callers / "tokens").mkdir()
    digests = {"guards": [_digest(GUARD_TOKEN)], "operators": [_digest(OPERATOR_TOKEN)]}
    (callers / "tokens" / "data.json").write_text(json.dumps(digests))
    write_routes(policy)
    key, public_key = signing_key(folder)
    built, signed = folder / "built.tar.gz", folder / "tools.tar.gz"
    _aioc_opa(
        opa_binary,
        "bundle",
        "build",
        policy,
        "--name",
        "tools",
        "--counter",
        COUNTER,
        "--owner",
        "treasury",
        "-o",
        built,
    )
    _aioc_opa(opa_binary, "bundle", "sign", built, "--key", key, "-o", signed)
    return signed, public_key


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _aioc_opa(opa_binary: Path, *arguments: object) -> None:
    subprocess.run(
        [Path(sys.executable).parent / "aioc-opa", *map(str, arguments)],
        check=True,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "AIOC_OPA_BIN": str(opa_binary)},
    )
