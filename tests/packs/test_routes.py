"""What the generated routes do, on a real OPA and on regorus (design 5)."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa.errors import PolicyLoadError
from aioc_opa.packs.policy_folder import load_policy
from aioc_opa.packs.routes_file import routes_are_current, write_routes
from tests.packs.evaluation import on_opa, on_regorus
from tests.packs.folders import manifest, pack_module, rule, write

if TYPE_CHECKING:
    from pathlib import Path

ALLOW = rule("allow", "t", 'verdicts.allow("fine")')
DENY = rule("deny", "t", 'verdicts.deny("over")')
HOLD = rule("require_approval", "t", 'verdicts.hold("big")')


def question(tool: str = "t", context: Any = None, **more: Any) -> dict[str, Any]:
    return {
        "kind": "tool",
        "requestId": "r",
        "proposalHash": "h",
        "toolName": tool,
        "decodeAssurance": "raw",
        "runContext": {"context": {} if context is None else context},
        "parsedArguments": {},
        **more,
    }


class Bench:
    """A policy folder with the library, packs as given, and both engines."""

    def __init__(self, repository: Path, folder: Path, opa: Path) -> None:
        self.folder, self.opa = folder, opa
        for part in ("aioc/lib", "aioc/tool_policy"):
            shutil.copytree(repository / "rego" / part, folder / part, ignore=shutil.ignore_patterns("*_test.rego"))

    def write(self, packs: dict[str, tuple[dict[str, Any], str]], owners: dict[str, str]) -> None:
        for pack, (data, body) in packs.items():
            write(self.folder / "aioc/packs" / pack, {f"{pack}.rego": pack_module(pack, body), "data.json": data})
        write(self.folder, {"aioc/owners/data.json": owners})
        write_routes(self.folder)

    def decide(self, *questions: dict[str, Any]) -> list[dict[str, Any]]:
        """The decisions, after both engines have given the same."""
        on_both = on_opa(self.opa, self.folder, list(questions)), on_regorus(self.folder, list(questions))
        assert on_both[0] == on_both[1]
        assert len(on_both[0]) == len(questions)
        return on_both[0]

    def reasons(self, *questions: dict[str, Any]) -> list[list[str]]:
        return [answer["reasons"] for answer in self.decide(*questions)]


@pytest.fixture
def bench(repository: Path, tmp_path: Path, opa_binary: Path) -> Bench:
    return Bench(repository, tmp_path / "policy", opa_binary)


def test_owner_allows_and_its_version_is_told(bench: Bench) -> None:
    bench.write({"mine": ({"manifest": manifest("t", version="3")}, ALLOW)}, {"t": "mine"})
    assert bench.decide(question()) == [
        {
            "decision": "allow",
            "reason": "allowed",
            "reasons": [],
            "policyVersion": "mine/3",
            "kind": "tool",
            "requestId": "r",
            "proposalHash": "h",
        }
    ]


def test_two_packs_over_one_tool_compose_deny_over_approval_over_allow(bench: Bench) -> None:
    owner = ({"manifest": manifest("t")}, ALLOW)
    bench.write({"mine": owner, "other": ({"manifest": manifest("t")}, HOLD)}, {"t": "mine"})
    assert [d["decision"] for d in bench.decide(question())] == ["approval_required"]
    bench.write({"other": ({"manifest": manifest("t")}, HOLD + DENY)}, {"t": "mine"})
    (answer,) = bench.decide(question())
    assert (answer["decision"], answer["reason"], answer["reasons"]) == ("deny", "over", ["big", "over"])


def test_only_the_owner_allows(bench: Bench) -> None:
    packs = {"mine": ({"manifest": manifest("t")}, ""), "other": ({"manifest": manifest("t")}, ALLOW)}
    bench.write(packs, {"t": "mine"})
    assert bench.decide(question())[0]["reason"] == "no_rule_allows"


def test_a_governed_tool_without_an_owner_is_never_allowed(bench: Bench) -> None:
    bench.write({"mine": ({"manifest": manifest("t")}, ALLOW)}, {})
    assert bench.decide(question())[0]["reason"] == "no_rule_allows"


def test_a_pack_is_not_asked_about_tools_it_does_not_govern(bench: Bench) -> None:
    everything = 'deny contains verdict if verdict := verdicts.deny("over")\n\nallow contains verdict if verdict := verdicts.allow("fine")\n'
    packs = {"mine": ({"manifest": manifest("t")}, ALLOW), "other": ({"manifest": manifest("u")}, everything)}
    bench.write(packs, {"t": "mine", "u": "other"})
    assert [d["decision"] for d in bench.decide(question("t"), question("u"), question("v"))] == [
        "allow",
        "deny",
        "deny",
    ]


def test_an_error_in_one_pack_does_not_deny_anothers_call(bench: Bench) -> None:
    broken = (
        'deny contains verdict if {\n\tto_number(input.runContext.runId) > 0\n\tverdict := verdicts.deny("over")\n}\n'
    )
    packs = {"mine": ({"manifest": manifest("t")}, ALLOW), "other": ({"manifest": manifest("u")}, broken)}
    bench.write(packs, {"t": "mine"})
    asked = question()
    asked["runContext"]["runId"] = "not a number"
    assert bench.decide(asked)[0]["decision"] == "allow"


def test_the_pack_for_what_nobody_owns_may_deny_and_hold_and_not_allow(bench: Bench) -> None:
    body = (
        'deny contains verdict if {\n\tinput.toolName == "bad"\n\tverdict := verdicts.deny("shut")\n}\n\n'
        'require_approval contains verdict if {\n\tinput.toolName == "new"\n\tverdict := verdicts.hold("ask")\n}\n\n'
        'allow contains verdict if verdict := verdicts.allow("any")\n'
    )
    packs = {"mine": ({"manifest": manifest("t")}, ALLOW), "unowned": ({"manifest": manifest()}, body)}
    bench.write(packs, {"t": "mine"})
    answers = bench.decide(question("bad"), question("new"), question("x"), question("t"), question(5))
    assert [(a["decision"], a["reason"]) for a in answers] == [
        ("deny", "shut"),
        ("approval_required", "ask"),
        ("deny", "no_rule_allows"),
        ("allow", "allowed"),
        ("deny", "no_rule_allows"),
    ]


def test_pack_missing_when_it_does_not_say_that_it_is_loaded(bench: Bench) -> None:
    bench.write({"mine": ({"manifest": manifest("t")}, ALLOW)}, {"t": "mine"})
    module = bench.folder / "aioc/packs/mine/mine.rego"
    for marker in ("loaded := false", "loaded := input.runContext.runId", "loaded if input.nothing", ""):
        module.write_text(pack_module("mine", ALLOW).replace("loaded := true", marker))
        assert bench.reasons(question()) == [["pack_missing"]]


def test_pack_missing_when_one_of_its_files_is_not_loaded(bench: Bench) -> None:
    second = bench.folder / "aioc/packs/mine/limits.rego"
    write(second.parent, {second.name: "package aioc.packs.mine\n\nlimits_loaded := true\n"})
    bench.write({"mine": ({"manifest": manifest("t")}, ALLOW)}, {"t": "mine"})
    assert bench.decide(question())[0]["decision"] == "allow"
    second.unlink()
    assert bench.reasons(question()) == [["pack_missing"]]


def test_a_rule_that_is_no_set_denies(bench: Bench) -> None:
    bench.write({"mine": ({"manifest": manifest("t")}, ALLOW + "deny := true\n")}, {"t": "mine"})
    assert bench.reasons(question()) == [["malformed_verdict"]]


def test_raw_arguments_required(bench: Bench) -> None:
    given = manifest("t", "u")
    given["tools"]["t"]["requireRaw"] = True
    bench.write({"mine": ({"manifest": given}, ALLOW + ALLOW.replace('"t"', '"u"'))}, {"t": "mine", "u": "mine"})
    decoded = {"decodeAssurance": "decoded"}
    assert bench.reasons(question(), question(**decoded), question("u", **decoded)) == [
        [],
        ["raw_arguments_required"],
        [],
    ]


NEEDS_TABLE = {
    "type": "object",
    "required": ["aioc", "limits"],
    "properties": {
        "limits": {"type": "object", "required": ["refund"], "properties": {"refund": {"type": "number"}}},
        "notes": {"type": "string"},
        "aioc": {
            "type": "object",
            "required": ["packs"],
            "properties": {
                "packs": {
                    "type": "object",
                    "required": ["mine"],
                    "properties": {
                        "mine": {"type": "object", "required": ["t"], "properties": {"t": {"type": "array"}}}
                    },
                }
            },
        },
    },
}


def test_data_missing(bench: Bench) -> None:
    data: dict[str, Any] = {"manifest": manifest("t", data=NEEDS_TABLE), "t": []}
    bench.write({"mine": (data, ALLOW)}, {"t": "mine"})
    assert bench.reasons(question()) == [["data_missing"]]
    write(bench.folder, {"data.json": {"limits": {"refund": 5}}})
    assert bench.reasons(question()) == [[]]
    for wrong in ({"limits": {"refund": "5"}}, {"limits": {}}, {"limits": 5}, {"limits": {"refund": 5}, "notes": 5}):
        write(bench.folder, {"data.json": wrong})
        assert bench.reasons(question()) == [["data_missing"]]
    write(bench.folder, {"data.json": {"limits": {"refund": 5}, "notes": "x"}})
    assert bench.reasons(question()) == [[]]
    write(bench.folder, {"aioc/packs/mine/data.json": {"manifest": data["manifest"]}})
    assert bench.reasons(question()) == [["data_missing"]]


@pytest.mark.parametrize("keyword", [{"additionalProperties": False}, {"type": ["object", "null"]}])
def test_a_place_that_holds_rules_is_declared_by_its_keys_only(bench: Bench, keyword: dict[str, Any]) -> None:
    schema = {"type": "object", "properties": {"aioc": {"type": "object", **keyword}}}
    with pytest.raises(PolicyLoadError, match="holds rules"):
        bench.write({"mine": ({"manifest": manifest("t", data=schema)}, ALLOW)}, {"t": "mine"})


def test_names_in_a_pack_are_plain(bench: Bench) -> None:
    write(bench.folder, {"aioc/packs/mine/a-b.rego": "package aioc.packs.mine\n"})
    with pytest.raises(PolicyLoadError, match="names in a pack"):
        bench.write({"mine": ({"manifest": manifest("t")}, ALLOW)}, {"t": "mine"})


def test_a_pack_in_sub_folders(bench: Bench) -> None:
    write(bench.folder, {"aioc/packs/mine/sub/more.rego": "package aioc.packs.mine.sub\n\nmore_loaded := true\n"})
    bench.write({"mine": ({"manifest": manifest("t")}, ALLOW)}, {"t": "mine"})
    assert bench.decide(question())[0]["decision"] == "allow"


def test_a_pack_that_governs_nothing_has_no_routes(bench: Bench) -> None:
    bench.write({"mine": ({"manifest": manifest()}, DENY)}, {})
    assert "mine" not in (bench.folder / "aioc/routes/routes.rego").read_text()


def test_routes_are_as_opa_fmt_writes_them_and_the_same_each_time(bench: Bench, opa_binary: Path) -> None:
    context = {
        "type": ["object", "null"],
        "required": ["a", "b c"],
        "properties": {
            "a": {"enum": ["x", 1, None, False]},
            "b c": {"type": "array", "items": {"type": "integer"}},
            "input": {"type": ["string", "number"]},
            "d": {"type": "object", "additionalProperties": {"type": "object", "additionalProperties": False}},
            "e": {"type": "object", "properties": {"f": {}}, "additionalProperties": {"type": "boolean"}},
            "g": {"type": "array", "items": {}},
        },
    }
    many = manifest("t", "u", "v", context=context, data=NEEDS_TABLE)
    bench.write(
        {"mine": ({"manifest": many, "t": []}, ALLOW), "unowned": ({"manifest": manifest()}, "")}, {"t": "mine"}
    )
    routes = bench.folder / "aioc/routes/routes.rego"
    output = subprocess.run([opa_binary, "fmt", "--diff", routes], capture_output=True, text=True, check=True)
    assert output.stdout == ""
    text = routes.read_text()
    routes.unlink()
    assert not routes_are_current(bench.folder)
    assert write_routes(bench.folder)
    assert routes.read_text() == text
    assert routes_are_current(bench.folder)
    assert not write_routes(bench.folder)
    assert load_policy(bench.folder).modules["aioc/routes/routes.rego"] == text


def test_routes_of_a_folder_without_the_library(tmp_path: Path) -> None:
    write(tmp_path, {"authz/authz.rego": "package authz\n"})
    with pytest.raises(PolicyLoadError, match="name the folder that holds aioc/"):
        write_routes(tmp_path)
    with pytest.raises(PolicyLoadError, match="written into a folder"):
        write_routes(tmp_path / "authz/authz.rego")


def test_routes_that_cannot_be_written(bench: Bench) -> None:
    write(bench.folder, {"aioc/routes": "a file where the folder should be"})
    with pytest.raises(PolicyLoadError, match="cannot be written"):
        write_routes(bench.folder)
