"""The local engine on a real `opa`: answers, limits, isolation, errors."""

from __future__ import annotations

import json
import logging
import os
import shutil
import stat
import threading
from typing import TYPE_CHECKING

import pytest

from aioc_opa.core.engine_answer import UNDEFINED, EngineFailureError
from aioc_opa.core.reasons import Reason
from aioc_opa.engines import local_opa_process
from aioc_opa.engines.local_opa import LocalOpaEngine
from aioc_opa.engines.protocol import HANDOFF_POLICY_PATH, TOOL_POLICY_PATH, AsyncEngine, DecisionPath, Engine
from aioc_opa.errors import EngineConfigurationError
from tests.engines.local.conftest import QUESTION, ask, folder, is_running, policy, processes, until

if TYPE_CHECKING:
    from pathlib import Path
from tests.engines.local.local_cases import Start, deadline


def evaluate(engine: LocalOpaEngine, body: bytes = QUESTION) -> object:
    return engine.evaluate(TOOL_POLICY_PATH, body, deadline()).result


def answers(engine: LocalOpaEngine) -> bool:
    """Whether it answers; while it does not, it denies as unavailable."""
    try:
        evaluate(engine)
    except EngineFailureError as failure:
        if failure.reason is not Reason.POLICY_UNAVAILABLE:
            raise
        return False
    return True


def test_it_is_both_engines(start: Start) -> None:
    engine = start()
    assert isinstance(engine, Engine)
    assert isinstance(engine, AsyncEngine)
    assert engine.name == "local"


def test_it_answers_threads(start: Start) -> None:
    engine = start()
    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(evaluate(engine))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [{"number": 7, "limit": 5, "environment": {}}] * 8


async def test_it_answers_an_event_loop(start: Start, opa_binary: Path) -> None:
    async with LocalOpaEngine(policy(), opa_binary=opa_binary) as engine:
        answer = await engine.evaluate_async(TOOL_POLICY_PATH, QUESTION, deadline())
        assert answer.result == {"number": 7, "limit": 5, "environment": {}}
        _, opa = processes(engine)
    assert not is_running(opa)
    with pytest.raises(EngineFailureError):
        await engine.evaluate_async(TOOL_POLICY_PATH, QUESTION, deadline())


def test_the_answer_names_the_staged_revision_and_the_version(start: Start, repository: Path) -> None:
    engine = start(policy(revision="sha256:12ab"))
    answer = engine.evaluate(TOOL_POLICY_PATH, QUESTION, deadline())
    assert answer.policy_revision == '{"local":"sha256:12ab"}' == engine.policy_revision
    assert answer.engine == f"opa {engine.binary.version}"
    assert len(engine.binary.sha256) == 64
    assert engine.binary.version in repr(engine)


