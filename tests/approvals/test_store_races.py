"""Once means once between processes (issue 4); `make torture` does the same 10,000 times."""

from __future__ import annotations

import threading
from contextlib import closing

from aioc_opa.approvals.stores import open_store
from tests.approvals.racing import opened_of_one_call, opened_under_cap, races, used_or_revoked
from tests.approvals.store_cases import SqlCase, approved, intent_for


def test_of_processes_racing_for_a_grant_or_a_call_exactly_one_wins(sql_target: str) -> None:
    assert races(sql_target, count=20, processes=2).violations(20) == []


def test_of_a_use_and_a_revocation_by_two_processes_exactly_one_wins(sql_target: str) -> None:
    used, revoked = used_or_revoked(sql_target, count=10)
    assert len(used) + len(revoked) == len({*used, *revoked}) == 10


def test_caps_hold_when_processes_open_at_once(sql_target: str) -> None:
    assert opened_under_cap(sql_target, cap=7, processes=2, each=8) == 7


def test_equal_calls_of_two_processes_share_one_request(sql_target: str) -> None:
    assert len(opened_of_one_call(sql_target, processes=2)) == 1


def test_of_threads_on_one_store_exactly_one_wins(sql_case: SqlCase) -> None:
    store = sql_case.store
    for number in range(3):
        new = approved(store, call_id=str(number))
        won: list[bool] = []

        def go() -> None:
            intent = intent_for(new)  # noqa: B023 - joined below, in the same turn
            store.intend(intent)
            won.append(store.consume(intent).moved)  # noqa: B023 - likewise

        threads = [threading.Thread(target=go) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(won) == [False] * 5 + [True]


def test_two_stores_make_the_schema_at_once(sql_target: str) -> None:
    failures: list[BaseException] = []

    def go() -> None:
        try:
            with closing(open_store(sql_target)) as store:
                store.now_ms()
        except BaseException as problem:  # noqa: BLE001 - asserted below
            failures.append(problem)

    threads = [threading.Thread(target=go) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
