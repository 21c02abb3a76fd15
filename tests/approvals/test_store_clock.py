"""A clock that steps back gives nothing its time again: an expiry that was seen once stays (design 3.5).

A server's clock is set, or another server takes over after a failover. The stores read the clock in SQL, so the tests
give each database one that they can set.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa.approvals import sql_statements
from aioc_opa.approvals.sql_store import SqlApprovalStore
from aioc_opa.core.approvals.states import OPEN, ApprovalEvent, ApprovalState
from aioc_opa.storage.database import NOW_MS, Database
from tests.approvals.store_cases import CAPS, TERMS, SqlCase, approve, intent_for, new_approval, signed_vote
from tests.approvals.treasury import CALL, Treasury

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from aioc_opa.approvals.records import NewApproval
    from aioc_opa.approvals.store import ApprovalStore
    from aioc_opa.engines.protocol import Engine
    from tests.approvals.store_cases import StoreCase

S, E = ApprovalState, ApprovalEvent
START = 1_790_000_000_000
OVER = START + TERMS.ttl_seconds * 1000


def forget_statements() -> None:
    """Statements are kept with the clock that they were made with."""
    for made in vars(sql_statements).values():
        if hasattr(made, "cache_clear"):
            made.cache_clear()


def sql_clock(case: SqlCase, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], None]]:
    case.sql("CREATE TABLE aioc_test_clock (at BIGINT NOT NULL)")
    case.sql(f"INSERT INTO aioc_test_clock VALUES ({START})")  # noqa: S608 - a number of ours
    monkeypatch.setitem(NOW_MS, case.store.name, "(SELECT at FROM aioc_test_clock)")  # type: ignore[arg-type] # a dialect
    forget_statements()
    yield lambda at: case.sql("UPDATE aioc_test_clock SET at = :at", at=at)
    forget_statements()
    case.sql("DROP TABLE aioc_test_clock")


def memory_clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], None]]:
    now = [START]
    monkeypatch.setattr("aioc_opa.approvals.memory_store._now_ms", lambda: now[0])
    yield lambda at: now.__setitem__(0, at)


@pytest.fixture
def set_clock(case: StoreCase, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], None]]:
    """Sets the clock of the store, which begins at `START`."""
    yield from (sql_clock(case, monkeypatch) if isinstance(case, SqlCase) else memory_clock(monkeypatch))


def opened(store: ApprovalStore, **changes: Any) -> NewApproval:
    new = new_approval(**changes)
    assert store.open(new, CAPS).kind == "opened"
    return new


def vote(store: ApprovalStore, new: NewApproval) -> Any:
    return store.vote("acme", new.approval_id, signed_vote(), lambda _: E.APPROVE)


def consume(store: ApprovalStore, new: NewApproval) -> Any:
    intent = intent_for(new)
    store.intend(intent)
    return store.consume(intent)


LOOKS: dict[str, Callable[[ApprovalStore, NewApproval], Any]] = {
    "get": lambda store, new: store.get("acme", new.approval_id),
    "get without arguments": lambda store, new: store.get("acme", new.approval_id, payload=False),
    "find": lambda store, _: store.find(None, frozenset(ApprovalState), 9),
    "open": lambda store, new: store.open(new_approval(call_id=new.bindings.call_id), CAPS),
    "vote": vote,
    "end": lambda store, new: store.end("acme", new.approval_id, E.REVOKE, "p-lee", "why"),
    "consume": consume,
    "purge": lambda store, _: store.purge_payloads("acme", OVER + 1000),
    "erase": lambda store, new: store.erase("acme", new.approval_id),
}


@pytest.mark.parametrize("was", ["pending", "approved"])
@pytest.mark.parametrize("look", LOOKS)
def test_an_expiry_that_was_seen_once_stays_when_the_clock_steps_back(
    case: StoreCase, set_clock: Callable[[int], None], look: str, was: str
) -> None:
    store = case.store
    new = opened(store)
    if was == "approved":
        approve(store, new)
    set_clock(OVER + 500)
    LOOKS[look](store, new)
    set_clock(START + 1)
    record = store.get("acme", new.approval_id)
    assert record is not None
    assert (record.state, record.ended_at_ms, record.ended_by, record.end_reason) == (S.EXPIRED, OVER, "expiry", None)
    moved = consume(store, new)
    assert (moved.moved, moved.record.state) == (False, S.EXPIRED)
    assert not vote(store, new).moved
    for event in (E.EXPIRE, E.DISMISS, E.REVOKE):
        assert not store.end("acme", new.approval_id, event, "p-lee", "why").moved
    assert [r.approval_id for r in store.find("acme", {S.EXPIRED}, 9)] == [new.approval_id]
    assert new.approval_id not in [r.approval_id for r in store.find("acme", OPEN, 9)]
    case.put_back(new.approval_id, S.APPROVED)
    assert store.get("acme", new.approval_id) == record


def test_a_clock_that_steps_back_before_anybody_looks_takes_nothing(
    case: StoreCase, set_clock: Callable[[int], None]
) -> None:
    store, new = case.store, opened(case.store)
    approve(store, new)
    set_clock(START - 60_000)
    assert [r.approval_id for r in store.find("acme", OPEN, 9)] == [new.approval_id]
    assert consume(store, new).moved


def test_a_use_or_an_end_before_the_expiry_is_not_made_one(case: StoreCase, set_clock: Callable[[int], None]) -> None:
    store = case.store
    used, revoked, waited = (opened(store, call_id=name) for name in "123")
    approve(store, used)
    approve(store, revoked)
    assert consume(store, used).moved
    assert store.end("acme", revoked.approval_id, E.REVOKE, "p-lee", "why").moved
    assert store.end("acme", waited.approval_id, E.EXPIRE, "runtime", "gave up").moved
    everything = frozenset(ApprovalState)
    before = store.find("acme", everything, 9)
    set_clock(OVER + 500)
    assert store.find("acme", everything, 9) == before
    assert [record.state for record in before] == [S.CONSUMED, S.REVOKED, S.EXPIRED]


def test_one_request_of_a_call_is_open_after_the_clock_stepped_back(
    case: StoreCase, set_clock: Callable[[int], None]
) -> None:
    store = case.store
    opened(store)
    set_clock(OVER)
    second = opened(store)
    set_clock(START + 1)
    again = store.open(new_approval(), CAPS)
    assert (again.kind, again.record and again.record.approval_id) == ("existing", second.approval_id)
    assert [r.approval_id for r in store.find("acme", OPEN, 9)] == [second.approval_id]


def test_the_latest_time_at_which_somebody_looked_counts_for_a_use(
    sql_case: SqlCase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a failover to a server whose clock is behind, when only the access log knows of the later time."""
    clock = sql_clock(sql_case, monkeypatch)
    set_clock = next(clock)
    store, new = sql_case.store, opened(sql_case.store)
    other = opened(store, call_id="2")
    approve(store, new)
    approve(store, other)
    set_clock(OVER)
    store.log_access("acme", new.approval_id, "p-lee", "show")
    store.log_access("other", other.approval_id, "p-lee", "show")  # of another tenant: says nothing
    set_clock(START + 1)
    moved = consume(store, new)
    assert (moved.moved, moved.record.state) == (False, S.EXPIRED)
    assert consume(store, other).moved
    assert next(clock, None) is None


