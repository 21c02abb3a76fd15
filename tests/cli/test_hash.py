"""hash: the text and the fingerprint that other languages compare."""

from __future__ import annotations

import json

from aioc_opa.core.fingerprint import tool_proposal_hash
from tests.cli.conftest import Command, Files, call

# -- hash


def test_hash_prints_what_other_languages_compare(aioc: Command, files: Files) -> None:
    path = files.write("call.json", call(rawArguments='{"verdict":"é","amount":1.0}'))
    canonical = '{"amount":1,"say":"Too large.","verdict":"é"}'
    digest = tool_proposal_hash(agent_name="agent", tool_name="pay", args_canonical_json=canonical)
    with_tools = aioc("hash", path, "--tools", files.tools, "--json")
    assert with_tools.status == 0
    assert with_tools.document == {"argsCanonicalJson": canonical, "proposalHash": digest}
    text = aioc("hash", path, "--tools", files.tools)
    assert text.out.splitlines() == [f"argsCanonicalJson  {canonical}", f"proposalHash       {digest}"]


def test_hash_without_tools_takes_the_arguments_as_sent(aioc: Command) -> None:
    found = aioc("hash", "--json", stdin=json.dumps(call(rawArguments=None, arguments={"b": 1, "a": 1e21})))
    assert found.document["argsCanonicalJson"] == '{"a":1e+21,"b":1}'


def test_hash_of_what_cannot_be_hashed(aioc: Command, files: Files) -> None:
    invalid = aioc("hash", files.write("call.json", call(rawArguments="{")), "--json")
    assert (invalid.status, invalid.out) == (12, "")
    assert aioc("hash", files.write("call.json", call(rawArguments="{}")), "--tools", files.tools).status == 12
    unknown = aioc("hash", files.write("call.json", call(toolName="other")), "--tools", files.tools)
    assert unknown.status == 3
    assert "$.toolName: no such tool" in unknown.err
