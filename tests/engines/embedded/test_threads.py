"""A regorus engine belongs to one thread, and a panic breaks it for good."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
import regorus

from aioc_opa.core.engine_answer import EngineFailureError
from aioc_opa.core.reasons import Reason
from aioc_opa.engines import embedded
from aioc_opa.engines.embedded import EmbeddedEngine
from aioc_opa.errors import PolicyLoadError
from tests.engines.embedded.policies import ask, policy

if TYPE_CHECKING:
    from pathlib import Path

PANICS = 'decision := time.parse_duration_ns(input.text)\n\nother := {"code": input.text}\n'


def in_a_thread(function: Any) -> Any:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function).result()


def test_regorus_itself_panics_on_another_thread_with_what_is_no_exception() -> None:
    engine = regorus.Engine()
    engine.add_policy("m.rego", "package m\n\np := 1\n")

    def misuse() -> BaseException | None:
        try:
            engine.eval_rule("data.m.p")
        except BaseException as panic:  # noqa: BLE001 - the point of the test
            return panic
        return None

    panic = in_a_thread(misuse)
    assert type(panic).__name__ == "PanicException"
    assert not isinstance(panic, Exception)


def test_every_thread_has_an_engine_of_its_own_and_gets_the_same_answers() -> None:
    engine = EmbeddedEngine(policy('decision := {"code": input.code}\n'))
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda number: ask(engine, {"code": number}).result, range(200)))
    assert answers == [{"code": number} for number in range(200)]


def test_engines_of_finished_threads_go_with_them_and_none_is_dropped_by_another_thread() -> None:
    # regorus reports a drop on another thread as an unraisable error, which fails the test.
    engine = EmbeddedEngine(policy("decision := 1\n"))
    references = []

    def use() -> None:
        assert ask(engine).result == 1
        references.append(weakref.ref(embedded._threads.by_owner))

    for _ in range(5):
        thread = threading.Thread(target=use)
        thread.start()
        thread.join()
    gc.collect()
    assert [reference() for reference in references] == [None] * 5


def test_a_thread_drops_the_engines_of_closed_owners_when_it_asks_again() -> None:
    first, second = EmbeddedEngine(policy("decision := 1\n")), EmbeddedEngine(policy("decision := 2\n"))
    first.close()
    assert ask(second).result == 2
    assert first._owner not in embedded._threads.by_owner
    assert second._owner in embedded._threads.by_owner


def test_an_engine_that_nobody_holds_counts_as_closed() -> None:
    first, second = EmbeddedEngine(policy("decision := 1\n")), EmbeddedEngine(policy("decision := 2\n"))
    owner = first._owner
    del first
    gc.collect()
    assert ask(second).result == 2
    assert owner not in embedded._threads.by_owner


@pytest.mark.parametrize("rule", ["decision", "other"])
def test_the_traceback_of_a_deny_holds_no_engine_that_another_thread_could_drop(rule: str) -> None:
    engine = EmbeddedEngine(policy('decision := startswith(input.text, "a")\n\nother := 1 + input.text\n'))
    with pytest.raises(EngineFailureError) as caught:
        ask(engine, {"text": []}, rule=rule)
    assert not held_engines(caught.value)


def test_the_traceback_of_a_refused_policy_holds_none_either() -> None:
    for text in ("decision := {\n", "decision := upper(input.a)\n"):
        with pytest.raises(PolicyLoadError) as caught:
            EmbeddedEngine(policy(text))
        assert not held_engines(caught.value)


def held_engines(error: BaseException | None) -> list[Any]:
    held = []
    while error is not None:
        traceback = error.__traceback__
        while traceback is not None:
            held += [value for value in traceback.tb_frame.f_locals.values() if isinstance(value, regorus.Engine)]
            traceback = traceback.tb_next
        error = error.__cause__ or error.__context__
    return held


def test_two_engines_in_one_thread_do_not_disturb_each_other() -> None:
    first, second = EmbeddedEngine(policy("decision := 1\n")), EmbeddedEngine(policy("decision := 2\n"))
    assert [ask(first).result, ask(second).result, ask(first).result] == [1, 2, 1]


def test_an_engine_made_in_one_thread_works_in_another_that_outlives_it() -> None:
    engine = in_a_thread(lambda: EmbeddedEngine(policy("decision := 1\n")))
    assert ask(engine).result == 1


def test_a_panic_is_a_deny_and_the_next_question_has_a_new_engine() -> None:
    engine = EmbeddedEngine(policy(PANICS), unsafe_without_load_checks=True)
    before = embedded._threads.of(engine._owner)
    with pytest.raises(EngineFailureError) as caught:
        ask(engine, {"text": "1."})
    assert caught.value.reason is Reason.POLICY_EVALUATION_ERROR
    assert "PanicException" in caught.value.detail
    assert ask(engine, {"text": "1h"}).result == 3_600_000_000_000
    assert embedded._threads.of(engine._owner) is not before


FORK = """
import os
from aioc_opa.engines import embedded
from tests.engines.embedded.policies import ask, policy

engine = embedded.EmbeddedEngine(policy("decision := 1\\n"))
parents = embedded._threads.of(engine._owner)
child = os.fork()
if child == 0:
    own = embedded._threads.of(engine._owner) is not parents
    os._exit(7 if own and ask(engine).result == 1 else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
assert embedded._threads.of(engine._owner) is parents
"""


def test_a_forked_process_makes_its_own_engine(repository: Path) -> None:
    subprocess.run([sys.executable, "-c", FORK], cwd=repository, check=True)