def test_an_answer_for_another_revision_is_a_failure(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = start()
    monkeypatch.setattr(engine, "policy_revision", '{"local":"sha256:ff"}')
    with pytest.raises(EngineFailureError) as failure:
        evaluate(engine)
    assert failure.value.reason is Reason.POLICY_REVISION_REJECTED


def test_the_environment_of_opa_is_empty(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPA_LOG_LEVEL", "debug")
    monkeypatch.setenv("CANARY_SECRET", "5f3a")
    result = evaluate(start())
    assert isinstance(result, dict)
    assert result["environment"] == {}


def test_a_builtin_error_and_an_undefined_decision_are_told_apart(start: Start) -> None:
    engine = start()
    with pytest.raises(EngineFailureError) as failure:
        evaluate(engine, b'{"input":{"number":"zz"}}')
    assert failure.value.reason is Reason.POLICY_EVALUATION_ERROR
    assert engine.evaluate(HANDOFF_POLICY_PATH, QUESTION, deadline()).result is UNDEFINED


@pytest.mark.parametrize(
    ("method", "target", "body"),
    [
        ("PUT", "/v1/policies/mine", b"package mine"),
        ("DELETE", "/v1/policies/local/aioc/tool_policy/policy.rego", None),
        ("GET", "/v1/policies", None),
        ("PUT", "/v1/data/limits", b"{}"),
        ("PATCH", "/v1/data", b'[{"op":"remove","path":"/limits"}]'),
        ("GET", "/v1/data", None),
        ("POST", "/v1/data?strict-builtin-errors=true", QUESTION),
        ("POST", "/v1/data/limits?strict-builtin-errors=true", QUESTION),
        ("POST", "/v1/data/aioc/tool_policy?strict-builtin-errors=true", QUESTION),
        ("POST", "/v1/data/aioc_local_engine/authz/allow?strict-builtin-errors=true", QUESTION),
        ("GET", "/v1/data/aioc/tool_policy/decision?strict-builtin-errors=true", None),
        ("POST", "/v1/data/aioc/tool_policy/decision", QUESTION),
        ("POST", "/v1/data/aioc/tool_policy/decision?strict-builtin-errors=false", QUESTION),
        ("POST", "/v1/data/aioc/tool_policy/decision?strict-builtin-errors&strict-builtin-errors=false", QUESTION),
        ("POST", "/v1/data/aioc/tool_policy/decision?strict-builtin-errors=true&explain=full", QUESTION),
        ("POST", "/v0/data/aioc/tool_policy/decision?strict-builtin-errors=true", QUESTION),
        ("POST", "/v1/query?strict-builtin-errors=true", b'{"query":"data"}'),
        ("POST", "/v1/compile?strict-builtin-errors=true", b'{"query":"data"}'),
        ("GET", "/v1/config", None),
        ("GET", "/v1/status", None),
        ("GET", "/metrics", None),
        ("POST", "/", QUESTION),
    ],
)
def test_nothing_but_the_decisions_and_health_is_answered(
    shared: LocalOpaEngine, method: str, target: str, body: bytes | None
) -> None:
    assert ask(shared, method, target, body)[0] == 401


def test_the_decisions_and_health_are_answered(shared: LocalOpaEngine) -> None:
    for path in ("tool_policy", "handoff_policy"):
        assert ask(shared, "POST", f"/v1/data/aioc/{path}/decision?strict-builtin-errors=true", QUESTION)[0] == 200
    assert ask(shared, "GET", "/health")[0] == 200


@pytest.fixture(scope="module")
def shared(opa_binary: Path) -> object:
    with LocalOpaEngine(policy(), opa_binary=opa_binary) as engine:
        yield engine


def test_other_decision_paths_may_be_pinned(start: Start) -> None:
    engine = start(decision_paths=[DecisionPath("limits/refund")])
    assert engine.evaluate(DecisionPath("limits/refund"), QUESTION, deadline()).result == 5
    with pytest.raises(EngineFailureError) as failure:
        evaluate(engine)
    assert failure.value.reason is Reason.POLICY_UNAVAILABLE


def test_no_decision_path_is_a_configuration_error(start: Start) -> None:
    with pytest.raises(EngineConfigurationError, match="decision_paths"):
        start(decision_paths=[])


def test_its_folder_and_socket_are_private_and_go_with_it(start: Start) -> None:
    engine = start()
    place = folder(engine)
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert stat.S_IMODE((place / "opa.sock").stat().st_mode) == 0o600
    engine.close()
    assert not place.exists()
    engine.close()  # closing twice is no error


def test_a_closed_engine_denies(start: Start) -> None:
    engine = start()
    engine.close()
    with pytest.raises(EngineFailureError) as failure:
        evaluate(engine)
    assert failure.value.reason is Reason.POLICY_UNAVAILABLE


def test_two_engines_do_not_disturb_each_other(start: Start) -> None:
    one, two = start(policy(limit=1, revision="1")), start(policy(limit=2, revision="2"))
    assert evaluate(one) == {"number": 7, "limit": 1, "environment": {}}
    assert evaluate(two) == {"number": 7, "limit": 2, "environment": {}}
    one.close()
    assert evaluate(two) == {"number": 7, "limit": 2, "environment": {}}


@pytest.fixture
def slow_restart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time enough to see the deny in between."""
    monkeypatch.setattr(local_opa_process, "FIRST_RESTART_SECONDS", 2.0)


def test_a_killed_opa_is_a_deny_and_then_it_comes_back(
    start: Start, caplog: pytest.LogCaptureFixture, slow_restart: None
) -> None:
    engine = start()
    _, opa = processes(engine)
    with caplog.at_level(logging.WARNING):
        os.kill(opa, 9)
        until(lambda: not is_running(opa), "the kill")
        with pytest.raises(EngineFailureError) as failure:
            evaluate(engine)
        assert failure.value.reason is Reason.POLICY_UNAVAILABLE
        until(lambda: answers(engine), "the second start")
    assert processes(engine)[1] != opa
    assert engine._process.starts == 2
    assert engine.evaluate(TOOL_POLICY_PATH, QUESTION, deadline()).policy_revision == engine.policy_revision
    assert "starting it again" in caplog.text


async def test_the_same_from_an_event_loop(opa_binary: Path, slow_restart: None) -> None:
    async with LocalOpaEngine(policy(), opa_binary=opa_binary) as engine:
        await engine.evaluate_async(TOOL_POLICY_PATH, QUESTION, deadline())
        _, opa = processes(engine)
        os.kill(opa, 9)
        until(lambda: not is_running(opa), "the kill")
        with pytest.raises(EngineFailureError) as failure:
            await engine.evaluate_async(TOOL_POLICY_PATH, QUESTION, deadline())
        assert failure.value.reason is Reason.POLICY_UNAVAILABLE
        until(lambda: answers(engine), "the second start")
        await engine.evaluate_async(TOOL_POLICY_PATH, QUESTION, deadline())


def test_a_killed_supervisor_takes_opa_along_and_both_come_back(start: Start) -> None:
    engine = start()
    supervisor, opa = processes(engine)
    os.kill(supervisor, 9)
    until(lambda: not is_running(opa), "the death of an opa whose supervisor was killed")
    until(lambda: answers(engine), "the second start")


def test_a_removed_socket_is_made_again(start: Start) -> None:
    engine = start()
    (folder(engine) / "opa.sock").unlink()
    until(lambda: engine._process.starts == 2 and answers(engine), "the second start")


def test_a_removed_folder_is_made_again(start: Start) -> None:
    engine = start()
    shutil.rmtree(folder(engine))
    until(lambda: engine._process.starts == 2 and answers(engine), "the second start")


def test_a_changed_staged_policy_does_not_survive_a_restart(start: Start) -> None:
    engine = start()
    staged = folder(engine) / "local" / "data.json"
    staged.write_text(json.dumps({"limits": {"refund": 1_000_000}}))
    (folder(engine) / "local" / "aioc" / "more.rego").write_text("package more")
    os.kill(processes(engine)[1], 9)
    until(lambda: engine._process.starts == 2 and answers(engine), "the second start")
    assert evaluate(engine) == {"number": 7, "limit": 5, "environment": {}}
    assert not (folder(engine) / "local" / "aioc" / "more.rego").exists()
