"""`FreshBundles` against a server that says what it is told: what is fresh, and everything else is rejected."""

from __future__ import annotations

import os
import threading
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa.bundle_freshness import FreshBundles
from aioc_opa.core.bundles.server_status import BundleFact, bundle_facts
from aioc_opa.errors import ConfigurationError, EngineConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable

REVISION = '{"tools":"7-x"}'


def ago(seconds: float) -> str:
    return (datetime.now(UTC) - timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


def tools(**others: Any) -> dict[str, Any]:
    found = {"name": "tools", "active_revision": "7-x", "type": "snapshot", "last_successful_request": ago(1)}
    return {"bundles": {"tools": {**found, **others}}}


class Server:
    """Says `answer`, or raises it."""

    def __init__(self, answer: Any, policies: tuple[str, ...] = ()) -> None:
        self.answer, self.policies, self.closed, self.asked = answer, policies, 0, 0

    def status(self) -> Any:
        self.asked += 1
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer

    def policy_ids(self) -> tuple[str, ...]:
        return self.policies

    def close(self) -> None:
        self.closed += 1


def gate(server: Server, **others: Any) -> FreshBundles:
    arguments = {"bundles": ["tools"], "max_age_seconds": 60, "refresh_seconds": 30, **others}
    return FreshBundles(lambda: server, **arguments)


def test_a_fresh_bundle_is_accepted_until_the_gate_is_closed() -> None:
    server = Server(tools())
    with gate(server) as fresh:
        assert fresh.refresh() == ()
        assert fresh.accepts(REVISION)
        assert not fresh.accepts(None)
        assert not fresh.accepts('{"other":"7-x"}')
        assert not fresh.accepts('{"other":"7-x","tools":"7-x"}')
    assert not fresh.accepts(REVISION)
    assert server.closed == 1
    assert fresh.refresh() == ("the gate is closed: nothing is accepted",)


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ({}, "is not at the server"),
        ({"bundles": []}, "is not at the server"),
        ({"bundles": {"tools": 7}}, "is not active, or is a delta bundle"),
        (tools(type="delta"), "is a delta bundle"),
        (tools(type=None), "is not active"),
        (tools(active_revision=None), "is not active"),
        (tools(last_successful_request=ago(61)), "last fetched more than 60 s ago"),
        (tools(last_successful_request=ago(-86_400)), "last fetched more than 60 s ago"),
        (tools(last_successful_request="0001-01-01T00:00:00Z"), "last fetched more than"),
        (tools(last_successful_request="lately"), "last fetched more than"),
        (tools(last_successful_request=None), "last fetched more than"),
        ({"bundles": {**tools()["bundles"], "more": {}}}, "was not expected"),
        (EngineConfigurationError("unauthorized"), "cannot be looked at: unauthorized"),
    ],
)
def test_anything_else_is_rejected_and_said(status: Any, said: str) -> None:
    with gate(Server(status)) as fresh:
        assert any(said in problem for problem in fresh.refresh())
        assert not fresh.accepts(REVISION)
        assert any(said in problem for problem in fresh.problems)


def test_a_server_that_cannot_be_asked_is_believed_until_what_is_known_is_too_old() -> None:
    server = Server(tools(last_successful_request=ago(0)))
    with gate(server, max_age_seconds=0.4, refresh_seconds=0.01) as fresh:
        fresh.refresh()
        server.answer = EngineConfigurationError("refused")
        fresh.refresh()
        assert fresh.accepts(REVISION)
        wait(lambda: not fresh.accepts(REVISION))
        server.answer = tools(last_successful_request=ago(0))
        wait(lambda: fresh.problems == ())


def test_an_error_in_fetching_is_an_alarm_at_once_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    with gate(Server(tools(code="bundle_error", message="bundle missing .signatures.json file"))) as fresh:
        assert fresh.refresh() == ("bundle 'tools': bundle_error: bundle missing .signatures.json file",)
        fresh.refresh()
        assert fresh.accepts(REVISION)
    assert sum("missing .signatures.json" in record.message for record in caplog.records) == 1


