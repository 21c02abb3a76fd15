"""Conditions of the routes that are worked out at load: only what no call can change, and the same verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa.engines.embedded_constants import resolve_constants
from aioc_opa.engines.embedded_runtime import new_engine
from aioc_opa.packs.policy_folder import load_policy

if TYPE_CHECKING:
    from pathlib import Path

ROUTES = "aioc/routes/routes.rego"
PACK = "aioc/packs/mine/mine.rego"


def resolved(data: dict[str, Any], routes: str, **modules: str) -> dict[str, str]:
    """The modules with `routes` in the package of the routes, after resolving."""
    sources = {ROUTES: f"package aioc.routes\n\n{routes}", **{f"{name}.rego": text for name, text in modules.items()}}
    engine = new_engine(sources, data)
    return resolve_constants(engine, engine.get_ast_as_json(), sources)


def resolves(data: dict[str, Any], routes: str, **modules: str) -> bool:
    return "_holds := true" in resolved(data, routes, **modules)[ROUTES]


PACKAGE = "package aioc.packs.mine\n\n"


@pytest.mark.parametrize(
    "condition",
    [
        "is_number(data.limits.refund)",
        'data.limits["refund"] == 5',
        "data.limits[data.key] == 5",
        "_is_five(data.limits.refund)",
        "data.aioc.packs.mine.loaded == true",
        "data.aioc.packs.mine.table.a == 1",
        "every limit in data.limits { is_number(limit) }",
    ],
)
def test_a_condition_of_data_and_constants_is_replaced_where_it_holds(condition: str) -> None:
    data = {"limits": {"refund": 5}, "key": "refund", "aioc": {"packs": {"mine": {"table": {"a": 1}}}}}
    routes = f"_holds if {{\n\t{condition}\n}}\n\n_is_five(value) if value == 5\n"
    assert resolves(data, routes, mine=PACKAGE + "loaded := true\n")


@pytest.mark.parametrize(
    ("condition", "marker"),
    [
        ("data.aioc.packs.mine.loaded == true", "loaded := input.loaded\n"),
        ("data.aioc.packs.mine.loaded == true", "loaded if input.loaded\n"),
        ("data.aioc.packs.mine.loaded == true", "loaded if inner\n\ninner := input.loaded\n"),
        ("data.aioc.packs.mine.loaded == true", "loaded := true\n\nloaded := true if input.x\n"),
        ("data.aioc.packs.mine.loaded == true", "loaded if f(1)\n\nf(_) if input.x\n"),
        ("input.x == 1", ""),
        ("is_object(data.aioc.packs)", ""),
        ("is_object(data.aioc.packs.mine)", ""),
        ("data.aioc.packs[data.key].loaded == true", "loaded := true\n"),
        ("not data.limits.nothing == input.x", ""),
        ("{x | x := data.limits[_]}[data.limits.refund]", ""),
    ],
)
def test_what_a_call_could_change_is_left_alone(condition: str, marker: str) -> None:
    data = {"limits": {"refund": 5}, "key": "mine", "aioc": {}}
    routes = f"_holds if {{\n\t{condition}\n}}\n"
    assert not resolves(data, routes, mine=PACKAGE + "loaded_too := true\n\n" + marker)


@pytest.mark.parametrize(
    "rule",
    [
        "_holds if data.limits.nothing == 5",
        "_holds if data.limits.refund + data.key == 5",
        "_holds := 5 if data.limits.refund == 5",
        "default _holds := false\n\n_holds if data.limits.refund == 5",
        "_holds if data.limits.refund == 5\n\n_holds if input.x",
        "_holds if {\n\tdata.limits.refund == 6\n} else if {\n\tdata.limits.refund == 5\n}",
        "_holds contains 1 if data.limits.refund == 5",
    ],
)
def test_a_rule_that_is_no_plain_condition_or_does_not_hold_is_left_alone(rule: str) -> None:
    assert not resolves({"limits": {"refund": 5}, "key": "x"}, f"{rule}\n")


def test_nothing_is_replaced_where_a_module_says_with() -> None:
    routes = "_holds if data.limits.refund == 5\n"
    other = "package other\n\nasks if data.aioc.routes._holds with data.limits as {}\n"
    assert resolves({"limits": {"refund": 5}}, routes)
    assert not resolves({"limits": {"refund": 5}}, routes, other=other)


def test_lines_stay_where_they_were() -> None:
    routes = "_holds if {\n\tis_object(data.limits)\n\tdata.limits.refund == 5\n}\n\nlast := 1\n"
    text = resolved({"limits": {"refund": 5}}, routes)[ROUTES]
    assert text.splitlines().index("last := 1") == f"package aioc.routes\n\n{routes}".splitlines().index("last := 1")


def test_the_packs_of_this_repository_are_known_to_be_loaded_and_to_have_their_data(repository: Path) -> None:
    policy = load_policy(repository / "rego")
    engine = new_engine(policy.modules, policy.data)
    text = resolve_constants(engine, engine.get_ast_as_json(), policy.modules)[ROUTES]
    for pack in ("airline", "access_table"):
        assert f"_is_loaded_{pack} := true" in text
        assert f"_has_data_{pack} := true" in text
