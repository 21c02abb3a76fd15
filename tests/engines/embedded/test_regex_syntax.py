"""The common grammar of regular expressions; and on real engines, that it is common."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import pytest
import regorus

from aioc_opa.engines.rego_guard.regex_syntax import RegexSyntaxError, check_pattern
from tests.differential.real_opa import RealOpa

if TYPE_CHECKING:
    from pathlib import Path

ACCEPTED = [
    "", "^[0-9]{4}-[0-9]{2}-[0-9]{2}$", "a|b|", "(a|(?:b))*?", "[^a-z_-]", "[-a]", r"\.\+\*\?\(\)\|\[\]\{\}\^\$\\\-\/",
    r"[\x00-\x1f\x7f]", r"\n\r\t", ".{1,3}?x", "a{1000}", "(a{10}){100}", "a{2,}", "^$", "]", "}", r"[\]\[\^]", "é+", "[à-ü]",
]  # fmt: skip
REFUSED = [
    r"\d", r"\w", r"\s", r"\b", r"\B", r"\D", r"\pL", r"\Qa\E", r"\A", r"\z", r"\x80", r"\x{41}", r"\1", "\\", r"\é", "[a&&b]",
    "[a--b]", "[a~~b]", "[[:alpha:]]", "[[a]]", "[]", "[]a]", "[^]", "[z-a]", "[a-", "[a", "(a", "a)", "(?i)a", "(?P<n>a)",
    "(?<n>a)", "(?=a)", "a**", "a+*", "a{2}{3}", "a{,5}", "a{", "{", "*", "a|*", "(*a)", "^*", "$+", "a{1001}", "a{3,2}",
    "(a{100}){100}", "a{2,1001}", "(" * 30 + ")" * 30, "[a-b-", "[a-[b]", r"[a-\d]", r"[\w]",
]  # fmt: skip


@pytest.mark.parametrize("pattern", ACCEPTED)
def test_the_common_grammar_is_accepted(pattern: str) -> None:
    check_pattern(pattern)


@pytest.mark.parametrize("pattern", REFUSED)
def test_everything_else_is_refused_with_its_place(pattern: str) -> None:
    with pytest.raises(RegexSyntaxError, match=r"at character [0-9]+"):
        check_pattern(pattern)


def random_pattern(source: random.Random) -> str:
    pieces = [
        "a",
        "b",
        "é",
        ".",
        "[ab]",
        "[^a]",
        "[a-c1-3]",
        "(a|b)",
        "(?:ab|)",
        "^",
        "$",
        r"\.",
        "*",
        "+?",
        "{2}",
        "{0,2}",
        "?",
        "|",
    ]
    return "".join(source.choice(pieces) for _ in range(source.randrange(1, 6)))


def test_accepted_patterns_match_alike_on_both_engines(opa_binary: Path) -> None:
    source = random.Random(4)  # noqa: S311 - the seed makes the test repeatable
    texts = ["", "a", "ab", "ba", "aab", "é", "éa", "a.b", "1", "a\nb", "abc123", "１", "\U0001f600"]
    patterns = [pattern for pattern in (random_pattern(source) for _ in range(1500)) if accepted(pattern)] + ACCEPTED
    rows = "\n\n".join(
        f"r{index} := [t | some t in input; regex.match({json.dumps(p)}, t)]" for index, p in enumerate(patterns)
    )
    module = f"package fuzz\n\n{rows}\n\nanswer := [{', '.join(f'r{index}' for index in range(len(patterns)))}]\n"
    engine = regorus.Engine()
    engine.set_policy_length_config(max_col=10**6, max_file_bytes=10**8, max_lines=10**6)
    engine.add_policy("fuzz.rego", module)
    engine.set_input_json(json.dumps(texts))
    with RealOpa(opa_binary) as opa:
        opa.use({"fuzz.rego": module})
        assert opa.ask("fuzz/answer", json.dumps({"input": texts}).encode()) == (
            "value",
            json.loads(engine.eval_rule_as_json("data.fuzz.answer")),
        )
    assert len(patterns) > 300


def accepted(pattern: str) -> bool:
    try:
        check_pattern(pattern)
    except RegexSyntaxError:
        return False
    return True
