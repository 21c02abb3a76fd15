"""Bundles, built and changed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from aioc_opa.packs.bundle_file import read_bundle
from aioc_opa.packs.bundle_writer import bundle_archive
from aioc_opa.packs.policy_files import MANIFEST

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.cli.conftest import Command, Ran

PACK = "aioc/packs/payments"
RULES = f"{PACK}/payments.rego"
OWNER = ("--owner", "payments team")


def build(aioc: Command, policy: Path, out: Path, *arguments: str, counter: int = 7) -> Ran:
    named = () if "--name" in arguments else ("--name", "tools")
    return aioc(
        "bundle", "build", str(policy), *named, "--counter", str(counter), *OWNER, "-o", str(out), *arguments
    )  # fmt: skip


def changed(source: Path, target: Path, change: Mapping[str, bytes | None], **manifest: Any) -> Path:
    """A copy with other files, and other entries of the manifest."""
    files = {**read_bundle(source).files, **change}
    if manifest:
        files[MANIFEST] = json.dumps({**json.loads(files[MANIFEST] or b""), **manifest}).encode()
    target.write_bytes(bundle_archive({name: content for name, content in files.items() if content is not None}))
    return target
