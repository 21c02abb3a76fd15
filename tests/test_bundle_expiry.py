"""`UnexpiredRevisions`: a revision counts until its publisher's signed statement says it has expired."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from aioc_opa.bundle_expiry import UnexpiredRevisions
from aioc_opa.core.canonical_json import canonical_text
from aioc_opa.errors import ConfigurationError
from aioc_opa.guard import ToolGuard
from aioc_opa.models.bundle_statement import BundleStatement
from aioc_opa.models.outcome import Denied
from aioc_opa.revision_gates import AllOf, MinimumCounters
from tests.doubles import ScriptedEngine, allowing

ONE, OTHER = "1" * 64, "2" * 64
END = datetime(2027, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def statement(**others: Any) -> dict[str, Any]:
    found = {"version": 1, "name": "tools", "counter": 7, "minimumCounter": 0, "digest": ONE, "owners": ["o"]}
    return {**found, "expiresAt": "2027-01-01T00:00:00Z", **others}


def revision(**bundles: str) -> str:
    return canonical_text(bundles)


SEVEN, EIGHT = f"7-{ONE}", f"8-{OTHER}"


class Clock:
    def __init__(self, now: datetime = END - SECOND) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


def test_a_revision_counts_until_the_moment_of_its_expiry_by_the_clock_of_the_gate() -> None:
    clock = Clock()
    gate = UnexpiredRevisions([statement()], clock=clock)
    assert gate.accepts(revision(tools=SEVEN)) is True
    clock.now = END
    assert gate.accepts(revision(tools=SEVEN)) is False


def test_an_expired_revision_is_policy_revision_rejected_in_a_decision_also_inside_all_of() -> None:
    clock = Clock()
    gate = AllOf(UnexpiredRevisions([statement()], clock=clock), MinimumCounters({"tools": 7}))
    guard = ToolGuard(ScriptedEngine(allowing, revision=revision(tools=SEVEN)), revision_gate=gate)
    guard.register_json_schema("act", {"type": "object"}, lambda _: "done")
    assert guard.call("act", "{}", agent_name="a") == "done"
    clock.now = END
    outcome = guard.authorize("act", "{}", agent_name="a")
    assert isinstance(outcome, Denied)
    assert outcome.code == "policy_revision_rejected"


def test_a_revision_without_a_statement_another_set_and_none_are_rejected() -> None:
    gate = UnexpiredRevisions([statement()], clock=Clock())
    for text in (
        None,
        "{}",
        "nonsense",
        revision(tools=EIGHT),
        revision(tools=f"8-{ONE}"),
        revision(other=SEVEN),
        revision(tools=SEVEN, more=SEVEN),
        revision(tools=""),
    ):
        assert gate.accepts(text) is False


def test_every_bundle_must_be_unexpired() -> None:
    later = statement(name="airline", expiresAt="2028-01-01T00:00:00Z")
    clock = Clock()
    gate = UnexpiredRevisions([statement(), later], clock=clock)
    both = revision(airline=SEVEN, tools=SEVEN)
    assert gate.accepts(both)
    clock.now = END
    assert not gate.accepts(both)


def test_an_update_counts_beside_what_it_follows_unless_it_withdraws_it() -> None:
    newer = statement(counter=8, digest=OTHER, expiresAt=None)
    gate = UnexpiredRevisions([statement(), newer], clock=Clock())
    assert gate.accepts(revision(tools=SEVEN))
    assert gate.accepts(revision(tools=EIGHT))
    gate = UnexpiredRevisions([statement(), {**newer, "minimumCounter": 8}], clock=Clock())
    assert not gate.accepts(revision(tools=SEVEN))
    assert gate.accepts(revision(tools=EIGHT))
    never = UnexpiredRevisions([newer], clock=Clock(datetime(9999, 1, 1, tzinfo=UTC)))
    assert never.accepts(revision(tools=EIGHT))


def test_of_two_expiries_of_one_revision_the_first_holds() -> None:
    later = statement(expiresAt="2028-01-01T00:00:00Z")
    for statements in ([statement(), later], [later, statement()], [{**later, "expiresAt": None}, statement()]):
        assert not UnexpiredRevisions(statements, clock=Clock(END)).accepts(revision(tools=SEVEN))


def test_a_bundle_has_the_name_that_the_engine_calls_it_by() -> None:
    gate = UnexpiredRevisions([statement()], called={"tools": "local"}, clock=Clock())
    assert gate.accepts(revision(local=SEVEN))
    assert not gate.accepts(revision(tools=SEVEN))
    two = [statement(), statement(name="more")]
    for called in ({"other": "local"}, {"tools": "more"}, {"tools": "x", "more": "x"}):
        with pytest.raises(ConfigurationError, match="called"):
            UnexpiredRevisions(two, called=called)


@pytest.mark.parametrize(
    "wrong",
    [
        {"expiresAt": "SECRET"},
        {"expiresAt": 7},
        {"expiresAt": "2027-01-01T00:00:00"},
        {"expires_at": "2027-01-01T00:00:00Z"},
        {"counter": -1},
        {"counter": "SECRET"},
        {"digest": ONE.upper() + "SECRET"},
        {"minimumCounter": 8},
        {"name": "SECRET"},
        {"owners": []},
        {"more": "SECRET"},
        {"version": 2},
    ],
)
def test_a_malformed_statement_makes_no_gate_and_is_not_shown(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="statements: ") as caught:
        UnexpiredRevisions([statement(), statement(**wrong)])
    assert "SECRET" not in str(caught.value)


def test_a_model_that_was_made_without_validation_is_validated() -> None:
    sound = BundleStatement.model_validate(statement(), by_alias=True)
    assert UnexpiredRevisions([sound], clock=Clock()).accepts(revision(tools=SEVEN))
    for changes in ({"expires_at": "never"}, {"expires_at": 9}, {"counter": None}, {"digest": ""}):
        with pytest.raises(ConfigurationError):
            UnexpiredRevisions([sound.model_copy(update=changes)])
    for nothing in ([], [None], ["tools"], [[]]):
        with pytest.raises(ConfigurationError):
            UnexpiredRevisions(nothing)  # type: ignore[arg-type]  # what a careless caller gives


def test_a_clock_without_an_offset_or_that_fails_accepts_nothing() -> None:
    assert not UnexpiredRevisions([statement()], clock=Clock(datetime(2026, 1, 1))).accepts(revision(tools=SEVEN))  # noqa: DTZ001 - the point

    def broken() -> datetime:
        raise OSError

    guard = ToolGuard(
        ScriptedEngine(allowing, revision=revision(tools=SEVEN)),
        revision_gate=UnexpiredRevisions([statement()], clock=broken),
    )
    guard.register_json_schema("act", {"type": "object"}, lambda _: "done")
    assert getattr(guard.authorize("act", "{}", agent_name="a"), "code", None) == "policy_revision_rejected"


def report(**others: Any) -> dict[str, Any]:
    checks = [{"check": "signature", "ok": True, "text": ""}, {"check": "expiry", "ok": True, "text": ""}]
    return {
        "ok": True,
        "bundles": [{"bundle": "b", "checks": checks, "statement": statement()}],
        "together": [],
        **others,
    }


def test_a_report_of_verify_makes_a_gate_only_where_everything_held_and_signatures_were_verified() -> None:
    assert UnexpiredRevisions.from_report(json.dumps(report()), clock=Clock()).accepts(revision(tools=SEVEN))
    (bundle,) = report()["bundles"]
    unsigned = {**bundle, "checks": [{"check": "signature", "ok": None, "text": "not verified"}]}
    for wrong in (
        report(ok=False),
        report(ok="true"),
        report(bundles=[]),
        report(bundles={}),
        report(bundles=[unsigned]),
        report(bundles=[bundle, unsigned]),
        report(bundles=[{**bundle, "checks": 7}]),
        report(bundles=[{**bundle, "statement": None}]),
        report(bundles=[{**bundle, "statement": statement(expiresAt="soon")}]),
        report(bundles=["b"]),
        [],
    ):
        with pytest.raises(ConfigurationError):
            UnexpiredRevisions.from_report(json.dumps(wrong))
    with pytest.raises(ConfigurationError, match="is not what"):
        UnexpiredRevisions.from_report(b"{")
