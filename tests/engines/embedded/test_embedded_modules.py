"""What an OPA reads about itself decides no call, and is not the embedded engine's to evaluate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from aioc_opa import DecisionPath, EmbeddedEngine, PolicyLoadError
from aioc_opa.engines.deadline import Deadline
from aioc_opa.packs.policy_folder import load_policy

if TYPE_CHECKING:
    from pathlib import Path

OWN = 'package own\n\ndecision := {"decision": "allow"}\n'
MASK = 'package system.log\n\nmask contains path if {\n\tsome pack\n\tdata.own[pack]\n\tpath := "/input"\n}\n'
SPEAKS = "package own\n\ndecision := data.system.log.mask\n"
QUOTES = 'package own\n\ndecision := data["system"].log.mask\n'


def policy(folder: Path, own: str) -> Path:
    for name, text in (("own/own.rego", own), ("system/log/mask.rego", MASK)):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text(text)
    return folder


def test_a_module_that_opa_reads_about_itself_need_not_be_alike_on_both_engines(tmp_path: Path) -> None:
    engine = EmbeddedEngine(policy(tmp_path, OWN))
    answer = engine.evaluate(DecisionPath("own/decision"), b'{"input": {}}', Deadline.after(5))
    assert answer.result == {"decision": "allow"}
    assert load_policy(tmp_path).revision in str(answer.policy_revision)
    engine.close()


@pytest.mark.parametrize("own", [SPEAKS, QUOTES], ids=["by name", "as a key"])
def test_a_policy_that_speaks_of_it_is_checked_whole(tmp_path: Path, own: str) -> None:
    with pytest.raises(PolicyLoadError, match=r"system/log/mask\.rego"):
        EmbeddedEngine(policy(tmp_path, own))


def test_the_librarys_own_mask_is_no_obstacle(repository: Path) -> None:
    EmbeddedEngine(repository / "rego").close()
