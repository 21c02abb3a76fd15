"""What is refused at load: one refusal and one acceptance for each rule of the guard."""

from __future__ import annotations

from typing import Any

import pytest

from aioc_opa.engines.embedded import EmbeddedEngine
from aioc_opa.engines.embedded_runtime import new_engine
from aioc_opa.engines.rego_guard import findings_of
from aioc_opa.errors import PolicyLoadError
from tests.engines.embedded.policies import ask, policy

REFUSED = {
    "not-import": ["package fuzz\n\ndecision := 1 if not input.a\n", "package fuzz\n\nimport future.keywords\n\np := [1 | not input.a]\n"],
    "partial-head": [
        "deny contains e.sku if some e in input.items\n",
        'deny contains {"code": "a", "item": e.sku} if some e in input.items\n',
        "deny contains [x, input.zz] if some x in input.items\n",
        "deny contains helper if input.a\n\nhelper := input.b\n",
        "deny contains input.x\n",
        "table[k] := v.a if some k, v in input.items\n",
        "table[input.k] := 1\n",
        "deny contains lower(x) if some x in input.items\n",
    ],
    "constant-head": [
        'deny contains "c" if { some e in input.items; count(e) > 3 }',
        'deny contains "c" if count(input.items[_]) > 3',
        'deny contains {"code": "c"} if { some k, e in input.items; count(e) > 3 }',
    ],
    "iterated-head": [
        "decision := e.sku if some e in input.items\n",
        "decision := input.items[_].sku\n",
        "decision := input.items[i].sku if i >= 0\n",
        "f(xs) := e.sku if some e in xs\n",
        "decision := input.table[[x, y]].z if input.a\n",
    ],
    "else-head": ["f(x) := input.zz if { x == 1 } else := 7\n", "f(x) := 1 if { x == 1 } else := x.y if { x == 2 } else := 3\n"],
    "reference-head": ["a.b := 1\n", "a.b contains 1\n", 'a["b"].c := 1\n', 'a["b"] := 1\n', 'a["b"] contains 1\n', "a[x][y] contains 1 if some x, y in input.z\n", "a[x].b := 1 if some x in input.y\n"],
    "with": ["decision := 1 if input.a with input.a as 1\n", "p := [x | x := data.fuzz.q with input as {}]\n\nq := input\n"],
    "membership-pair": ['decision if { "a", "a" in {"a"} }\n'],
    "not-body": ["decision if not {false}\n", "decision if { not x = 1; x = 2 }\n", "decision if not [1]\n"],
    "object-pattern": [
        'f({"k": v}) := v\n', "f({}) := 1\n", 'f([{"k": v}]) := v\n', 'decision := x if { {"a": x} := input.o }\n',
        'decision := x if { {"a": x} = input.o }\n', 'decision if { x := input.o; x = {"a": _} }\n',
        'decision := [x | some {"a": x} in input.o]\n', 'decision := [k | some k, [{"b": _}] in input.o]\n',
    ],
    "repeated-argument": ["f(x, x) := 1\n", "f(x, [x]) := 1\n"],
    "large-number": ["decision := 9007199254740992\n", "decision if input.a > 1e16\n", "decision := -9007199254740993\n"],
    "package-index": [
        "decision := [v | some v in data.aioc.packs[p].deny]\n",
        "import data.aioc.packs\n\ndecision := [v | v := packs[input.pack].deny]\n",
        "decision := [v | some p; v := data.aioc[p]]\n",
    ],
    "hides-builtin": ["count := 1\n", "plus(a, b) := 1\n"],
    "function": ["import data.lib.strings\n\ndecision := strings.reverse(input.a)\n", "decision := data.nowhere.f(1)\n"],
    "function-value": [
        "deny(x) := 1 if x\n\ndecision := deny\n", "decision := data.lib.texts.f\n", 'decision := data.lib["texts"].f\n',
        "import data.lib.texts\n\ndecision := [v | some v in texts.f]\n", "import data.lib.texts.f as g\n\ndecision := g\n",
        "deny(x) := 1 if x\n\ndecision if not deny\n", "default deny(_) := 1\n\ndecision := count(deny)\n",
        "deny(x) := 1 if x\n\ndecision := deny[input.a]\n", "deny(x) := 1 if x\n\ndecision if { some k; deny[k] }\n",
        "deny(x) := deny if x\n\ndecision := 1\n", "deny(x) := 1 if x\n\ndecision := 1 if { input.a } else := deny\n",
    ],
    "builtin": [
        "decision := time.now_ns()\n", "decision := rand.intn(input.a, 2)\n", "decision := opa.runtime()\n",
        "decision := io.jwt.decode(input.a)\n", "decision := no_such_function(input.a)\n", "decision := upper(input.a)\n",
        "decision := ceil(input.a)\n", 'decision := sprintf("%v", [input.a])\n', "decision := to_number(input.a)\n",
        "decision := walk(input.a)\n", "decision := print(1)\n", "decision := time.parse_rfc3339_ns(input.a)\n",
        "decision := json.match_schema(input.a, {})\n", "decision := plus(1, 2)\n", 'decision := glob.match("a", [], input.a)\n',
    ],
    "constant": [
        "decision := regex.match(input.a, input.b)\n", "decision := regex.match(`^\\d+$`, input.b)\n",
        "decision := replace(input.a, input.b, input.c)\n", 'decision := replace(input.a, "", input.c)\n',
        "decision := array.slice(input.a, input.b, 2)\n", "decision := substring(input.a, 0, 1.5)\n",
        "decision := format_int(input.a, 10)\n", "decision := format_int(count(input.a) / 2, 10)\n",
    ],
}  # fmt: skip

