"""`aioc-opa replay`: many calls in order, a summary, and exit 1 when an expectation differs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from aioc_opa.cli.decision_document import of_both
from aioc_opa.cli.expectations import Comparison, Expected
from tests.cli.conftest import Command, Files, Ran, call

CALLS = [
    {"id": "a", **call("allow")},
    {"id": "b", **call("deny")},
    {"id": "c", **call("hold")},
    {"id": "d", **call(rawArguments="{}")},
    {"id": "e", **call(toolName="other")},
]
EXPECTED = [
    {"id": "a", "decision": "allow", "reasons": []},
    {"id": "b", "decision": "deny", "reasons": ["too_large", "odd"]},
    {"id": "c", "decision": "approval_required", "reasons": ["large"]},
    {"id": "d", "decision": "invalid_arguments", "reasons": []},
    {"id": "e", "decision": "deny", "reasons": [], "reason": "tool_not_registered"},
]


@pytest.fixture
def replay(aioc: Command, files: Files, opa: str) -> Command:
    def run(calls: list[Any], *arguments: str, expect: list[Any] | None = None) -> Ran:
        more = [] if expect is None else ["--expect", files.lines("expected.jsonl", expect)]
        path = files.lines("calls.jsonl", calls)
        return aioc("replay", path, "--tools", files.tools, "--opa", opa, "--path", "cases/decision", *more, *arguments)

    return run


def test_the_summary_counts_by_tool_and_by_reason(replay: Command) -> None:
    found = replay(CALLS, "--json", expect=EXPECTED)
    assert found.status == 0
    summary = found.document
    assert summary["calls"] == 5
    assert summary["outcomes"] == {"allow": 1, "deny": 2, "approval_required": 1, "invalid_arguments": 1}
    assert summary["tools"]["other"] == {"allow": 0, "deny": 1, "approval_required": 0, "invalid_arguments": 0}
    assert summary["reasons"] == {"large": 1, "odd": 1, "required": 1, "too_large": 1, "tool_not_registered": 1}
    assert summary["expectations"] == {"compared": 5, "different": 0, "first": []}
    assert summary["deniedByRuntime"] == 0
    (engine,) = summary["engines"]  # invalid and unregistered calls reach no engine, and name none beside it
    assert engine.startswith("opa 1.")


def test_the_tables_are_for_people(replay: Command) -> None:
    found = replay(CALLS, expect=EXPECTED)
    assert found.status == 0
    for text in ("Decisions by tool", "pay", "total", "Reasons", "too_large", "as expected: 5 of 5", "engine: opa"):
        assert text in found.out
    assert "deciding" not in found.err  # no progress where standard error is no terminal


def test_each_line_of_out_is_the_id_and_the_document_of_authorize(
    replay: Command, decide: Command, tmp_path: Path
) -> None:
    out = tmp_path / "decisions.jsonl"
    assert replay(CALLS, "--out", str(out)).status == 0
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert [line["id"] for line in lines] == ["a", "b", "c", "d", "e"]
    for line, document in zip(lines, CALLS, strict=True):
        alone = decide({name: value for name, value in document.items() if name != "id"}).document
        for found in (line, alone):
            found.pop("durationMs")
        line.pop("id")
        assert line == alone
        assert list(line) == list(alone)


def test_a_difference_is_exit_1_with_the_reasons_on_both_sides(replay: Command) -> None:
    expect = [{**EXPECTED[0], "decision": "deny", "reasons": ["odd"]}, *EXPECTED[1:]]
    found = replay(CALLS, expect=expect)
    assert found.status == 1
    assert "DIFFERENT from what was expected: 1 (equal: 4)" in found.out
    assert "deny (odd)" in found.out
    assert "allow (allowed)" in found.out
    as_json = replay(CALLS, "--json", expect=expect)
    assert as_json.status == 1
    assert as_json.document["expectations"]["first"] == [
        {
            "id": "a",
            "expected": {"decision": "deny", "reasons": ["odd"]},
            "got": {"decision": "allow", "reasons": [], "reason": "allowed"},
        }
    ]


def test_a_missing_reason_alone_is_a_difference(replay: Command) -> None:
    assert replay(CALLS, expect=[EXPECTED[0], {**EXPECTED[1], "reasons": ["odd"]}, *EXPECTED[2:]]).status == 1


def test_what_is_not_compared_is_a_difference(replay: Command) -> None:
    unexpected = replay(CALLS, expect=EXPECTED[:4])
    assert unexpected.status == 1
    assert "no expectation" in unexpected.out
    uncalled = replay(CALLS[:4], expect=EXPECTED)
    assert uncalled.status == 1
    assert "no such call" in uncalled.out


def test_ten_differences_are_kept() -> None:
    comparison = Comparison({str(n): Expected("allow", ()) for n in range(30)})
    for n in range(15):
        comparison.add(str(n), {"outcome": "deny", "reasons": [], "reason": "no_rule_allows"})
    comparison.close()
    assert (comparison.different, len(comparison.first), comparison.equal) == (30, 10, 0)


def test_blank_lines_are_passed_over(aioc: Command, files: Files, opa: str) -> None:
    path = files.write("calls.jsonl", "\n" + json.dumps(CALLS[0]) + "\r\n  \n" + json.dumps(CALLS[1]))
    found = aioc("replay", path, "--tools", files.tools, "--opa", opa, "--path", "cases/decision", "--json")
    assert found.document["calls"] == 2


def test_several_files_are_one_replay(aioc: Command, files: Files, opa: str) -> None:
    first, second = files.lines("1.jsonl", CALLS[:2]), files.lines("2.jsonl", CALLS[2:])
    rest = ["--tools", files.tools, "--opa", opa, "--path", "cases/decision", "--json"]
    assert aioc("replay", first, second, *rest).document["calls"] == 5
    assert "an earlier line has this id" in aioc("replay", first, first, *rest).err


def test_denials_of_the_runtime_are_pointed_out(replay: Command) -> None:
    found = replay([{"id": "a", **call("malformed")}], "--json")
    assert found.status == 1
    assert found.document["deniedByRuntime"] == 1
    assert found.document["engineFaults"] == {"policy_malformed_decision": 1}
    assert "1 calls were denied by the runtime" in found.err
    assert "run again with --verbose" in found.err.splitlines()[-1]
    assert found.err.count("--accept-revision") == 1


NOBODY = {"id": "a", "decision": "deny", "reasons": []}


def test_a_replay_that_no_engine_answered_is_not_as_expected(aioc: Command, files: Files) -> None:
    calls = files.lines("calls.jsonl", [{"id": "a", **call()}])

    def replayed(*expected: Any) -> Ran:
        expect = ["--expect", files.lines("expected.jsonl", list(expected))] if expected else []
        return aioc("replay", calls, "--tools", files.tools, "--opa", f"unix:{files.folder}/none", *expect)

    without = replayed()
    assert (without.status, "NOT DECIDED by any engine: 1 (policy_unavailable)" in without.out) == (1, True)
    found = replayed(NOBODY)
    assert (found.status, "deny (policy_unavailable)" in found.out) == (1, True)
    named = replayed({**NOBODY, "reason": "policy_unavailable"})
    assert (named.status, "as expected: 1 of 1" in named.out) == (0, True)
    assert replayed({**NOBODY, "reason": "policy_timeout"}).status == 1
    assert "$.reason: expected a string" in replayed({**NOBODY, "reason": 5}).err


def test_a_denial_of_the_runtime_is_expected_by_its_name_only(replay: Command) -> None:
    calls = [{"id": "a", **call(toolName="other")}]
    assert replay(calls, expect=[NOBODY]).status == 1
    assert replay(calls, expect=[{**NOBODY, "reason": "tool_not_registered"}]).status == 0
    assert replay(calls).status == 0  # the call's own fault, and not an engine's


def test_a_named_reason_of_the_policy_is_compared(replay: Command) -> None:
    calls = [{"id": "b", **call("deny")}]
    assert replay(calls, expect=[{**EXPECTED[1], "reason": "too_large"}]).status == 0
    assert replay(calls, expect=[{**EXPECTED[1], "reason": "odd"}]).status == 1


@pytest.mark.parametrize(
    ("calls", "expect", "said"),
    [
        ("", None, "no call in it"),
        ("\n\n", None, "no call in it"),
        ('{"id":"a"}\n{', None, "line 1: $.agentName"),
        ("{\n", None, "line 1: not a strict JSON object"),
        ('{\n  "id": "a"\n}\n', None, "(unexpected_end); this file has one JSON object per line"),
        ("[]\n", None, "line 1: $: the top level must be an object (not_an_object); this file has one JSON object per"),
        (json.dumps(call()) + "\n", None, "line 1: $.id: expected a string"),
        (json.dumps(CALLS[0]) + "\n" + json.dumps(CALLS[0]) + "\n", None, "line 2: $.id: an earlier line has this id"),
        (json.dumps(CALLS[0]), "", "no expectation in it"),
        (json.dumps(CALLS[0]), '{"id":"a","decision":"yes","reasons":[]}', "line 1: $.decision: expected one of"),
        (json.dumps(CALLS[0]), '{"id":"a","decision":"allow"}', "$.reasons: expected an array"),
        (json.dumps(CALLS[0]), '{"id":"a","decision":"allow","reasons":[1]}', "$.reasons: expected an array"),
        (json.dumps(CALLS[0]), '{"decision":"allow","reasons":[]}', "$.id"),
        (json.dumps(CALLS[0]), (json.dumps(EXPECTED[0]) + "\n") * 2, "line 2: $.id: another line has this id"),
    ],
)
def test_files_that_are_not_what_they_should_be_are_exit_3(
    aioc: Command, files: Files, calls: str, expect: str | None, said: str
) -> None:
    more = [] if expect is None else ["--expect", files.write("expected.jsonl", expect)]
    path = files.write("calls.jsonl", calls)
    found = aioc("replay", path, "--tools", files.tools, "--opa", "unix:/s", *more)
    assert found.status == 3
    assert said in found.err
    assert found.out == ""


def test_out_that_cannot_be_written_is_exit_3(replay: Command, tmp_path: Path) -> None:
    found = replay(CALLS, "--out", str(tmp_path / "no" / "such"))
    assert (found.status, "cannot be written" in found.err) == (3, True)
    full = replay(CALLS, "--out", "/dev/full")
    assert (full.status, "cannot be written" in full.err) == (3, True)


def test_a_missing_file_is_exit_3(aioc: Command, files: Files, tmp_path: Path) -> None:
    calls = files.lines("calls.jsonl", CALLS)
    for name in ("missing", ".", "/proc/self/mem"):
        for arguments in ([str(tmp_path / name)], [calls, "--expect", str(tmp_path / name)]):
            found = aioc("replay", *arguments, "--tools", files.tools, "--opa", "unix:/s")
            assert found.status == 3
            assert "cannot be read" in found.err


def test_each_tool_version_has_its_own_registrations_up_to_a_bound(replay: Command) -> None:
    calls = [{"id": str(n), **call(toolVersion=f"1.{n}")} for n in range(70)]
    assert "more than 64 versions" in replay(calls).err
    assert replay(calls[:3]).status == 0


# -- two engines


def both(files: Files) -> list[str]:
    return ["--tools", files.tools, "--policy", files.policy, "--path", "cases/decision", "--engine", "both"]


def test_both_engines_agree_on_the_recorded_calls(aioc: Command, repository: Path) -> None:
    airline = repository / "examples" / "airline"
    found = aioc(
        "replay", str(airline / "calls.jsonl"), "--tools", str(airline / "tools.json"), "--policy",
        str(repository / "rego"), "--expect", str(airline / "expected.jsonl"), "--engine", "both", "--json",
    )  # fmt: skip
    assert found.status == 0
    assert found.document["calls"] == 572
    assert found.document["enginesDiffer"] == 0
    assert found.document["expectations"]["compared"] == 572
    assert any("regorus" in name and "opa" in name for name in found.document["engines"])


def test_engines_that_differ_are_exit_1_with_both_verdicts(aioc: Command, files: Files) -> None:
    """`rego_guard` does not know this one: a number in binary64 and in a wider mantissa (docs/embedded-engine.md)."""
    Path(files.policy, "cases", "cases.rego").write_text(FRACTIONS)
    one = aioc("authorize", files.write("call.json", call(rawArguments=SUM)), *both(files))
    assert one.status == 1
    assert "the engines differ: regorus" in one.err
    assert "deny (sum_not_equal)" in one.err
    document = aioc("authorize", files.write("call.json", call(rawArguments=SUM)), *both(files), "--json").document
    assert (document["outcome"], document["reason"]) == ("deny", "engines_differ")
    assert {each["outcome"] for each in document["verdicts"]} == {"allow", "deny"}
    many = aioc("replay", files.lines("calls.jsonl", [{"id": "a", **call(rawArguments=SUM)}]), *both(files))
    assert many.status == 1
    assert "1 calls on which the engines differ" in many.out
    assert "a: the engines differ" in many.err


SUM = '{"verdict":"x","a":0.1,"b":0.2}'

FRACTIONS = """package cases

