"""What can come of a call, and which approvals can be asked for, read from the text of a pack: never too little."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from aioc_opa.errors import PolicyLoadError
from aioc_opa.packs.bundle_build import BundleTerms, build_bundle
from aioc_opa.packs.bundle_file import read_bundle
from aioc_opa.packs.bundle_outcomes import approval_asks, tool_outcomes
from aioc_opa.packs.bundle_parsed import parse_bundle
from aioc_opa.packs.routes_file import write_routes
from aioc_opa.packs.starter import new_policy
from tests.packs.folders import manifest, pack_module, rule, write

if TYPE_CHECKING:
    from pathlib import Path

    from aioc_opa.packs.bundle_parsed import ParsedBundle

DEFAULTS = {"approverRoles": ["approver"], "quorum": 1, "separationOfDuties": True, "ttlSeconds": 3600}
HOLDS = [
    ('verdicts.hold("a")', DEFAULTS),
    ('verdicts.hold_with("a", approvals.by(["cfo"]))', {**DEFAULTS, "approverRoles": ["cfo"]}),
    ('verdicts.hold_with("a", approvals.by_persons(["cfo"], 2))', {**DEFAULTS, "approverRoles": ["cfo"], "quorum": 2}),
    ('verdicts.hold_with("a", approvals.within(approvals.by(["cfo"]), 9))', {**DEFAULTS, "approverRoles": ["cfo"], "ttlSeconds": 9}),
    ('verdicts.hold_with("a", approvals.requester_may_approve(approvals.by(["cfo"])))', {**DEFAULTS, "approverRoles": ["cfo"], "separationOfDuties": False}),
    (f'verdicts.hold_with("a", {json.dumps(DEFAULTS)})', DEFAULTS),
    ('verdicts.hold_with("a", _terms)', DEFAULTS),
    ('verdicts.hold_with("a", data.aioc.packs.p.terms)', None),
    ('verdicts.hold_with("a", approvals.by(_nobody))', None),
]  # fmt: skip


def parsed(tmp_path: Path, opa: Path, body: str) -> ParsedBundle:
    policy = tmp_path / "policy"
    new_policy(policy)
    module = pack_module("p", body).replace(
        "import data.aioc.lib.verdicts", "import data.aioc.lib.approvals\nimport data.aioc.lib.verdicts"
    )
    about = {"manifest": manifest("one", "two", codes=("a", "b", "c"))}
    write(policy, {"aioc/packs/p/p.rego": module, "aioc/packs/p/data.json": about})
    write(policy, {"aioc/owners/data.json": {"one": "p"}})
    write_routes(policy)
    terms = BundleTerms(name="t", counter=1, owners=["o"])
    file = tmp_path / "b.tar.gz"
    file.write_bytes(build_bundle(policy, terms, opa_binary=opa, checked=True).archive)
    return parse_bundle(read_bundle(file), opa_binary=opa)


def test_the_terms_of_an_approval_are_read_where_they_are_written_out(tmp_path: Path, opa_binary: Path) -> None:
    body = "".join(rule("require_approval", "one", text) for text, _ in HOLDS)
    body += f"_terms := {json.dumps(DEFAULTS)}\n\n_nobody := input.runContext.context.roles\n"
    found = approval_asks(parsed(tmp_path, opa_binary, body))
    assert [ask.terms for ask in found] == [terms for _, terms in HOLDS]
    assert {ask.tools for ask in found} == {("one",)}


@pytest.mark.parametrize(
    ("statement", "tools"),
    [
        ('"two" == input.toolName', ["two"]),
        ('input.toolName in {"two", "three"}', ["two"]),
        ('not input.toolName == "two"', ["one", "two"]),
        ("input.toolName in data.x", ["one", "two"]),
        ("_is_two", ["one", "two"]),
    ],
)
def test_a_rule_counts_for_every_tool_that_its_own_body_does_not_leave_out(
    tmp_path: Path, opa_binary: Path, statement: str, tools: list[str]
) -> None:
    body = f'deny contains verdict if {{\n\t{statement}\n\tverdict := verdicts.deny("a")\n}}\n\n'
    body += '_is_two if input.toolName == "two"\n'
    found = tool_outcomes(parsed(tmp_path, opa_binary, body))
    assert [tool for tool, outcomes in found.items() if outcomes.deny] == tools


def test_a_computed_code_is_any_code_and_an_allow_counts_for_the_owner_alone(tmp_path: Path, opa_binary: Path) -> None:
    body = (
        "deny contains verdict if {\n\tsome code in data.aioc.packs.p.refused\n\tverdict := verdicts.deny(code)\n}\n\n"
    )
    body += 'allow contains verdict if {\n\tverdict := _made("b")\n}\n\n_made(code) := verdicts.allow(code)\n'
    found = tool_outcomes(parsed(tmp_path, opa_binary, body))
    assert found["one"].deny == found["two"].deny == {"a", "b", "c"}
    assert (found["one"].allow, found["two"].allow) == ({"b"}, set())
    assert (found["one"].owner, found["two"].owner) == ("p", None)


def test_opa_build_itself_refuses_what_exceeds_the_capabilities(tmp_path: Path, opa_binary: Path) -> None:
    """Whatever the lint finds: it is not run here."""
    for call in ('http.send({"method": "get", "url": "http://a"})', "time.now_ns()", 'rand.intn("a", 2)'):
        with pytest.raises(PolicyLoadError, match="opa build refuses the policy"):
            parsed(tmp_path / call[:4], opa_binary, f"x := {call}\n")
