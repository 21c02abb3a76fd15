"""Answers of a real OPA server, over TCP."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest

from aioc_opa.core.engine_answer import UNDEFINED
from aioc_opa.core.reasons import Reason
from aioc_opa.engines.protocol import HANDOFF_POLICY_PATH, DecisionPath
from tests.engines.opa_server.conftest import POLICY
from tests.opa_process import OpaProcess

if TYPE_CHECKING:
    from pathlib import Path

    from tests.engines.opa_server.edges import SyncEdge


def body(*, request_id: str = "r1", kind: str = "tool", turn: int = 1) -> bytes:
    question = {"proposalHash": "f" * 64, "requestId": request_id, "kind": kind, "turn": turn}
    return json.dumps({"input": question}).encode()


def rule(name: str) -> DecisionPath:
    return DecisionPath(f"aioc/tool_policy/{name}")


def test_the_decision_document_and_the_engines_version_come_back(
    opa: OpaProcess, edge: type[SyncEdge], repository: Path
) -> None:
    with edge(opa.url) as asked:
        answer = asked.ask(body())
    assert answer.result == {
        "decision": "allow",
        "reason": "allowed",
        "reasons": [],
        "proposalHash": "f" * 64,
        "requestId": "r1",
        "kind": "tool",
    }
    assert answer.engine.startswith("opa 1.")
    assert answer.policy_revision is None
    assert answer.decision_id is None


def test_an_undefined_rule_and_a_wrong_path_are_undefined(opa: OpaProcess, edge: type[SyncEdge]) -> None:
    with edge(opa.url) as asked:
        assert asked.ask(body(), rule("only_handoffs")).result is UNDEFINED
        assert asked.ask(body(), HANDOFF_POLICY_PATH).result is UNDEFINED


def test_a_builtin_error_is_an_evaluation_error_and_not_undefined(opa: OpaProcess, edge: type[SyncEdge]) -> None:
    """Without strict-builtin-errors `builtin_error` would be true: `not` of an undefined `forbidden`."""
    with edge(opa.url) as asked:
        assert asked.failure(body(request_id="zz"), rule("builtin_error")) is Reason.POLICY_EVALUATION_ERROR
        assert asked.ask(body(request_id="1"), rule("builtin_error")).result is True


def test_a_rule_conflict_is_an_evaluation_error(opa: OpaProcess, edge: type[SyncEdge]) -> None:
    with edge(opa.url) as asked:
        assert asked.failure(body(), rule("conflict")) is Reason.POLICY_EVALUATION_ERROR


def test_a_large_answer_comes_in_chunks_and_is_whole(opa: OpaProcess, edge: type[SyncEdge]) -> None:
    with edge(opa.url) as asked:
        for turn in (1, 1000, 20_000, 1):
            answer = asked.ask(body(turn=turn), rule("padded"))
            assert answer.result == {"requestId": "r1", "padding": [str(i) for i in range(1, turn + 1)]}


def test_an_answer_over_the_cap_is_unavailable(opa: OpaProcess, edge: type[SyncEdge]) -> None:
    with edge(opa.url, max_response_bytes=2000) as asked:
        assert asked.failure(body(turn=20_000), rule("padded")) is Reason.POLICY_UNAVAILABLE
        assert asked.failure(body(turn=450), rule("padded")) is Reason.POLICY_UNAVAILABLE
        assert asked.ask(body()).result


def test_a_large_question_is_sent_whole(opa: OpaProcess, edge: type[SyncEdge]) -> None:
    with edge(opa.url) as asked:
        for size in (1, 100_000, 900_000):
            answer = asked.ask(body(request_id="x" * size))
            assert isinstance(answer.result, dict)
            assert answer.result["requestId"] == "x" * size


def test_a_body_that_opa_cannot_read_is_unavailable(opa: OpaProcess, edge: type[SyncEdge]) -> None:
    with edge(opa.url) as asked:
        assert asked.failure(b'{"input": ') is Reason.POLICY_UNAVAILABLE


def test_a_question_without_input_is_malformed_because_opa_warns(opa: OpaProcess, edge: type[SyncEdge]) -> None:
    with edge(opa.url) as asked:
        assert asked.failure(b"{}", rule("only_handoffs")) is Reason.POLICY_MALFORMED_DECISION


def test_an_evaluation_past_the_deadline_is_a_timeout_and_the_next_is_answered(
    opa: OpaProcess, edge: type[SyncEdge]
) -> None:
    with edge(opa.url) as asked:
        assert asked.failure(body(), rule("slow"), seconds=0.1) is Reason.POLICY_TIMEOUT
        assert asked.ask(body()).result


def test_a_deadline_that_has_passed_is_a_timeout(opa: OpaProcess, edge: type[SyncEdge]) -> None:
    with edge(opa.url) as asked:
        assert asked.failure(body(), seconds=0) is Reason.POLICY_TIMEOUT
        assert asked.failure(body(), seconds=-1) is Reason.POLICY_TIMEOUT


def test_a_closed_engine_is_unavailable(opa: OpaProcess, edge: type[SyncEdge]) -> None:
    with edge(opa.url) as asked:
        assert asked.ask(body()).result
        engine = getattr(asked, "engine", None)
        if engine is not None:
            engine.close()
        else:
            asked.runner.run(asked.async_engine.aclose())  # type: ignore[attr-defined]
        assert asked.failure(body()) is Reason.POLICY_UNAVAILABLE


def build_bundle(binary: Path, source: Path, target: Path, revision: str | None) -> None:
    arguments = ["--revision", revision] if revision else []
    subprocess.run([str(binary), "build", "-b", str(source), "-o", str(target), *arguments], check=True)


@pytest.mark.parametrize("revisions", [("v1.2.3",), ("v1", "v2")])
def test_the_policy_revision_is_that_of_every_bundle(
    opa_binary: Path, tmp_path: Path, edge: type[SyncEdge], revisions: tuple[str, ...]
) -> None:
    bundles = []
    for number, revision in enumerate(revisions):
        source = tmp_path / f"source{number}"
        source.mkdir()
        package = "aioc.tool_policy" if number == 0 else f"other{number}"
        (source / ".manifest").write_text(json.dumps({"roots": [package.replace(".", "/")]}))
        (source / "policy.rego").write_text(POLICY.replace("package aioc.tool_policy", f"package {package}"))
        bundles.append(tmp_path / f"b{number}.tar.gz")
        build_bundle(opa_binary, source, bundles[-1], revision)
    flags = [argument for bundle in bundles for argument in ("-b", str(bundle))]
    with OpaProcess(opa_binary, tmp_path, arguments=flags) as opa, edge(opa.url) as asked:
        answer = asked.ask(body())
    assert answer.policy_revision is not None
    assert sorted(json.loads(answer.policy_revision).values()) == sorted(revisions)
    assert answer.policy_revision == json.dumps(
        json.loads(answer.policy_revision), sort_keys=True, separators=(",", ":")
    )


def test_a_bundle_without_a_revision_gives_none(opa_binary: Path, tmp_path: Path, edge: type[SyncEdge]) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "policy.rego").write_text(POLICY)
    build_bundle(opa_binary, source, tmp_path / "b.tar.gz", None)
    with (
        OpaProcess(opa_binary, tmp_path, arguments=["-b", str(tmp_path / "b.tar.gz")]) as opa,
        edge(opa.url) as asked,
    ):
        assert asked.ask(body()).policy_revision is None


def test_the_decision_id_comes_back_when_decisions_are_logged(
    opa_binary: Path, tmp_path: Path, edge: type[SyncEdge]
) -> None:
    arguments = ["--set", "decision_logs.console=true"]
    with (
        OpaProcess(opa_binary, tmp_path, policies={"policy.rego": POLICY}, arguments=arguments) as opa,
        edge(opa.url) as asked,
    ):
        assert asked.ask(body()).decision_id
