from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa.errors import PolicyLoadError
from aioc_opa.packs.policy_folder import load_policy
from aioc_opa.packs.routes_file import write_routes
from tests.packs.folders import archive, manifest, pack_module, rule, write

if TYPE_CHECKING:
    from pathlib import Path

OWN = {"authz/authz.rego": "package authz\n\nallow := true\n", "authz/data.json": {"limits": {"refund": 5}}}


@pytest.fixture
def library(repository: Path, tmp_path: Path) -> Path:
    """A copy of the library with one pack of our own."""
    folder = tmp_path / "policy"
    for part in ("aioc/lib", "aioc/tool_policy"):
        shutil.copytree(repository / "rego" / part, folder / part)
    write(
        folder,
        {
            "aioc/packs/mine/mine.rego": pack_module("mine", rule("allow", "t", 'verdicts.allow("fine")')),
            "aioc/packs/mine/data.json": {"manifest": manifest("t", codes=("fine",))},
            "aioc/owners/data.json": {"t": "mine"},
        },
    )
    assert write_routes(folder)
    return folder


def refused(folder: Path, files: dict[str, Any], match: str) -> None:
    write(folder, files)
    with pytest.raises(PolicyLoadError, match=match):
        load_policy(folder)


def test_an_authors_own_folder_loads(tmp_path: Path) -> None:
    policy = load_policy(write(tmp_path, OWN))
    assert dict(policy.modules) == {"authz/authz.rego": OWN["authz/authz.rego"]}
    assert policy.data == {"authz": {"limits": {"refund": 5}}}
    assert set(policy.files) == {"authz/authz.rego", "authz/data.json"}


def test_revision_is_that_of_design_3_3(tmp_path: Path) -> None:
    policy = load_policy(write(tmp_path, OWN))
    listing = {name: hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() for name in OWN}
    text = json.dumps(listing, sort_keys=True, separators=(",", ":"))
    assert policy.revision == f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def test_revision_changes_with_data_and_extra_data_and_not_with_tests(tmp_path: Path) -> None:
    first = load_policy(write(tmp_path, OWN)).revision
    write(tmp_path, {"authz/authz_test.rego": "package authz_test\n"})
    assert load_policy(tmp_path).revision == first
    extra = load_policy(tmp_path, extra_data={"limits": 1}).revision
    write(tmp_path, {"authz/data.json": {"limits": {"refund": 6}}})
    assert len({first, extra, load_policy(tmp_path).revision}) == 3


def test_the_shipped_folder_loads(repository: Path) -> None:
    policy = load_policy(repository / "rego")
    assert "aioc/tool_policy/tool_policy.rego" in policy.modules
    assert not any(name.endswith("_test.rego") for name in policy.modules)


def test_empty_means_fail(tmp_path: Path) -> None:
    refused(tmp_path, {"data.json": {}}, "holds no Rego module")


def test_package_that_is_not_its_folders_is_refused(tmp_path: Path) -> None:
    refused(tmp_path, {"authz/authz.rego": "package other\n"}, "package other is not its folder's")


def test_module_at_the_root_is_refused(tmp_path: Path) -> None:
    refused(tmp_path, {"authz.rego": "package authz\n"}, "not its folder's")


def test_module_without_a_plain_package_is_refused(tmp_path: Path) -> None:
    refused(tmp_path, {"authz/authz.rego": 'package authz["x"]\n'}, "first statement")


@pytest.mark.parametrize("content", [b"\xff", b"\xef\xbb\xbfpackage authz\n", b"package authz\n\0"])
def test_source_that_is_no_plain_utf_8_is_refused(tmp_path: Path, content: bytes) -> None:
    refused(tmp_path, {"authz/authz.rego": content}, "UTF-8|byte order mark")


@pytest.mark.parametrize(
    "content", ["{", "[]", '{"a": 1, "a": 2}', '{"a": NaN}', '{"a": 9007199254740993}', "\ufeff{}", '{"a": 1} {}']
)
def test_data_that_is_no_strict_json_object_is_refused(tmp_path: Path, content: str) -> None:
    refused(tmp_path, {**OWN, "authz/data.json": content}, "not a strict JSON object")


