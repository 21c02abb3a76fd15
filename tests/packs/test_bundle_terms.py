"""Terms that are computed: what they come from is named, and a change of it is a change of the approval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa.packs.bundle_diff import diff_document
from aioc_opa.packs.bundle_outcomes import approval_asks
from aioc_opa.packs.bundle_report import approval_document
from aioc_opa.packs.bundle_sections import terms_text
from tests.packs.bundle_diff_cases import DATA_OF_P, HELPER, MODULE, Policies, rows

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from aioc_opa.packs.bundle_parsed import ParsedBundle

RULES = "aioc.packs.p.require_approval"
DATA = "aioc/packs/p/data.json"
TITLE = "Approvals that can be asked for"


@pytest.fixture
def policies(tmp_path: Path, opa_binary: Path) -> Policies:
    return Policies(tmp_path, opa_binary)


def asking(terms: str, more: str = "", *, before: str = "", quorum: int = 2) -> Callable[[dict[str, Any]], None]:
    """The pack holds on `terms`, with `more` rules; `limits.quorum` is in its table."""

    def change(files: dict[str, Any]) -> None:
        source = files[MODULE]
        start = source.index("# METADATA\n# title: Big amounts")
        files[MODULE] = (
            source[:start]
            + "# METADATA\n# title: Big amounts\nrequire_approval contains verdict if {\n"
            + f'\tinput.toolName == "one"\n{before}\tverdict := verdicts.hold_with("b", {terms})\n}}\n\n{more}'
        )
        files[DATA] = {**DATA_OF_P, "limits": {**DATA_OF_P["limits"], "quorum": quorum}}

    return change


def computed_from(parsed: ParsedBundle) -> list[str]:
    (ask,) = approval_asks(parsed)
    assert ask.terms is None
    return [name for name in ask.computed_from if not name.startswith(("aioc.lib.", "data aioc.lib."))]


BY_PERSONS = 'approvals.by_persons(["cfo"], {})'
LIMIT = "data.aioc.packs.p.limits.quorum"


@pytest.mark.parametrize(
    ("terms", "more", "before", "names"),
    [
        (BY_PERSONS.format("n"), "", f"\tn := {LIMIT}\n", ["data " + LIMIT.removeprefix("data.")]),
        (BY_PERSONS.format("_n"), "_n := 2 if input.turn > 1\n\n_n := 1 if input.turn <= 1\n", "", ["aioc.packs.p._n"]),
        (BY_PERSONS.format("_n"), "default _n := 1\n\n_n := 2 if input.turn > 1\n", "", ["aioc.packs.p._n"]),
        (BY_PERSONS.format("_n"), "_n := 2 if {\n\tinput.turn > 1\n} else := 1\n", "", ["aioc.packs.p._n"]),
        (BY_PERSONS.format("_n"), "_n := 2\n", "\tsome _n in [1, 3]\n", ["aioc.packs.p._n"]),
        (BY_PERSONS.format("_n"), "_n := 2\n", "\t_n := input.turn\n", ["aioc.packs.p._n"]),
        ("_terms(1)", f'_terms(x) := approvals.by_persons(["cfo"], _n(x))\n\n_n(x) := x + {LIMIT}\n', "",
         ["aioc.packs.p._n", "aioc.packs.p._terms", "data " + LIMIT.removeprefix("data.")]),
        (BY_PERSONS.format("count(helper.level(input.turn))"), "", "", ["aioc.packs.p.helper.level"]),
        (BY_PERSONS.format("data.aioc.packs.p.limits[input.agentName]"), "", "", ["data aioc.packs.p.limits"]),
        (BY_PERSONS.format("data.aioc.packs.p.limits.gone"), "", "", ["data aioc.packs.p.limits.gone"]),
        (BY_PERSONS.format("data.aioc.packs.p.limits.quorum.deeper"), "", "", ["data aioc.packs.p.limits.quorum"]),
        (BY_PERSONS.format("count(input.parsedArguments)"), "", "", []),
    ],
    ids=["table", "two-rules", "default", "else", "some", "assigned", "functions", "another-package", "any-entry",
         "absent", "below-a-value", "input"],
)  # fmt: skip
def test_what_is_computed_is_not_guessed_and_says_what_it_comes_from(
    policies: Policies, terms: str, more: str, before: str, names: list[str]
) -> None:
    found = policies.parsed(asking(terms, more, before=before))
    assert computed_from(found) == sorted([*names, RULES])
    (ask,) = approval_asks(found)
    text = terms_text(approval_document(ask))
    assert text.startswith("computed from: ")
    assert all(name in text for name in names)


@pytest.mark.parametrize(
    ("terms", "more", "before"),
    [
        (BY_PERSONS.format("_n"), "_n := 2\n", ""),
        ("terms", "", f"\tterms := {BY_PERSONS.format(2)}\n"),
        ("terms", "_n := 2\n", f"\tpersons := _n\n\tterms := {BY_PERSONS.format('persons')}\n"),
    ],
    ids=["constant", "variable", "both"],
)
def test_one_value_whatever_its_name_is_written_out(policies: Policies, terms: str, more: str, before: str) -> None:
    (ask,) = approval_asks(policies.parsed(asking(terms, more, before=before)))
    assert ask.terms is not None
    assert (ask.terms["quorum"], ask.computed_from) == (2, {})


def test_a_variable_that_is_not_the_rules_own_counts_for_nothing(policies: Policies) -> None:
    """In a comprehension it is another one, and what is assigned under `with` is not what the rule has."""
    inner = "\tmany := [n | n := 3]\n\tn := 2\n"
    replaced = "\tn := 2 with input.turn as 1\n"
    for before in (inner, replaced):
        found = policies.parsed(asking(BY_PERSONS.format("n"), before=before))
        assert computed_from(found) == [RULES]


def test_what_is_replaced_for_a_rule_makes_its_terms_computed(policies: Policies) -> None:
    fewer = "data.aioc.lib.approval_defaults.quorum"

    def change(files: dict[str, Any]) -> None:
        asking('approvals.by(["cfo"])')(files)
        files[MODULE] = files[MODULE].replace('by(["cfo"]))', f'by(["cfo"])) with {fewer} as 1')

    assert computed_from(policies.parsed(change)) == [RULES]


def changed(found: Any, name: str) -> list[tuple[str, ...]]:
    return [row for row in rows(found, TITLE) if row[2] == f"terms: {name}"]


def test_a_smaller_quorum_in_a_table_is_a_change_of_the_approval(policies: Policies) -> None:
    old, new = (policies.parsed(asking(BY_PERSONS.format(LIMIT), quorum=quorum)) for quorum in (2, 1))
    found = diff_document(old, new)
    assert [each["change"] for each in found["approvals"]] == ["changed"]
    (row,) = changed(found, "data aioc.packs.p.limits.quorum")
    assert row[3] != row[4]
    assert [row[2] for row in rows(found, TITLE)] == ["codes", "terms: data aioc.packs.p.limits.quorum"]


def test_a_smaller_quorum_in_a_rule_far_away_is_a_change_of_the_approval(policies: Policies) -> None:
    def far(quorum: int) -> Callable[[dict[str, Any]], None]:
        asks = asking(BY_PERSONS.format("_n"), "_n := helper.persons(input.turn)\n")

        def change(files: dict[str, Any]) -> None:
            asks(files)
            files[HELPER] += f"\npersons(turn) := {quorum} if turn > 0\n"

        return change

    found = diff_document(policies.parsed(far(2)), policies.parsed(far(1)))
    assert [row[2] for row in rows(found, TITLE)] == ["codes", "terms: aioc.packs.p.helper.persons"]


def test_an_import_that_makes_the_same_name_another_is_a_change_of_the_approval(policies: Policies) -> None:
    asks = asking(BY_PERSONS.format("count(helper.level(input.turn))"))

    def other(files: dict[str, Any]) -> None:
        asks(files)
        files[MODULE] = files[MODULE].replace(
            "import data.aioc.packs.p.helper", "import data.aioc.packs.p.other as helper"
        )

    found = diff_document(policies.parsed(asks), policies.parsed(other))
    assert [each["change"] for each in found["approvals"]] == ["changed"]


def test_what_the_terms_do_not_depend_on_changes_no_approval(policies: Policies) -> None:
    old = policies.parsed(asking(BY_PERSONS.format(LIMIT)))

    def change(files: dict[str, Any]) -> None:
        asking(BY_PERSONS.format(LIMIT))(files)
        files[DATA]["limits"]["most"] = 99
        files[MODULE] = files[MODULE].replace('verdict := verdicts.deny("a")', 'true\n\tverdict := verdicts.deny("a")')

    found = diff_document(old, policies.parsed(change))
    assert found["approvals"] == []
    assert found["rules"] != []
