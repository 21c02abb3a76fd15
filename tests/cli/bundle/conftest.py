"""A policy, its bundle, and the bundle signed."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from aioc_opa.packs.scaffolding import new_pack
from aioc_opa.packs.scaffolding_rules import PackRules
from aioc_opa.packs.starter import new_policy
from tests.cli.bundle.bundle_cases import build
from tests.opa.bundle_server import signing_key

if TYPE_CHECKING:
    from tests.cli.conftest import Command


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a policy, its bundle signed and unsigned, and the key."""
    folder = tmp_path_factory.mktemp("bundles")
    new_policy(folder / "policy")
    new_pack("payments", folder / "policy", tools=["refund"], rules=PackRules.AMOUNTS)
    signing_key(folder)
    return folder


@pytest.fixture
def policy(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made / "policy", tmp_path / "p"))


@pytest.fixture
def bundle(aioc: Command, made: Path) -> Path:
    out = made / "tools.tar.gz"
    if not out.exists():
        assert build(aioc, made / "policy", out, "--expires", "2230-01-01T00:00:00Z").status == 0
    return out


@pytest.fixture
def signed(aioc: Command, made: Path, bundle: Path) -> Path:
    out = made / "signed.tar.gz"
    if not out.exists():
        ran = aioc("bundle", "sign", str(bundle), "--key", str(made / "signing.pem"), "-o", str(out))
        assert (ran.status, ran.out) == (0, f"{out}: signed with RS256\n")
    return out