def refused(activated: float, **others: Any) -> dict[str, Any]:
    """Of a bundle that was fetched just now, as well signed, and cannot be activated."""
    now = ago(0)
    times = {"last_request": now, "last_successful_request": now, "last_successful_activation": ago(activated)}
    return tools(**times, code="bundle_error", message="does not compile", **others)


def test_a_bundle_that_is_fetched_and_not_activated_keeps_nothing_fresh() -> None:
    server = Server(tools())
    with gate(server, max_age_seconds=0.4, refresh_seconds=0.01) as fresh:

        def is_fetched() -> bool:
            server.answer = tools(last_successful_request=ago(0))
            fresh.refresh()
            return fresh.accepts(REVISION)

        def is_refused() -> bool:
            server.answer = refused(3600)
            fresh.refresh()
            return not fresh.accepts(REVISION)

        wait(is_fetched)
        wait(is_refused)
        server.answer = tools(last_successful_request=ago(0), last_request=ago(-1), code="bundle_error", message="down")
        fresh.refresh()  # the last one that was fetched is still none that decides
        assert not fresh.accepts(REVISION)
        assert any("was last fetched more than" in problem for problem in fresh.problems)


def test_what_was_fresh_stays_so_for_its_time_when_the_next_bundle_is_not_activated() -> None:
    server = Server(tools())
    with gate(server) as fresh:
        assert fresh.refresh() == ()
        server.answer = refused(3600)
        assert fresh.refresh() == ("bundle 'tools': bundle_error: does not compile",)
        assert fresh.accepts(REVISION)


@pytest.mark.parametrize(("activated", "accepted"), [(1, True), (61, False)])
def test_a_gate_that_begins_then_goes_by_the_last_activation(activated: float, accepted: bool) -> None:
    with gate(Server(refused(activated))) as fresh:
        fresh.refresh()
        assert fresh.accepts(REVISION) is accepted
    with gate(Server(refused(1) | {"bundles": {"tools": {"code": "x"}}})) as fresh:
        fresh.refresh()
        assert not fresh.accepts(REVISION)


def test_a_fault_of_the_client_ends_neither_the_thread_nor_the_caution(caplog: pytest.LogCaptureFixture) -> None:
    server = Server(KeyError("x"))
    with gate(server, refresh_seconds=0.01) as fresh:
        wait(lambda: server.asked > 2)
        assert not fresh.accepts(REVISION)
    assert "could not be judged" in caplog.text


def test_a_module_that_no_bundle_brought_is_rejected_where_policies_are_looked_at() -> None:
    server = Server(tools(), policies=("tools/aioc/a.rego", "toolsy/a.rego", "beside"))
    with gate(server, policies=True) as fresh:
        assert [problem.split("'")[1] for problem in fresh.refresh()] == ["beside", "toolsy/a.rego"]
        assert not fresh.accepts(REVISION)


def test_a_forked_child_believes_nothing_until_it_has_asked_for_itself() -> None:
    server = Server(tools())
    with gate(server) as fresh:
        fresh.refresh()
        fresh._pid = os.getpid() + 1  # as in a child
        before = threading.active_count()
        fresh.accepts(REVISION)
        assert threading.active_count() == before + 1
        wait(lambda: fresh.accepts(REVISION))


@pytest.mark.parametrize(
    "wrong",
    [
        {"bundles": []},
        {"bundles": "tools"},
        {"bundles": [""]},
        {"max_age_seconds": 30},
        {"refresh_seconds": 0},
        {"max_age_seconds": float("nan")},
        {"max_age_seconds": float("inf")},
    ],
)
def test_settings_that_cannot_be_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        gate(Server(tools()), **wrong)


def test_the_facts_of_a_bundle_keep_nanoseconds_out_and_errors_short() -> None:
    status = tools(last_successful_request="2026-12-01T01:30:10.85632798Z", code="bundle_error", message="x" * 9999)
    (fact,) = bundle_facts(status)
    assert fact.fetched_at == datetime(2026, 12, 1, 1, 30, 10, 856327, tzinfo=UTC)
    assert len(fact.error or "") == 500
    assert bundle_facts({"bundles": {"a": None}}) == (
        BundleFact("a", None, is_whole=False, error="the status is not what OPA's is"),
    )


def wait(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.005)