ACCEPTED = [
    "decision := 1 if not input.a\n",
    "package fuzz\n\ndecision := 1 if input.a\n",
    'deny contains v if { some e in input.items; v := {"a": e.sku} }\n',
    'deny contains {"code": "a", "nested": [1, {"b": null}]} if input.a\n',
    'deny contains "a" if input.a\n',
    "deny contains x if { some x in input.items }\n",
    "deny contains x if { x = input.items[_] }\n",
    "deny contains k if { input.items[k] == 1 }\n",
    'deny contains {"v": v} if { some e in input.items; [v, 1] = e }\n',
    "f(_, _) := 1\n",
    'decision if input.a == {"a": 1}\n',
    'decision := x if { x := {"a": input.b} }\n',
    "table[k] := v if some k, v in input.items\n",
    "table[k] contains v if { some k, v in input.items }\n",
    "decision := input.a.b if input.c\n",
    "decision := input.table[input.key].x if input.c\n",
    "decision := x.y if { x := input.a }\n",
    "f(k) := input.table[k].x if input.c\n",
    "f([a, b]) := a if { b == 1 } else := 2\n",
    "decision := input.table[[input.a, input.b]].x\n",
    "default decision := false\n\ndecision if input.a\n",
    "decision := [x.a | some x in input.items]\n",
    "decision := regex.match(`^[0-9]{4}$`, input.a)\n",
    'decision := replace(input.a, "a", input.b)\n',
    "decision := array.slice(input.a, 1, count(input.a) - 1)\n",
    "decision := substring(input.a, round(input.b), -1)\n",
    "decision := format_int(round(input.a * 100), 10)\n",
    "import data.lib.texts as t\n\ndecision := t.f(input.a)\n",
    'decision := data.lib.texts["f"](input.a)\n',
    'decision := {"a": {"b": 1}}[input.k][input.j]\n',
    "decision := own(input.a)\n\nown(x) := x\n",
    "own(x) := x\n\ndecision := own(own(input.a))\n",
    "own(x) := x\n\ndecision := own if { own := input.a }\n",
    "own(x) := x\n\ndecision := [own | some own in input.a]\n",
    "code(x) := x\n\nsay(code) := code\n",
    "default own(_) := 1\n\nown(x) := x if input.a\n",
    'decision if "a" in input.items\n',
    "decision if { some k, v in input.items; k != v }\n",
    'decision := data.aioc.packs["one"].deny\n',
    "decision := data.tables[input.a][input.b]\n",
    "decision if not input.a == 1\n",
    "decision := 9007199254740991\n",
]  # fmt: skip