def test_the_same_data_key_in_two_files_is_refused(tmp_path: Path) -> None:
    refused(tmp_path, {**OWN, "data.json": {"authz": {"limits": 5}}}, r"data\.authz\.limits is given by another file")


def test_disjoint_keys_of_two_files_merge(tmp_path: Path) -> None:
    write(tmp_path, {**OWN, "data.json": {"authz": {"more": 5}}})
    assert load_policy(tmp_path).data == {"authz": {"limits": {"refund": 5}, "more": 5}}


def test_a_value_above_a_package_is_refused(tmp_path: Path) -> None:
    refused(tmp_path, {**OWN, "a/b/c.rego": "package a.b\n", "data.json": {"a": 5}}, r"data\.a is a value")


def test_extra_data_is_merged_and_staged(tmp_path: Path) -> None:
    policy = load_policy(write(tmp_path, {**OWN, "data.json": {"x": 1}}), extra_data={"limits": {"a": 1}})
    assert policy.data["limits"] == {"a": 1}
    assert json.loads(policy.files["data.json"]) == {"limits": {"a": 1}, "x": 1}


def test_extra_data_may_not_touch_the_library(tmp_path: Path) -> None:
    with pytest.raises(PolicyLoadError, match="may not hold the key `aioc`"):
        load_policy(write(tmp_path, OWN), extra_data={"aioc": {"owners": {}}})


def test_extra_data_may_not_replace_the_policys_own(tmp_path: Path) -> None:
    write(tmp_path, {**OWN, "data.json": {"limits": 1}})
    with pytest.raises(PolicyLoadError, match="extra data gives 'limits'"):
        load_policy(tmp_path, extra_data={"limits": 2})
    with pytest.raises(PolicyLoadError, match="given by another file"):
        load_policy(tmp_path, extra_data={"authz": {"limits": 2}})


def test_a_signed_policy_is_refused_unless_told(tmp_path: Path) -> None:
    write(tmp_path, {**OWN, ".signatures.json": {"signatures": []}})
    with pytest.raises(PolicyLoadError, match="signatures are not verified here"):
        load_policy(tmp_path)
    assert load_policy(tmp_path, unsafe_ignore_signature=True).data == {"authz": {"limits": {"refund": 5}}}


# --- what a pack may not reach -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "module",
    [
        'package aioc\n\npackages := 1\n\npacks.mine.allow contains verdict if verdict := {"code": "x"}\n',
        "package aioc.packs\n\nmine.loaded := true\n",
        "package aioc.other\n",
        "package aioc.owners\n\nt := 1\n",
    ],
)
def test_a_module_that_could_put_rules_into_others_is_refused(library: Path, module: str) -> None:
    folder = module.split("\n", maxsplit=1)[0].removeprefix("package ").replace(".", "/")
    refused(library, {f"{folder}/evil.rego": module}, "could put rules into")


def test_a_pack_with_another_packs_package_is_refused(library: Path) -> None:
    refused(library, {"aioc/packs/mine/evil.rego": "package aioc.packs.other\n"}, "not its folder's")
    (library / "aioc/packs/mine/evil.rego").unlink()
    refused(library, {"aioc/packs/mine/evil.rego": "package aioc.tool_policy\n"}, "not its folder's")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("data.json", {"aioc": {"owners": {"u": "mine"}}}),
        ("aioc/data.json", {"owners": {"u": "mine"}}),
        ("aioc/packs/data.json", {"other": {"limits": 1}}),
        ("aioc/tool_policy/data.json", {"x": 1}),
        ("aioc/routes/data.json", {"x": 1}),
        ("aioc/other/data.json", {"x": 1}),
    ],
)
def test_data_outside_its_own_folder_is_refused(library: Path, name: str, content: Any) -> None:
    refused(library, {name: content}, "may not hold `aioc`|is not a place for data")


def test_a_pack_without_rules_is_refused(library: Path) -> None:
    refused(library, {"aioc/packs/ghost/data.json": {"manifest": manifest("t")}}, "has data and no rules")


