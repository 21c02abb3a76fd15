"""Bundles by an author who wants to hide something: refused by a typed error, or shown; never read otherwise than OPA."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa.core.bundles.content import content_digest
from aioc_opa.errors import PolicyLoadError
from aioc_opa.packs.bundle_checks import BundleCheck
from aioc_opa.packs.bundle_diff import diff_document
from aioc_opa.packs.bundle_file import DATA, read_bundle
from aioc_opa.packs.bundle_parsed import parse_bundle
from aioc_opa.packs.bundle_report import bundle_document
from aioc_opa.packs.bundle_sections import inspect_sections, terms_text
from aioc_opa.packs.bundle_writer import bundle_archive
from aioc_opa.packs.policy_files import MANIFEST

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

PLAIN = {"team/x.rego": b"package team\n\nx := 1\n"}


def made(
    folder: Path,
    files: Mapping[str, bytes] = PLAIN,
    *,
    data: dict[str, Any] | None = None,
    roots: Sequence[str] = ("team",),
    manifest: Mapping[str, Any] | None = None,
) -> Path:
    """A bundle of which the statement, the digest and the revision are as they should be."""
    content = {} if data is None else data
    modules = {name: text.decode() for name, text in files.items() if name.endswith(".rego")}
    digest = content_digest(modules=modules, data=content, roots=roots)
    statement = {"version": 1, "name": "t", "counter": 1, "minimumCounter": 0, "digest": digest, "owners": ["o"]}
    about = {"revision": f"1-{digest}", "roots": [*roots], "rego_version": 1, "metadata": {"aioc": statement}}
    about.update(manifest or {})
    file = folder / "b.tar.gz"
    file.write_bytes(
        bundle_archive({DATA: json.dumps(content).encode(), MANIFEST: json.dumps(about).encode(), **files})
    )
    return file


def inspected(file: Path, opa: Path) -> Any:
    return bundle_document(
        parse_bundle(read_bundle(file), opa_binary=opa), signature=BundleCheck("signature", None, "")
    )


@pytest.mark.parametrize(
    "name",
    [
        "team/x.manifest",
        "x.manifest",
        "team/plan.json",
        "team/x.rego.bak",
        "README.md",
        "team/other.json",
        "tests/a_test.rego",
    ],
)
def test_a_file_that_is_no_part_of_a_policy_is_refused(tmp_path: Path, name: str) -> None:
    """OPA takes every file whose name ends in .manifest for the manifest."""
    file = made(tmp_path, {**PLAIN, name: b"{}"} if not name.endswith(".rego") else {**PLAIN, name: b"package tests\n"})
    with pytest.raises(PolicyLoadError, match="a bundle has "):
        read_bundle(file)


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"data.yaml": b"team: {}"}, "YAML"),
        ({"team/data.json": b"{}"}, "at its top"),
        ({"policy.wasm": b"\0asm"}, "compiled policy"),
        ({"plan.json": b"{}"}, "compiled policy"),
        ({"team/.manifest": b"{}"}, "top of a bundle"),
        ({"team/Y.REGO": b"package team\n"}, "lower case"),
        ({"team/y.rego": b"y := 1\n"}, "first statement must be `package"),
        ({"team/y.rego": b"package team.other\n"}, "is not its folder's"),
        ({"patch.json": b"{}"}, "delta"),
        ({"te\u0430m/y.rego": "package te\u0430m\n".encode()}, "ASCII"),
    ],
)
def test_what_opa_could_read_otherwise_than_it_looks_is_refused(
    tmp_path: Path, files: dict[str, bytes], words: str
) -> None:
    with pytest.raises(PolicyLoadError, match=words):
        read_bundle(made(tmp_path, {**PLAIN, **files}))


@pytest.mark.parametrize("key", ["wasm", "file_rego_versions", "Revision"])
def test_a_manifest_with_more_in_it_is_refused(tmp_path: Path, key: str) -> None:
    with pytest.raises(PolicyLoadError, match="is not supported"):
        read_bundle(made(tmp_path, manifest={key: {}}))


@pytest.mark.parametrize(
    ("roots", "words"),
    [
        (["team", "system/bundles"], "OPA's own"),
        (["team", "system"], "OPA's own"),
        (["team", "system/bundles/other/manifest"], "OPA's own"),
        (["team", "team"], "may not be the same"),
        (["team", "team/inner"], "nor one below the other"),
        (["/team"], "one slash between"),
        (["team/"], "one slash between"),
        (["team", "a//b"], "one slash between"),
        (["team", "../b"], "one slash between"),
        (["team", ""], "must name what"),
    ],
)
def test_roots_that_opa_would_read_otherwise_or_that_are_its_own_are_refused(
    tmp_path: Path, roots: list[str], words: str
) -> None:
    """Below data.system.bundles OPA keeps the revisions of all bundles, which a decision names."""
    with pytest.raises(PolicyLoadError, match=words):
        read_bundle(made(tmp_path, roots=roots))


@pytest.mark.parametrize("folder", ["node_modules", "team/node_modules"])
def test_a_module_in_a_folder_that_tools_leave_out_is_not_left_out(
    tmp_path: Path, opa_binary: Path, folder: str
) -> None:
    module = f"package {folder.replace('/', '.')}\n\nx := 1\n".encode()
    with pytest.raises(PolicyLoadError, match="module in such a folder"):
        inspected(made(tmp_path, {**PLAIN, f"{folder}/x.rego": module}, roots=["node_modules", "team"]), opa_binary)


def test_every_rule_is_named_whole_with_letters_that_look_alike_escaped(tmp_path: Path, opa_binary: Path) -> None:
    text = 'package team\n\na.b["c d"].e := 1\n\nx["\u0430llow"] := 1\n\nq[i].z := 1 if {\n\tsome i in [1]\n}\n'
    document = inspected(made(tmp_path, {"team/x.rego": text.encode()}), opa_binary)
    assert [rule["rule"] for rule in document["rules"]] == ['a.b["c d"].e', 'x["\\u0430llow"]', "q[i].z"]


def test_no_two_data_tables_look_alike(tmp_path: Path, opa_binary: Path) -> None:
    data = {"team": {"a.b": 1, "a": {"b": 2}, "": 3, "__proto__": {"x": 4}, "te\u0430m": 5}}
    document = inspected(made(tmp_path, data=data), opa_binary)
    assert [table["path"] for table in document["dataTables"]] == [
        'team["a.b"]',
        "team.a",
        'team[""]',
        "team.__proto__",
        'team["te\\u0430m"]',
    ]


def test_a_root_of_letters_that_look_alike_is_escaped(tmp_path: Path, opa_binary: Path) -> None:
    document = inspected(made(tmp_path, roots=["team", "te\u0430m"]), opa_binary)
    facts = {row[0]: row[1] for row in next(inspect_sections(document)).rows}
    assert facts["roots"] == "team, te\\u0430m"


@pytest.mark.parametrize("depth", [200, 500])
def test_nesting_beyond_reading_is_a_typed_error(tmp_path: Path, opa_binary: Path, depth: int) -> None:
    text = f"package team\n\nx := {'(1+' * depth}1{')' * depth}\n"
    with pytest.raises(PolicyLoadError, match=r"nested too deep|max parsing recursion"):
        inspected(made(tmp_path, {"team/x.rego": text.encode()}), opa_binary)


def test_an_entrypoint_of_a_package_and_builtins_that_reach_out_are_shown(tmp_path: Path, opa_binary: Path) -> None:
    text = '# METADATA\n# entrypoint: true\npackage team\n\nx := http.send({"method": "get", "url": "http://a"})\n'
    document = inspected(made(tmp_path, {"team/x.rego": text.encode()}), opa_binary)
    assert document["entrypoints"] == ["team"]
    assert {"name": "http.send", "kind": "reaches out"} in document["builtins"]


def test_metadata_that_has_no_canonical_json_is_compared_all_the_same(tmp_path: Path, opa_binary: Path) -> None:
    both = []
    for number in ("123456789012345678901", "123456789012345678902"):
        text = f"package team\n\n# METADATA\n# custom:\n#  n: {number}\nx := 1\n"
        both.append(parse_bundle(read_bundle(made(tmp_path, {"team/x.rego": text.encode()})), opa_binary=opa_binary))
    assert diff_document(*both)["sameContent"] is False


def test_terms_that_are_none_are_shown_as_they_are() -> None:
    assert terms_text({"terms": {"foo": 1}}) == 'not terms of an approval: {"foo": 1}'
    odd = {"approverRoles": 7, "quorum": 1, "separationOfDuties": True, "ttlSeconds": 1}
    assert terms_text({"terms": odd}).startswith("not terms of an approval: ")