OTHERS = ("package aioc.packs.one\n\ndeny contains 1\n", "package lib.texts\n\nf(x) := x\n")


@pytest.mark.parametrize(
    ("rule", "module"), [(rule, module) for rule, modules in REFUSED.items() for module in modules]
)
def test_a_construct_that_differs_is_refused_with_place_rule_and_cure(rule: str, module: str) -> None:
    with pytest.raises(PolicyLoadError) as caught:
        EmbeddedEngine(policy(module, *OTHERS))
    first = str(caught.value).splitlines()[1]
    assert first.lstrip().startswith("m0.rego:")
    assert f"[{rule}]; " in str(caught.value)


@pytest.mark.parametrize("module", ACCEPTED)
def test_what_does_not_differ_is_accepted(module: str) -> None:
    EmbeddedEngine(policy(module, *OTHERS))


def test_the_library_may_call_what_others_may_not() -> None:
    EmbeddedEngine(policy("package aioc.lib.times\n\ndecision := time.parse_rfc3339_ns(input.a)\n"))


def test_many_findings_are_shown_in_order_and_cut() -> None:
    calls = "".join(f"r{number} := upper(input.a)\n\n" for number in range(30))
    with pytest.raises(PolicyLoadError, match="and 10 more") as caught:
        EmbeddedEngine(policy(calls))
    lines = [line.split(":")[1] for line in str(caught.value).splitlines()[1:21]]
    assert lines == sorted(lines, key=int)


def test_a_computed_function_is_refused() -> None:
    with pytest.raises(PolicyLoadError):
        EmbeddedEngine(policy("decision := data.x[input.a](1)\n"))


def test_findings_can_be_had_without_an_error_for_a_lint() -> None:
    source = policy("decision := upper(input.a)\n").modules
    engine = new_engine(source, {})
    assert [(finding.file, finding.line, finding.rule) for finding in findings_of(engine.get_ast_as_json())] == [
        ("m0.rego", 5, "builtin")
    ]


def test_a_policy_that_is_nested_too_deeply_to_be_checked_is_refused() -> None:
    with pytest.raises(PolicyLoadError, match="nested too deeply"):
        EmbeddedEngine(policy("decision if input" + ".a" * 2000 + "\n"))


def test_a_deeply_nested_policy_is_checked() -> None:
    assert ask(EmbeddedEngine(policy("decision if input" + ".a" * 200 + "\n\nother := 1\n")), rule="other").result == 1


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"fuzz": {"decision": 1}}, "both a rule and a value"),
        ({"fuzz": 1}, "is no object, but package"),
        ({"limits": [{"a": 2**53}]}, r"data\.limits\[0\]\.a: a number beyond"),
        ({"limits": 1e300}, "a number beyond"),
        ({"names": ["\U0001f600"]}, r"data\.names\[0\]: has a character"),
        ({"\U0001f600": 1}, "a key of data: has a character"),
    ],
)
def test_data_that_the_engines_would_see_differently_is_refused(data: Any, message: str) -> None:
    with pytest.raises(PolicyLoadError, match=message):
        EmbeddedEngine(policy("decision := count(input.a)\n", data=data))


def test_data_beside_and_below_a_package_is_taken() -> None:
    engine = EmbeddedEngine(policy("decision := data.fuzz.limits.a\n", data={"fuzz": {"limits": {"a": 1.5}}, "b": "é"}))
    assert ask(engine).result == 1.5


@pytest.mark.parametrize(
    ("module", "may_meet_text"),
    [
        ("decision := count(input.a)\n", True),
        ("decision := lower(input.a)\n", True),
        ("decision := count(object.keys(input.a))\n", False),
        ("decision := count({1, 2})\n", False),
        ("decision := count(found)\n\nfound contains 1 if input.a\n", False),
        ("decision := count(other)\n\nother := input.a\n", True),
        ('decision := startswith(input.a, "a")\n', False),
    ],
)
def test_only_a_policy_that_may_count_or_lower_text_refuses_characters(module: str, may_meet_text: bool) -> None:
    assert (EmbeddedEngine(policy(module))._guarded.refused_characters is not None) is may_meet_text