def test_stale_routes_are_refused(library: Path) -> None:
    assert load_policy(library).modules
    refused(library, {"aioc/owners/data.json": {}}, "the routes are stale: run `aioc-opa routes`")


def test_routes_that_were_edited_are_refused(library: Path) -> None:
    routes = library / "aioc/routes/routes.rego"
    refused(library, {"aioc/routes/routes.rego": routes.read_text() + "\nallow contains 1\n"}, "stale")


def test_missing_routes_are_refused(library: Path) -> None:
    (library / "aioc/routes/routes.rego").unlink()
    with pytest.raises(PolicyLoadError, match="the routes are missing"):
        load_policy(library)


def test_a_pack_file_that_was_taken_away_makes_routes_stale(library: Path) -> None:
    write(library, {"aioc/packs/mine/more.rego": "package aioc.packs.mine\n\nmore_loaded := true\n"})
    assert write_routes(library)
    (library / "aioc/packs/mine/more.rego").unlink()
    with pytest.raises(PolicyLoadError, match="stale"):
        load_policy(library)


# --- bundles -------------------------------------------------------------------------------------------------------


def build(opa_binary: Path, folder: Path, target: Path, *options: str) -> Path:
    subprocess.run([opa_binary, "build", "-b", folder, "-o", target, *options], check=True, capture_output=True)
    return target


def test_a_bundle_of_opa_build_loads_like_its_folder(opa_binary: Path, library: Path, tmp_path: Path) -> None:
    bundle = build(opa_binary, library, tmp_path / "b.tar.gz", "-r", "v7")
    policy, folder = load_policy(bundle), load_policy(library)
    assert policy.revision == "v7"
    assert set(policy.modules) == set(folder.modules)
    assert policy.data == folder.data


def test_a_bundle_without_a_revision_is_named_by_its_content(opa_binary: Path, library: Path, tmp_path: Path) -> None:
    assert load_policy(build(opa_binary, library, tmp_path / "b.tar.gz")).revision.startswith("sha256:")


def test_a_bundle_takes_extra_data(opa_binary: Path, library: Path, tmp_path: Path) -> None:
    bundle = build(opa_binary, library, tmp_path / "b.tar.gz")
    policy = load_policy(bundle, extra_data={"limits": 1})
    assert policy.data["limits"] == 1
    with pytest.raises(PolicyLoadError, match="aioc"):
        load_policy(bundle, extra_data={"aioc": 1})


def test_a_bundle_with_other_places_below_aioc_is_refused(tmp_path: Path) -> None:
    files = {"authz/authz.rego": b"package authz\n", "data.json": b'{"aioc": {"other": 1}}'}
    with pytest.raises(PolicyLoadError, match="not a place for data"):
        load_policy(archive(tmp_path / "b.tar.gz", files))


def test_modules_of_a_bundle_share_one_prefix(tmp_path: Path) -> None:
    files = {"x/authz/a.rego": b"package authz\n", "y/other/b.rego": b"package other\n"}
    with pytest.raises(PolicyLoadError, match="not its folder's"):
        load_policy(archive(tmp_path / "b.tar.gz", files))


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ({"wasm": []}, "'wasm' is not supported"),
        ({"file_rego_versions": {}}, "not supported"),
        ({"rego_version": 0}, "rego_version must be 1"),
        ({"revision": 5}, "revision must be a string"),
        ({"revision": "x" * 513}, "revision must be a string"),
        ({"roots": "authz"}, "roots must be a list"),
        ({"roots": [5]}, "roots must be a list"),
        ({"roots": ["other"]}, "lies outside the roots"),
        ({"roots": ["authz", "authzz"]}, r"data\.more lies outside"),
        ("[]", "not a strict JSON object"),
    ],
)
def test_bundle_manifests_that_are_refused(tmp_path: Path, content: Any, problem: str) -> None:
    refused(tmp_path, {**OWN, "data.json": {"more": {}}, ".manifest": content}, problem)


def test_roots_that_cover_everything(tmp_path: Path) -> None:
    write(tmp_path, {**OWN, ".manifest": {"roots": ["authz", "x/y"], "revision": "r", "metadata": {"team": "x"}}})
    assert load_policy(tmp_path).revision == "r"
