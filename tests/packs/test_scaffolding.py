from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from aioc_opa.errors import PolicyLoadError
from aioc_opa.packs.lint.runner import lint_policy
from aioc_opa.packs.policy_folder import load_policy
from aioc_opa.packs.samples import read_samples
from aioc_opa.packs.scaffolding import new_pack
from aioc_opa.packs.scaffolding_rules import PackRules
from aioc_opa.packs.starter import new_policy
from tests.docs.blocks import blocks
from tests.packs.evaluation import copy_policy, on_opa, on_regorus


@pytest.fixture
def folder(repository: Path, tmp_path: Path) -> Path:
    """The library alone."""
    target = tmp_path / "policy"
    for part in ("aioc/lib", "aioc/tool_policy"):
        shutil.copytree(repository / "rego" / part, target / part)
    return target


SAMPLES = {
    PackRules.ROLES: {"confirmed", "not_confirmed", "other_role"},
    PackRules.AMOUNTS: {"above_limit", "below_zero", "not_verified", "within_limits"},
}


@pytest.mark.parametrize("tools", [[], ["refund", "charge:card"]], ids=["none named", "two named"])
@pytest.mark.parametrize("rules", list(PackRules), ids=str)
def test_new_pack_passes_fmt_check_test_and_lint_as_written(
    folder: Path, opa_binary: Path, repository: Path, rules: PackRules, tools: list[str]
) -> None:
    written = new_pack("payments", folder, tools=tools, rules=rules)
    assert {path.relative_to(folder).as_posix() for path in written} == {
        "aioc/owners/data.json",
        "aioc/packs/payments/README.md",
        "aioc/packs/payments/data.json",
        "aioc/packs/payments/payments.rego",
        "aioc/packs/payments/payments_test.rego",
        "aioc/routes/routes.rego",
        *(f"aioc/packs/payments/samples/{name}.json" for name in SAMPLES[rules]),
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


@pytest.mark.parametrize("rules", list(PackRules), ids=str)
def test_the_commands_of_a_new_packs_readme_run_from_its_folder(
    tmp_path: Path, opa_binary: Path, rules: PackRules
) -> None:
    policy = tmp_path / "my policy"
    new_policy(policy)
    new_pack("payments", policy, tools=["refund"], rules=rules)
    pack = policy / "aioc" / "packs" / "payments"
    owners = policy / "aioc" / "owners" / "data.json"
    owners.write_text(json.dumps({"refund": "payments", "other": "payments"}))
    data = json.loads((pack / "data.json").read_text())
    data["manifest"]["tools"]["other"] = data["manifest"]["tools"]["refund"]
    (pack / "data.json").write_text(json.dumps(data))
    stale = (policy / "aioc" / "routes" / "routes.rego").read_text()
    (script,) = [block.text for block in blocks(pack / "README.md", "sh")]
    path = f"{Path(sys.executable).parent}:{opa_binary.parent}:{os.environ['PATH']}"
    ran = subprocess.run(
        ["bash", "-euc", script], cwd=pack, env={**os.environ, "PATH": path, "AIOC_OPA_BIN": str(opa_binary)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert (policy / "aioc" / "routes" / "routes.rego").read_text() != stale


@pytest.mark.parametrize("rules", list(PackRules), ids=str)
def test_samples_of_a_new_pack_hold_for_each_of_its_tools_on_both_engines(
    folder: Path, tmp_path: Path, opa_binary: Path, rules: PackRules
) -> None:
    new_pack("payments", folder, tools=["refund", "charge:card"], rules=rules)
    samples = read_samples(folder / "aioc/packs/payments/samples")
    policy = copy_policy(folder, tmp_path / "staged")
    assert {sample.input["toolName"] for sample in samples} == {"refund"}
    questions = [{**sample.input, "toolName": tool} for tool in ("refund", "charge:card") for sample in samples]
    expected = 2 * [(sample.decision, list(sample.reasons)) for sample in samples]
    for answers in (on_opa(opa_binary, policy, questions), on_regorus(policy, questions)):
        assert [(answer["decision"], answer["reasons"]) for answer in answers] == expected


def test_a_new_pack_says_nothing_of_arguments_unless_asked_to(folder: Path) -> None:
    new_pack("mail", folder, tools=["send_email"])
    assert "parsedArguments" not in (folder / "aioc/packs/mail/mail.rego").read_text()


def test_a_tool_that_is_named_twice_is_owned_once(folder: Path) -> None:
    new_pack("mail", folder, tools=["send_email", "send_email"])
    assert json.loads((folder / "aioc/owners/data.json").read_text()) == {"send_email": "mail"}
    assert 'input.toolName == "send_email"' in (folder / "aioc/packs/mail/mail.rego").read_text()


def test_two_spellings_of_a_name_are_refused_before_anything_is_written(folder: Path) -> None:
    new_pack("mail", folder, tools=["send_email"])
    before = (folder / "aioc/owners/data.json").read_text()
    for tools in (["Send_Email"], ["wire", "Wire"]):
        with pytest.raises(PolicyLoadError, match="upper and lower case alone"):
            new_pack("other", folder, tools=tools)
    assert not (folder / "aioc/packs/other").exists()
    assert (folder / "aioc/owners/data.json").read_text() == before


def test_new_packs_stand_beside_each_other(folder: Path) -> None:
    new_pack("payments", folder, tools=["refund"], rules=PackRules.AMOUNTS)
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
        new_pack("payments", folder, tools=["refund", "two words"])
    with pytest.raises(PolicyLoadError, match="start with `aioc-opa new policy`"):
        new_pack("payments", tmp_path / "nowhere")
    new_pack("payments", folder, tools=["refund"], rules=PackRules.AMOUNTS)
    with pytest.raises(PolicyLoadError, match="is there already"):
        new_pack("payments", folder)
    with pytest.raises(PolicyLoadError, match="has an owner already"):
        new_pack("other", folder, tools=["mine", "refund"])


def test_a_folder_that_cannot_be_written(folder: Path) -> None:
    (folder / "aioc/packs").write_text("a file where the folder should be")
    with pytest.raises(PolicyLoadError, match="cannot be written"):
        new_pack("payments", folder)