def test_who_may_not_write_lists_what_has_expired(postgres_schema_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(SqlApprovalStore(Database.open(postgres_schema_url))) as store:
        case = SqlCase(store, postgres_schema_url)
        clock = sql_clock(case, monkeypatch)
        set_clock = next(clock)
        opened(store)
        set_clock(OVER)
        case.sql(
            "CREATE TRIGGER refused BEFORE INSERT ON aioc_approval_endings "
            "FOR EACH STATEMENT EXECUTE FUNCTION aioc_insert_only()"
        )
        assert [r.state for r in store.find(None, frozenset(ApprovalState), 9)] == [S.EXPIRED]
        assert store.find(None, OPEN, 9) == []
        assert case.sql("SELECT count(*) FROM aioc_approval_endings") == [0]
        assert next(clock, None) is None


def test_genuine_votes_yield_no_permit_when_the_clock_has_stepped_back(
    case: StoreCase, set_clock: Callable[[int], None], treasury_engines: dict[str, Engine]
) -> None:
    treasury = Treasury(engine=treasury_engines["embedded"], store=case.store)
    guard = treasury.guard()
    approval_id = treasury.held(guard)
    treasury.vote(approval_id)
    set_clock(treasury.record(approval_id).expires_at_ms)
    options = {"principal": CALL["principal"], "run_context": CALL["run_context"]}
    assert guard.authorize_resume(approval_id, **options).code == "approval_expired"
    set_clock(START + 1)
    assert guard.authorize_resume(approval_id, **options).code == "approval_expired"
    assert treasury.effects == []
