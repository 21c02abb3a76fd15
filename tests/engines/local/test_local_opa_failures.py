"""Policies and programs with which a local OPA does not start."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from aioc_opa.core.engine_answer import UNDEFINED
from aioc_opa.engines.local_opa import LocalOpaEngine
from aioc_opa.engines.protocol import DecisionPath
from aioc_opa.errors import EngineConfigurationError, PolicyLoadError
from tests.engines.local.conftest import QUESTION, folder, is_running, policy

if TYPE_CHECKING:
    from pathlib import Path
from tests.engines.local.local_cases import Start, deadline


@pytest.mark.parametrize(
    ("module", "place"),
    [
        ("package aioc.tool_policy\n\nx := := 1\n", "aioc/tool_policy/policy.rego:3: rego_parse_error"),
        ("package aioc.tool_policy\n\ny if z\n", "aioc/tool_policy/policy.rego:3: rego_unsafe_var_error"),
        ("package aioc.tool_policy\n\ny if 1 + true\n", "aioc/tool_policy/policy.rego:3: rego_type_error"),
    ],
)
def test_a_policy_that_opa_refuses_is_an_error_that_names_file_and_line(start: Start, module: str, place: str) -> None:
    with pytest.raises(PolicyLoadError) as refused:
        start(policy(module))
    assert place in str(refused.value)
    assert "local/" not in str(refused.value)


def test_a_folder_is_loaded_by_the_loader(start: Start, tmp_path: Path) -> None:
    place = tmp_path / "acme"
    place.mkdir()
    (place / "a.rego").write_text("package acme\n\nimport future.keywords.not\n\nanswer := 42\n")
    (place / "a_test.rego").write_text("package acme_test\n\nimport future.keywords.not\n\ntest_a if true\n")
    (place / "notes.json").write_text('{"not": "data"}')
    (tmp_path / "data.json").write_text('{"limits": {"refund": 3}}')
    engine = start(str(tmp_path), decision_paths=[DecisionPath("acme/answer"), DecisionPath("not")])
    assert engine.evaluate(DecisionPath("acme/answer"), QUESTION, deadline()).result == 42
    assert engine.evaluate(DecisionPath("not"), QUESTION, deadline()).result is UNDEFINED
    assert sorted(path.name for path in (folder(engine) / "local" / "acme").iterdir()) == ["a.rego"]


def test_the_staged_data_is_what_opa_itself_reads_from_the_folder(
    start: Start, opa_binary: Path, repository: Path
) -> None:
    paths = [DecisionPath("aioc/owners"), DecisionPath("aioc/lib"), DecisionPath("aioc/packs/airline/manifest")]
    engine = start(repository / "rego", decision_paths=paths)
    command = [opa_binary, "eval", "--format=json", "--ignore=*_test.rego", "--bundle", repository / "rego"]
    for path in paths:
        done = subprocess.run([*command, path.rule], capture_output=True, check=True)
        (result,) = json.loads(done.stdout)["result"]
        assert engine.evaluate(path, b'{"input":{}}', deadline()).result == result["expressions"][0]["value"]


def program(path: Path, otherwise: str) -> Path:
    path.write_text(f'#!/bin/sh\nif [ "$1" = version ]; then echo "Version: 1.22.4"; exit 0; fi\n{otherwise}\n')
    path.chmod(0o755)
    return path


def test_an_opa_that_does_not_come_up_in_time_is_an_error_and_is_stopped(tmp_path: Path) -> None:
    slow = program(tmp_path / "opa", f"echo $$ > {tmp_path}/pid; exec /bin/sleep 600")
    with pytest.raises(EngineConfigurationError, match="in time"):
        LocalOpaEngine(policy(), opa_binary=slow, start_seconds=0.5)
    assert not is_running(int((tmp_path / "pid").read_text()))


@pytest.mark.parametrize(
    ("otherwise", "said"),
    [
        (
            "echo 'Error: unknown flag: --addr' >&2; echo 'Usage:' >&2; echo '  opa run' >&2; exit 1",
            "unknown flag: --addr$",
        ),
        ("exit 3", "it wrote nothing$"),
        (
            """echo '{"level":"warning","msg":"root"}'; echo '{"level":"error","msg":"no","err":"why"}'; exit 1""",
            "no: why$",
        ),
        ("echo '{half a line'; exit 1", "{half a line$"),
    ],
)
def test_an_opa_that_does_not_start_is_an_error_in_its_words(tmp_path: Path, otherwise: str, said: str) -> None:
    with pytest.raises(EngineConfigurationError, match=said):
        LocalOpaEngine(policy(), opa_binary=program(tmp_path / "opa", otherwise))


def test_without_a_python_to_start_there_is_no_local_engine(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "")
    with pytest.raises(EngineConfigurationError, match="is not known here"):
        start()
