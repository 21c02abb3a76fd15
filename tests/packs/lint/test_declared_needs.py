"""One hostile module a lint rule: declared needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.packs.lint.linter import HEAD, SOUND

if TYPE_CHECKING:
    from tests.packs.lint.linter import Linter


@pytest.mark.parametrize(
    "statements",
    [
        ("input.runContext.context.frozen",),
        ("input.runContext.context.user.name",),
        ("input.runContext.context.user.tier.deeper",),
        ("some item in input.runContext.context.items", "item.price > 5"),
        ("input.runContext.context.items[0].price > 5",),
        ("user := input.runContext.context.user", "user.name"),
        ("some key, price in input.runContext.context.prices", "price.amount"),
        ("input.runContext.context.open[input.toolName].below",),
        ("context := input.runContext.context", "user := context.user", "user.name"),
    ],
)
def test_context_undeclared(lint: Linter, statements: tuple[str, ...]) -> None:
    assert set(lint.body(*statements)) == {"context-undeclared"}


def test_context_undeclared_through_a_rule_of_the_package(lint: Linter) -> None:
    lint.write({"mine.rego": f"{HEAD}{SOUND}\n_user := input.runContext.context.user\n\n_helper if _user.name\n"})
    assert lint.rules() == ["context-undeclared"]


@pytest.mark.parametrize(
    "statements",
    [
        ("input.runContext.context",),
        ("input.runContext.context.user.tier",),
        ("some item in input.runContext.context.items", "item.sku"),
        ("input.runContext.context.items[0].sku",),
        ("some key, price in input.runContext.context.prices", "price > 5"),
        ("input.runContext.context.prices[input.toolName] > 5",),
        ("some entry in input.runContext.context.open", "entry"),
        ("some key in input.turn", "input.runContext.context[key].tier"),
    ],
)
def test_context_that_is_declared(lint: Linter, statements: tuple[str, ...]) -> None:
    assert lint.body(*statements) == []


@pytest.mark.parametrize(
    "statement",
    [
        "data.other.table",
        "data.aioc.owners[input.toolName]",
        "data.aioc.packs.other.deny",
        "data.aioc.packs.mine.unknown",
    ],
)
def test_data_undeclared(lint: Linter, statement: str) -> None:
    assert lint.body(statement) == ["data-undeclared"]


def test_data_that_is_declared_or_the_packs_own(lint: Linter) -> None:
    assert (
        lint.body(
            "data.limits.refund > 1",
            "data.aioc.packs.mine.table[input.toolName]",
            "data.aioc.packs.mine.loaded",
            "_own",
        )
        == []
    )
