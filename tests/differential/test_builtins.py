"""The allow-list of builtins, justified: each allowed one on random arguments, on both engines."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
import regorus

from aioc_opa.engines.rego_guard.builtins import builtins
from aioc_opa.engines.rego_guard.text_limits import CHARACTERS
from tests.differential.builtin_calls import differences
from tests.differential.real_opa import RealOpa
from tests.differential.values import Values

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CALLS = max(12, int(os.environ.get("AIOC_FUZZ_VERDICTS", "0")) // 400)
GENERAL = sorted(name for name, terms in builtins().allowed.items() if not terms.only_in)


@pytest.fixture(scope="module")
def opa(opa_binary: Path) -> Iterator[RealOpa]:
    with RealOpa(opa_binary) as running:
        yield running


@pytest.fixture(scope="module")
def declared(opa_binary: Path) -> dict[str, Any]:
    listed = subprocess.run([opa_binary, "capabilities", "--current"], capture_output=True, check=True).stdout
    return {builtin["name"]: builtin["decl"] for builtin in json.loads(listed)["builtins"]}


def test_every_builtin_of_the_pinned_opa_is_allowed_or_refused_with_a_reason(
    declared: dict[str, Any], repository: Path
) -> None:
    known = builtins()
    assert known.allowed.keys() | known.refused.keys() == declared.keys()
    assert not known.allowed.keys() & known.refused.keys()
    assert known.opa == (repository / ".opa-version").read_text().strip()


@pytest.mark.fuzz
@pytest.mark.parametrize("name", GENERAL)
def test_an_allowed_builtin_answers_as_in_opa_or_errs(opa: RealOpa, declared: dict[str, Any], name: str) -> None:
    arguments = declared[name].get("args", [])
    assert differences(opa, builtins().allowed[name], arguments, Values(11), CALLS) == []


@pytest.mark.parametrize(
    ("expression", "kind"), [("lower(c)", "case"), ('lower(concat("", ["a", c]))', "case"), ("count(c)", "astral")]
)
def test_characters_outside_the_refused_ones_are_treated_alike(opa: RealOpa, expression: str, kind: Any) -> None:
    module = f"package fuzz\n\nanswer := [r | some c in input; r := {expression}]\n"
    characters = [chr(code) for code in range(1, 0x30000) if not 0xD800 <= code < 0xE000]
    safe = [character for character in characters if not CHARACTERS[kind].search(character)]
    engine = regorus.Engine()
    engine.add_policy("fuzz.rego", module)
    engine.set_input_json(json.dumps(safe))
    opa.use({"fuzz.rego": module})
    assert opa.ask("fuzz/answer", json.dumps({"input": safe}).encode()) == (
        "value",
        json.loads(engine.eval_rule_as_json("data.fuzz.answer")),
    )
    assert len(safe) > 60_000


def test_a_refused_character_is_counted_otherwise() -> None:
    engine = regorus.Engine()
    engine.add_policy("fuzz.rego", 'package fuzz\n\nanswer := count("\U0001f600")\n')
    assert engine.eval_rule("data.fuzz.answer") == 2


TIMES = [
    "2024-02-29T12:00:00Z", "2023-02-29T12:00:00Z", "2024-05-15t15:00:00Z", "2024-05-15T15:00:00z", "2024-05-15 15:00:00Z",
    "2024-05-15T15:00:60Z", "2024-05-15T24:00:00Z", "2024-05-15T15:00:00+05:30", "2024-05-15T15:00:00+24:00",
    "2024-05-15T15:00:00.123456789Z", "2024-05-15T15:00:00.1234567890Z", "1700-01-01T00:00:00Z", "2199-12-31T23:59:59Z",
    "1699-12-31T23:59:59Z", "2024-05-15T15:00:00", "2024-05-15", "", " 2024-05-15T15:00:00Z", "2024-05-15T15:00:00Z\n",
    "２０２４-05-15T15:00:00Z", "2024-04-31T00:00:00Z", "2024-05-15T15:00:00,5Z", "2024-05-15T15:00:00-00:00",
]  # fmt: skip


def test_the_only_caller_of_the_time_parser_checks_the_form_first(opa: RealOpa, repository: Path) -> None:
    library = (repository / "rego/aioc/lib/times/times.rego").read_text()
    module = "package fuzz\n\nanswer := [t | some x in input; t := [x, data.aioc.lib.times.instant(x)]]\n"
    engine = regorus.Engine()
    engine.add_policy("times.rego", library)
    engine.add_policy("fuzz.rego", module)
    engine.set_input_json(json.dumps(TIMES))
    opa.use({"times.rego": library, "fuzz.rego": module})
    mine = json.loads(engine.eval_rule_as_json("data.fuzz.answer"))
    assert opa.ask("fuzz/answer", json.dumps({"input": TIMES}).encode()) == ("value", mine)
    assert len(mine) >= 5
