"""proposalHash (design 3.2) against the library `rfc8785` and hashlib, and the published vectors."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import rfc8785
from hypothesis import given

from aioc_opa.core.canonical_json import NotCanonicalError, canonical_text
from aioc_opa.core.fingerprint import handoff_proposal_hash, tool_proposal_hash
from aioc_opa.core.strict_json import decode
from tests.core.fuzzing import examples
from tests.core.json_strategies import TEXT

FILE = Path(__file__).parent.parent / "vectors" / "proposal_hash.json"
VECTORS: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))


def reference(document: dict[str, str]) -> str:
    return hashlib.sha256(rfc8785.dumps(document)).hexdigest()


@examples(0.05, usually=300)
@given(TEXT, TEXT, TEXT)
def test_the_hash_is_that_of_the_rfc8785_text(agent: str, name: str, text: str) -> None:
    tool = {"kind": "tool", "agentName": agent, "toolName": name, "argsCanonicalJson": text}
    handoff = {"kind": "handoff", "fromAgentName": agent, "toAgentName": name, "payloadCanonicalJson": text}
    assert tool_proposal_hash(agent_name=agent, tool_name=name, args_canonical_json=text) == reference(tool)
    assert handoff_proposal_hash(from_agent_name=agent, to_agent_name=name, payload_canonical_json=text) == reference(
        handoff
    )


def test_tool_and_handoff_never_share_a_hash() -> None:
    assert tool_proposal_hash(agent_name="a", tool_name="b", args_canonical_json="{}") != handoff_proposal_hash(
        from_agent_name="a", to_agent_name="b", payload_canonical_json="{}"
    )


def test_no_part_can_run_into_another() -> None:
    hashes = {
        tool_proposal_hash(agent_name=agent, tool_name=name, args_canonical_json=text)
        for agent, name, text in [
            ("a", "b", "c"),
            ("ab", "", "c"),
            ("", "ab", "c"),
            ("a", "bc", ""),
            ('a","x":"', "b", "c"),
            ("a", 'b"}', "c"),
            ("a\\", "b", "c"),
        ]
    }
    assert len(hashes) == 7


@pytest.mark.parametrize("place", range(3))
def test_a_lone_surrogate_has_no_hash(place: int) -> None:
    parts = ["a", "b", "{}"]
    parts[place] = "\ud800"
    with pytest.raises(NotCanonicalError):
        tool_proposal_hash(agent_name=parts[0], tool_name=parts[1], args_canonical_json=parts[2])
    with pytest.raises(NotCanonicalError):
        handoff_proposal_hash(from_agent_name=parts[0], to_agent_name=parts[1], payload_canonical_json=parts[2])


@pytest.mark.parametrize("vector", VECTORS["tools"], ids=[vector["name"] for vector in VECTORS["tools"]])
def test_published_tool_vector(vector: dict[str, Any]) -> None:
    assert canonical_text(decode(vector["parsedArgumentsText"])) == vector["argsCanonicalJson"]
    assert canonical_text(vector["parsedArguments"]) == vector["argsCanonicalJson"]
    text = rfc8785.dumps(
        {"kind": "tool", **{name: vector[name] for name in ("agentName", "toolName", "argsCanonicalJson")}}
    )
    assert text.decode() == vector["proposalCanonicalJson"]
    assert vector["proposalHash"] == hashlib.sha256(text).hexdigest()
    assert vector["proposalHash"] == tool_proposal_hash(
        agent_name=vector["agentName"], tool_name=vector["toolName"], args_canonical_json=vector["argsCanonicalJson"]
    )


@pytest.mark.parametrize("vector", VECTORS["handoffs"], ids=[vector["name"] for vector in VECTORS["handoffs"]])
def test_published_handoff_vector(vector: dict[str, Any]) -> None:
    assert canonical_text(decode(vector["handoffPayloadText"])) == vector["payloadCanonicalJson"]
    assert canonical_text(vector["handoffPayload"]) == vector["payloadCanonicalJson"]
    assert vector["proposalHash"] == handoff_proposal_hash(
        from_agent_name=vector["fromAgentName"],
        to_agent_name=vector["toAgentName"],
        payload_canonical_json=vector["payloadCanonicalJson"],
    )
    assert vector["proposalHash"] == hashlib.sha256(vector["proposalCanonicalJson"].encode()).hexdigest()


@pytest.mark.parametrize("group", VECTORS["sameHash"], ids=[group["name"] for group in VECTORS["sameHash"]])
def test_texts_of_one_value_have_one_hash(group: dict[str, Any]) -> None:
    assert {canonical_text(decode(text)) for text in group["texts"]} == {group["argsCanonicalJson"]}


@pytest.mark.parametrize(
    "vector", VECTORS["typescriptDiffers"], ids=[vector["name"] for vector in VECTORS["typescriptDiffers"]]
)
def test_where_the_typescript_runtime_leaves_the_rfc_this_one_does_not(vector: dict[str, Any]) -> None:
    ours = canonical_text(decode(vector["parsedArgumentsText"]))
    assert ours == vector["argsCanonicalJson"] != vector["typescriptCanonicalJson"]
    for text, name in ((ours, "proposalHash"), (vector["typescriptCanonicalJson"], "typescriptProposalHash")):
        assert vector[name] == tool_proposal_hash(
            agent_name=vector["agentName"], tool_name=vector["toolName"], args_canonical_json=text
        )


def test_there_are_at_least_twenty_vectors_each_named_once() -> None:
    names = [vector["name"] for vector in VECTORS["tools"] + VECTORS["handoffs"]]
    assert len(VECTORS["tools"]) >= 20
    assert len(set(names)) == len(names)
