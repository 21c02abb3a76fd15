from __future__ import annotations

import json
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from aioc_opa.errors import PolicyLoadError
from aioc_opa.packs.lint.runner import lint_policy
from aioc_opa.packs.policy_folder import load_policy
from aioc_opa.packs.samples import read_samples
from aioc_opa.packs.scaffolding import new_pack
from tests.packs.evaluation import copy_policy, on_opa, on_regorus

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(repository: Path, tmp_path: Path) -> Path:
    """The library alone."""
    target = tmp_path / "policy"
    for part in ("aioc/lib", "aioc/tool_policy"):
        shutil.copytree(repository / "rego" / part, target / part)
    return target


def test_new_pack_passes_fmt_check_test_and_lint_as_written(folder: Path, opa_binary: Path, repository: Path) -> None:
    written = new_pack("payments", folder)
    assert {path.relative_to(folder).as_posix() for path in written} == {
        "aioc/owners/data.json",
        "aioc/packs/payments/README.md",
        "aioc/packs/payments/data.json",
        "aioc/packs/payments/payments.rego",
        "aioc/packs/payments/payments_test.rego",
        "aioc/packs/payments/samples/above_limit.json",
        "aioc/packs/payments/samples/below_zero.json",
        "aioc/packs/payments/samples/not_verified.json",
        "aioc/packs/payments/samples/within_limits.json",
        "aioc/routes/routes.rego",
    }
    (folder / "aioc/routes/routes_test.rego").write_text("package aioc.routes_test\n\nimport future.keywords.not\n")
    for arguments in (
        ["fmt", "--fail", "--diff", folder],
        ["check", "--strict", "--schema", repository / "schemas", "-b", folder],
        ["test", "-b", folder, "--fail-on-empty"],
    ):
        output = subprocess.run([opa_binary, *arguments], capture_output=True, text=True, check=False)
        assert output.returncode == 0, output.stdout + output.stderr
    assert lint_policy(folder, opa_binary=opa_binary) == []


def test_samples_of_a_new_pack_hold_on_both_engines(folder: Path, tmp_path: Path, opa_binary: Path) -> None:
    new_pack("payments", folder, tool="refund")
    samples = read_samples(folder / "aioc/packs/payments/samples")
    policy = copy_policy(folder, tmp_path / "staged")
    expected = [(sample.decision, list(sample.reasons)) for sample in samples]
    questions = [sample.input for sample in samples]
    for answers in (on_opa(opa_binary, policy, questions), on_regorus(policy, questions)):
        assert [(answer["decision"], answer["reasons"]) for answer in answers] == expected


def test_new_packs_stand_beside_each_other(folder: Path) -> None:
    new_pack("payments", folder, tool="refund")
    new_pack("shipping", folder)
    owners = json.loads((folder / "aioc/owners/data.json").read_text())
    assert owners == {"refund": "payments", "shipping_example": "shipping"}
    assert load_policy(folder).modules


@pytest.mark.parametrize("name", ["Payments", "1x", "a-b", "", "../evil", "default", "unowned", "x" * 64])
def test_names_that_are_refused(folder: Path, name: str) -> None:
    with pytest.raises(PolicyLoadError, match="a pack's name"):
        new_pack(name, folder)


def test_what_else_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(PolicyLoadError, match="a tool's name"):
        new_pack("payments", folder, tool="two words")
    with pytest.raises(PolicyLoadError, match="start with `aioc-opa new policy`"):
        new_pack("payments", tmp_path / "nowhere")
    new_pack("payments", folder, tool="refund")
    with pytest.raises(PolicyLoadError, match="is there already"):
        new_pack("payments", folder)
    with pytest.raises(PolicyLoadError, match="has an owner already"):
        new_pack("other", folder, tool="refund")


def test_a_folder_that_cannot_be_written(folder: Path) -> None:
    (folder / "aioc/packs").write_text("a file where the folder should be")
    with pytest.raises(PolicyLoadError, match="cannot be written"):
        new_pack("payments", folder)
