"""Gates by name and by counter: exactly the bundles that were named, each with a revision that counts."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from aioc_opa.core.canonical_json import canonical_text
from aioc_opa.errors import ConfigurationError
from aioc_opa.revision_gate import UnsafeAnyRevision
from aioc_opa.revision_gates import AllOf, MinimumCounters, NamedRevisions, revisions_of

if TYPE_CHECKING:
    from aioc_opa.revision_gate import RevisionGate

ONE, OTHER = "1" * 64, "2" * 64


def revision(**bundles: str) -> str:
    return canonical_text(bundles)


GATES = [
    NamedRevisions({"tools": [f"7-{ONE}"]}),
    MinimumCounters({"tools": 7}),
    MinimumCounters({"tools": 7}, remember=False),
    AllOf(UnsafeAnyRevision(), MinimumCounters({"tools": 7})),
]


@pytest.mark.parametrize("gate", GATES)
def test_the_named_bundle_is_accepted_and_any_other_set_is_rejected(gate: RevisionGate) -> None:
    assert gate.accepts(revision(tools=f"7-{ONE}")) is True
    assert gate.accepts(revision(tools=f"7-{ONE}", extra=f"9-{ONE}")) is False
    assert gate.accepts(revision(other=f"7-{ONE}")) is False
    assert gate.accepts(None) is False
    assert gate.accepts(revision(tools="")) is False
    assert gate.accepts("{}") is False
    assert gate.accepts("nonsense") is False
    assert gate.accepts("[]") is False
    assert gate.accepts('{"tools": 7}') is False


def test_a_rollback_below_the_minimum_is_rejected() -> None:
    gate = MinimumCounters({"tools": 7})
    assert not gate.accepts(revision(tools=f"6-{ONE}"))
    assert gate.accepts(revision(tools=f"8-{OTHER}"))


def test_an_accepted_counter_never_goes_back_nor_gets_other_content() -> None:
    gate = MinimumCounters({"tools": 0})
    assert gate.accepts(revision(tools=f"8-{ONE}"))
    assert gate.accepts(revision(tools=f"8-{ONE}"))
    assert not gate.accepts(revision(tools=f"7-{ONE}"))
    assert not gate.accepts(revision(tools=f"8-{OTHER}"))
    assert gate.accepts(revision(tools=f"9-{ONE}"))
    forgetful = MinimumCounters({"tools": 0}, remember=False)
    assert all(forgetful.accepts(revision(tools=f"{counter}-{ONE}")) for counter in (8, 7))


def test_one_bundle_that_goes_back_rejects_all_and_teaches_nothing() -> None:
    gate = MinimumCounters({"a": 0, "b": 0})
    assert gate.accepts(revision(a=f"5-{ONE}", b=f"5-{ONE}"))
    assert not gate.accepts(revision(a=f"9-{ONE}", b=f"4-{ONE}"))
    assert gate.accepts(revision(a=f"6-{ONE}", b=f"5-{ONE}"))


@pytest.mark.parametrize(
    "text",
    [
        "7",
        f"07-{ONE}",
        f"7-{ONE[:-1]}",
        f"7-{ONE}0",
        f"-7-{ONE}",
        f"7-{'A' * 64}",
        f"9007199254740993-{ONE}",
        f"٧-{ONE}",
    ],
)
def test_what_is_not_counter_and_digest_has_no_counter(text: str) -> None:
    assert not MinimumCounters({"tools": 0}).accepts(revision(tools=text))


def test_all_of_asks_in_order_and_learns_only_from_what_the_others_accept() -> None:
    counters = MinimumCounters({"tools": 0})
    gate = AllOf(NamedRevisions({"tools": [f"7-{ONE}"]}), counters)
    assert not gate.accepts(revision(tools=f"9-{ONE}"))
    assert gate.accepts(revision(tools=f"7-{ONE}"))


def test_a_gate_that_answers_something_else_than_true_rejects() -> None:
    class Truthy:
        def accepts(self, policy_revision: str | None) -> bool:
            return 1  # type: ignore[return-value]  # what a mock or a careless gate gives

    assert AllOf(Truthy()).accepts(revision(tools=f"7-{ONE}")) is False


@pytest.mark.parametrize(
    "make",
    [
        lambda: NamedRevisions({}),
        lambda: NamedRevisions({"tools": []}),
        lambda: NamedRevisions({"tools": [""]}),
        lambda: NamedRevisions({"": [f"7-{ONE}"]}),
        lambda: MinimumCounters({}),
        lambda: MinimumCounters({"tools": -1}),
        lambda: MinimumCounters({"tools": True}),
        lambda: MinimumCounters({"": 1}),
        lambda: MinimumCounters({"tools": 2**53}),
        AllOf,
        lambda: AllOf(object()),
    ],
)
def test_a_gate_that_names_nothing_is_refused(make: object) -> None:
    with pytest.raises(ConfigurationError):
        make()  # type: ignore[operator]  # a lambda


def test_a_single_text_is_one_revision_and_not_its_letters() -> None:
    assert NamedRevisions({"local": "sha256:ab"}).accepts(revision(local="sha256:ab"))


def test_many_threads_see_one_order() -> None:
    gate = MinimumCounters({"tools": 0})
    texts = [revision(tools=f"{counter}-{ONE}") for counter in range(200)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(gate.accepts, texts))
    assert not gate.accepts(texts[0])
    assert gate.accepts(texts[-1])


def test_the_revisions_in_a_text() -> None:
    assert revisions_of(revision(a="1", b="2")) == {"a": "1", "b": "2"}
    assert revisions_of('{"a":"1","a":"2"}') is None
