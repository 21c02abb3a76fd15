"""A diff of bundles: metadata, terms, data, files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa.packs.bundle_diff import diff_document
from aioc_opa.packs.bundle_file import DATA

if TYPE_CHECKING:
    from aioc_opa.packs.bundle_parsed import ParsedBundle
from tests.packs.bundle_diff_cases import BODY, HELPER, MODULE, Policies, edit, others, rows


def test_changed_metadata_is_listed_from_old_to_new(policies: Policies, before: ParsedBundle) -> None:
    after = policies.parsed(edit(MODULE, "# title: Second one", "# title: Second one\n# description: harmless"))
    found = diff_document(before, after)
    assert rows(found, "METADATA") == [
        (
            "changed",
            "aioc.packs.p.deny",
            '{"scope": "rule", "title": "Second one"}',
            '{"description": "harmless", "scope": "rule", "title": "Second one"}',
        )
    ]
    assert others(found, "metadata") == {}


def test_metadata_of_two_scopes_at_one_rule_is_read_as_two(policies: Policies, before: ParsedBundle) -> None:
    both = "# METADATA\n# scope: document\n# entrypoint: true\n\n# METADATA\n# title: Second one"
    after = policies.parsed(edit(MODULE, "# METADATA\n# title: Second one", both))
    (change,) = diff_document(before, after)["metadata"]
    assert {"document", "rule"} == {change["after"]["scope"], *(each["scope"] for each in change["after"]["more"])}


def test_titles_that_two_rules_exchange_are_listed(policies: Policies) -> None:
    two = "# METADATA\n# title: {}\n_x contains 1\n\n# METADATA\n# title: {}\n_x contains 2\n"
    old, new = (
        policies.parsed(edit(HELPER, "\nlevel", "\n" + two.format(*titles) + "\nlevel")) for titles in ("ab", "ba")
    )
    found = diff_document(old, new)
    assert [(each["before"]["title"], each["after"]["title"]) for each in found["metadata"]] == [("a", "b"), ("b", "a")]
    assert found["rules"] == []


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('["cfo"], 2', '["clerk"], 2', "2 of clerk, not the requester, within 600 s"),
        ('["cfo"], 2', '["cfo"], 1', "1 of cfo, not the requester, within 600 s"),
        ("2), 600)", "2), 86400)", "2 of cfo, not the requester, within 86400 s"),
        (
            'approvals.within(approvals.by_persons(["cfo"], 2), 600)',
            'approvals.requester_may_approve(approvals.within(approvals.by_persons(["cfo"], 2), 600))',
            "2 of cfo, the requester may, within 600 s",
        ),
    ],
)
def test_terms_of_an_approval_are_listed_from_old_to_new(
    policies: Policies, before: ParsedBundle, old: str, new: str, words: str
) -> None:
    found = diff_document(before, policies.parsed(edit(MODULE, old, new)))
    assert rows(found, "Approvals that can be asked for") == [
        ("changed", "p", "codes", "b", "b"),
        ("changed", "p", "terms", "2 of cfo, not the requester, within 600 s", words),
    ]
    assert others(found, "approvals", "rules") == {}


def test_an_approval_that_comes_goes_or_is_for_other_tools_is_listed(policies: Policies, before: ParsedBundle) -> None:
    asked = BODY[BODY.index("# METADATA\n# title: Big") :]
    gone = policies.parsed(edit(MODULE, asked, ""))
    title = "Approvals that can be asked for"
    terms = "2 of cfo, not the requester, within 600 s"
    assert rows(diff_document(before, gone), title) == [
        ("removed", "p", "codes", "b", "-"),
        ("removed", "p", "tools", "one", "-"),
        ("removed", "p", "terms", terms, "-"),
    ]
    assert rows(diff_document(gone, before), title)[2] == ("added", "p", "terms", "-", terms)


def test_data_is_listed_value_by_value_and_no_two_places_look_alike(policies: Policies, before: ParsedBundle) -> None:
    def change(files: dict[str, Any]) -> None:
        limits = files["aioc/packs/p/data.json"]["limits"]
        limits.update({"most": "100", "a.b": 3, "roles": ["x", "q", "r", "z"], "on": 1, "\u0430": None})
        limits["a"]["b"] = 4
        files["aioc/packs/p/data.json"]["more"] = {"k": {"v": []}}

    after = policies.parsed(change)
    path = "aioc.packs.p.limits"
    assert rows(diff_document(before, after), "Data") == [
        ("changed", path, "a.b", "2", "4"),
        ("changed", path, '["a.b"]', "1", "3"),
        ("changed", path, "most", "100", '"100"'),
        ("changed", path, "on", "true", "1"),
        ("changed", path, "roles[1:]", '["y"]', '["q", "r"]'),
        ("added", path, '["\\u0430"]', "-", "null"),
        ("added", "aioc.packs.p.more", "k", "-", '{"v": []}'),
    ]
    assert ("removed", "aioc.packs.p.more", "k", '{"v": []}', "-") in rows(diff_document(after, before), "Data")


def test_a_pack_s_manifest_is_listed_value_by_value(policies: Policies, before: ParsedBundle) -> None:
    def change(files: dict[str, Any]) -> None:
        files["aioc/packs/p/data.json"]["manifest"]["codes"].append("c")

    found = diff_document(before, policies.parsed(change))
    assert rows(found, "Packs' manifests") == [("added", "p", "codes[2:]", "-", '["c"]')]


@pytest.mark.parametrize(("old", "new"), [("} else", "} # here\nelse"), ("\nlevel", "\n# a comment\nlevel")])
def test_a_change_that_no_list_has_a_word_for_is_listed_by_file_and_digest(
    policies: Policies, before: ParsedBundle, old: str, new: str
) -> None:
    after = policies.parsed(edit(HELPER, old, new))
    found = diff_document(before, after)
    assert (found["sameContent"], others(found)) == (False, {})
    ((change, file, one, other),) = rows(found, "Files, with their SHA-256")
    assert (change, file, one != other, len(other)) == ("changed", HELPER, True, 64)


def test_a_rule_moved_to_another_file_of_its_package_is_listed(policies: Policies) -> None:
    rule = '_high if helper.level(3) == "high"\n'

    def moved(files: dict[str, Any], path: str) -> None:
        for name, imported in (("one", "helper"), ("two", "other as helper")):
            text = f"package aioc.packs.p\n\nimport data.aioc.packs.p.{imported}\n\n"
            files[f"aioc/packs/p/{name}.rego"] = text + (rule if name == path else f"_{name} := helper.level(1)\n")

    old, new = (policies.parsed(lambda files, path=path: moved(files, path)) for path in ("one", "two"))
    assert "aioc.packs.p._high" in [each["rule"] for each in diff_document(old, new)["rules"]]


def test_equal_content_has_no_change_but_in_the_statement(policies: Policies, before: ParsedBundle) -> None:
    found = diff_document(before, policies.parsed())
    assert (found["sameContent"], others(found), found["files"]) == (True, {}, [])
    assert {each["name"] for each in found["statement"]} == {"counter"}
    assert DATA in before.bundle.files
