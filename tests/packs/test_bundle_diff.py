"""`bundle diff` hides nothing: each kind of change has its words, and different content is never no difference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aioc_opa.packs.bundle_diff import diff_document

if TYPE_CHECKING:
    from aioc_opa.packs.bundle_parsed import ParsedBundle
from tests.packs.bundle_diff_cases import HELPER, MODULE, OTHER, Policies, edit, others, rows

LOW = ' else := "low" if {\n\tturn > 1\n}'


def test_an_import_that_becomes_another_is_listed_and_so_is_every_rule_that_uses_it(
    policies: Policies, before: ParsedBundle
) -> None:
    after = policies.parsed(edit(MODULE, "import data.aioc.packs.p.helper", "import data.aioc.packs.p.other as helper"))
    found = diff_document(before, after)
    assert rows(found, "Imports") == [
        ("removed", MODULE, "data.aioc.packs.p.helper"),
        ("added", MODULE, "data.aioc.packs.p.other as helper"),
    ]
    assert [(each["change"], each["title"]) for each in found["rules"]] == [("changed", "Second one")]
    assert others(found, "imports", "rules") == {}


def test_an_import_that_nothing_uses_is_listed(policies: Policies, before: ParsedBundle) -> None:
    after = policies.parsed(
        edit(HELPER, "package aioc.packs.p.helper\n", "package aioc.packs.p.helper\n\nimport input.turn as unused\n")
    )
    assert rows(diff_document(before, after), "Imports") == [("added", HELPER, "input.turn as unused")]
    assert rows(diff_document(after, before), "Imports") == [("removed", HELPER, "input.turn as unused")]


def test_else_branches_in_another_order_are_listed_with_the_old_and_the_new_order(
    policies: Policies, before: ParsedBundle
) -> None:
    """The parts of the chain are the same; the first that holds decides."""
    swapped = """package aioc.packs.p.helper

level(turn) := "high" if {
\tturn > 10
} else := "low" if {
\tturn > 1
} else := "middle" if {
\tturn > 5
}
"""

    def change(files: dict[str, Any]) -> None:
        files[HELPER] = swapped

    found = diff_document(before, policies.parsed(change))
    assert others(found, "elseOrder") == {}
    assert [row[2:] for row in rows(found, "Order of else branches")] == [
        ("1", 'level(turn) := "high" if { ⏎ turn > 10 ⏎ }', 'level(turn) := "high" if { ⏎ turn > 10 ⏎ }'),
        ("2", 'else := "middle" if { ⏎ turn > 5 ⏎ }', 'else := "low" if { ⏎ turn > 1 ⏎ }'),
        ("3", 'else := "low" if { ⏎ turn > 1 ⏎ }', 'else := "middle" if { ⏎ turn > 5 ⏎ }'),
    ]


def test_a_chain_that_loses_a_branch_and_one_that_goes_are_listed(policies: Policies, before: ParsedBundle) -> None:
    found = diff_document(before, policies.parsed(edit(OTHER, LOW, "")))
    assert [(each["change"], len(each["before"]), len(each["after"])) for each in found["elseOrder"]] == [
        ("changed", 3, 2)
    ]
    assert [(each["change"], each["before"], each["after"]) for each in found["rules"]] == [
        ("removed", LOW.strip(), None)
    ]
    found = diff_document(before, policies.parsed(lambda files: files.pop(OTHER)))
    assert [row[0] for row in rows(found, "Order of else branches")] == ["removed"] * 3
    assert ("removed", OTHER) in [row[:2] for row in rows(found, "Files, with their SHA-256")]