import future.keywords.not

echoes := {"proposalHash": input.proposalHash, "requestId": input.requestId, "kind": input.kind}

decision := verdict if {
	sums
	verdict := object.union(echoes, {"decision": "allow", "reason": "allowed", "reasons": []})
}

decision := verdict if {
	not sums
	verdict := object.union(echoes, {"decision": "deny", "reason": "sum_not_equal", "reasons": ["sum_not_equal"]})
}

sums if input.parsedArguments.a + input.parsedArguments.b == 0.3
"""


def test_engines_that_both_fail_do_not_agree(aioc: Command, files: Files) -> None:
    calls = files.lines("calls.jsonl", [{"id": "a", **call("malformed")}])
    found = aioc("replay", calls, *both(files), "--expect", files.lines("expected.jsonl", [NOBODY]), "--json")
    assert (found.status, found.document["enginesDiffer"]) == (1, 0)
    assert found.document["engineFaults"] == {"policy_malformed_decision": 1}
    assert aioc("replay", calls, *both(files)).status == 1


def test_documents_that_agree_join_their_names_and_times() -> None:
    one = {"outcome": "allow", "stage": "policy", "reason": "allowed", "reasons": [], "publicReason": None}
    first, second = {**one, "engine": "r", "durationMs": 1.0}, {**one, "engine": "o", "durationMs": 2.0}
    joined, differ = of_both([first, second])
    assert (joined["engine"], joined["durationMs"], differ) == ("r + o", 3.0, False)
    assert of_both([first]) == (first, False)
