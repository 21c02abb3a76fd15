"""`aioc-opa new policy`: the library alone, sound as it is written, on both engines."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest

from aioc_opa.errors import PolicyLoadError
from aioc_opa.packs import starter
from aioc_opa.packs.library_parts import LIBRARY_PARTS
from aioc_opa.packs.lint.runner import lint_policy
from aioc_opa.packs.policy_folder import load_policy
from aioc_opa.packs.routes_file import routes_are_current
from aioc_opa.packs.scaffolding import new_pack
from aioc_opa.packs.scaffolding_rules import PackRules
from aioc_opa.packs.starter import library_files, new_policy
from tests.packs.evaluation import copy_policy, on_opa, on_regorus

if TYPE_CHECKING:
    from pathlib import Path

CALL = {
    "kind": "tool",
    "requestId": "r",
    "proposalHash": "h",
    "toolName": "refund",
    "decodeAssurance": "raw",
    "parsedArguments": {},
    "runContext": {"context": {}},
    "principal": {"identity": "kim", "roles": ["operator"]},
}


def sound(folder: Path, opa_binary: Path, repository: Path) -> None:
    for arguments in (
        ["fmt", "--fail", "--diff", folder],
        ["check", "--strict", "--schema", repository / "schemas", "-b", folder],
        ["test", "-b", folder, "--fail-on-empty"],
    ):
        output = subprocess.run([opa_binary, *arguments], capture_output=True, text=True, check=False)
        assert output.returncode == 0, output.stdout + output.stderr
    assert lint_policy(folder, opa_binary=opa_binary) == []
    assert routes_are_current(folder)


def test_a_new_policy_is_clean_and_stays_so_with_a_pack(tmp_path: Path, opa_binary: Path, repository: Path) -> None:
    folder = tmp_path / "policy"
    written = new_policy(folder)
    assert written == sorted(path for path in folder.rglob("*") if path.is_file())
    sound(folder, opa_binary, repository)
    new_pack("payments", folder, tools=["refund"], rules=PackRules.AMOUNTS)
    sound(folder, opa_binary, repository)


def test_it_holds_the_library_as_it_is_and_nothing_of_the_examples(tmp_path: Path, repository: Path) -> None:
    folder = tmp_path / "policy"
    folder.mkdir()  # an empty one is taken
    new_policy(folder)
    for part in LIBRARY_PARTS:
        assert {path.relative_to(folder / part): path.read_bytes() for path in (folder / part).rglob("*.*")} == {
            path.relative_to(repository / "rego" / part): path.read_bytes()
            for path in (repository / "rego" / part).rglob("*.*")
        }
    assert json.loads((folder / "aioc/owners/data.json").read_text()) == {}
    assert json.loads((folder / "aioc/handoffs/data.json").read_text()) == {"targets": {}}
    access = json.loads((folder / "aioc/access/data.json").read_text())
    assert access == {"decidedBy": "table", **{key: {} for key in access.keys() - {"decidedBy"}}}
    for path in (folder / "aioc/access_rules").iterdir():
        assert path.read_bytes() == (repository / "rego/aioc/access_rules" / path.name).read_bytes()
    assert not (folder / "aioc/packs").exists()
    text = "".join(path.read_text() for path in folder.rglob("*") if path.is_file())
    assert "airline" not in text
    assert "access_table" not in text


def test_nobody_owns_a_tool_and_so_nothing_is_allowed(tmp_path: Path, opa_binary: Path) -> None:
    folder = tmp_path / "policy"
    new_policy(folder)
    assert load_policy(folder).modules
    staged = copy_policy(folder, tmp_path / "staged")
    for (answer,) in (on_opa(opa_binary, staged, [CALL]), on_regorus(staged, [CALL])):
        assert (answer["decision"], answer["reason"], answer["reasons"]) == ("deny", "no_rule_allows", [])


def test_nobody_is_listed_and_so_nobody_may_use_a_tool(tmp_path: Path, opa_binary: Path) -> None:
    folder = tmp_path / "policy"
    new_policy(folder)
    staged = copy_policy(folder, tmp_path / "staged")
    asked = {"kind": "access", "requestId": "r", "requestDigest": "d", "request": {"identity": "k", "toolName": "t"}}
    rule = "data.aioc.tool_access.decision"
    for (answer,) in (on_opa(opa_binary, staged, [asked], rule), on_regorus(staged, [asked], rule)):
        echoes = {key: asked[key] for key in ("kind", "requestId", "requestDigest")}
        assert answer == {"decision": "deny", "reason": "identity_not_listed", **echoes}


def test_what_is_there_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path, tmp_path / "file"):
        with pytest.raises(PolicyLoadError, match="name a new one"):
            new_policy(place)
    with pytest.raises(PolicyLoadError, match="cannot be written"):
        new_policy(tmp_path / "file" / "policy")


def test_an_installation_without_the_library_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starter, "_ENTRYPOINT", "aioc/nowhere.rego")
    with pytest.raises(PolicyLoadError, match="lacks the Rego library"):
        library_files()
