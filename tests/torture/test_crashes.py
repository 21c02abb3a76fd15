"""kill -9 at every point between approval and effect (issue 4): nothing runs twice, and the store says what may have run.

The order is recheck, durable intent, consume, run, end (design 3.5). A process is killed before, inside (before its
commit) and after each of these steps, and in the handler on either side of the effect; another process tries again.
"""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pytest
from typer.testing import CliRunner

from aioc_opa.approvals.stores import open_store
from aioc_opa.cli.main import app
from aioc_opa.core.approvals.states import ApprovalState
from tests.cli.approvals_office import Office
from tests.torture.crashing import asked_anew, killed_at
from tests.torture.vault import Vault, effects

if TYPE_CHECKING:
    from collections.abc import Iterable

pytestmark = pytest.mark.torture


class After(NamedTuple):
    """What must hold once a process was killed at a point, and another has tried again."""

    had_effect: bool
    """before the second try"""
    runs_again: bool
    left: list[bool]
    """of each effect without an end: whether it may have run"""


UNTOUCHED: Final = After(had_effect=False, runs_again=True, left=[])
INTENDED: Final = After(had_effect=False, runs_again=True, left=[False])
USED_UP: Final = After(had_effect=False, runs_again=False, left=[True])
HAPPENED: Final = After(had_effect=True, runs_again=False, left=[True])
ENDED: Final = After(had_effect=True, runs_again=False, left=[])

IN_THE_HANDLER: Final = {
    "handler before its effect": USED_UP,
    "handler after its effect": HAPPENED,
    "before finish": HAPPENED,
    "inside finish": HAPPENED,
    "after finish": ENDED,
}
APPROVED: Final = {
    "before log_access": UNTOUCHED,
    "before intend": UNTOUCHED,
    "inside intend": UNTOUCHED,
    "after intend": INTENDED,
    "inside consume": INTENDED,
    "after consume": USED_UP,
    **IN_THE_HANDLER,
}
ONCE: Final = {
    "before intend": UNTOUCHED,
    "after intend": INTENDED,
    "inside claim": INTENDED,
    "after claim": USED_UP,
    **IN_THE_HANDLER,
}
BOTH: Final = {
    # The approval is used up first, so that a crash between the two leaves no approval that could run.
    "before claim": USED_UP,
    "inside claim": USED_UP,
    "after claim": USED_UP,
}


@pytest.mark.parametrize(
    ("tool", "points", "refusal"),
    [
        ("transfer", APPROVED, "approval_consumed"),
        ("balance", ONCE, "call_already_executed"),
        ("close_books", BOTH, "approval_consumed"),
    ],
    ids=["approved", "once", "approved and once"],
)
def test_a_process_that_is_killed_anywhere_leaves_no_call_that_runs_twice(
    vault_folder: Path, target: str, tool: str, points: dict[str, After], refusal: str
) -> None:
    if tool == "balance":
        asked = {point: point for point in points}
    else:
        with Vault(vault_folder, target) as vault:
            asked = {point: vault.approved(point, tool) for point in points}

    killed_at(asked, vault_folder, target)

    had = effects(vault_folder)
    assert {point: had[f"{tool} {point}"] for point in points} == {p: int(a.had_effect) for p, a in points.items()}
    assert may_have_run(target, points) == {point: after.left for point, after in points.items()}
    told = asked_anew(asked, vault_folder, target)
    assert told == {point: "ran" if after.runs_again else refusal for point, after in points.items()}
    # Once at the most; and once exactly, unless the store says that nobody can know without looking.
    had = effects(vault_folder)
    assert {point: had[f"{tool} {point}"] for point in points} == {
        point: int(after.had_effect or after.runs_again) for point, after in points.items()
    }
    assert may_have_run(target, points) == {point: after.left for point, after in points.items()}
    if tool != "balance":
        assert states(target) == {
            point: ApprovalState.COMPLETED if after.runs_again or after is ENDED else ApprovalState.CONSUMED
            for point, after in points.items()
        }
    recovered(target, sum(len(after.left) for after in points.values()))


def may_have_run(target: str, points: Iterable[str]) -> dict[str, list[bool]]:
    """Of each run's effects without an end, whether the store says that they may have happened."""
    found: dict[str, list[bool]] = {point: [] for point in points}
    with closing(open_store(target)) as store:
        for each in store.unfinished(None, store.now_ms() + 1000):
            found[each.intent.run_id].append(each.may_have_run)
    return found


def states(target: str) -> dict[str, ApprovalState]:
    with closing(open_store(target)) as store:
        return {each.bindings.run_id: each.state for each in store.find("acme", set(ApprovalState), 100)}


def recovered(target: str, count: int) -> None:
    """An operator lists them all, finds out what happened, and settles each."""
    listed = recover(target)
    assert len(listed) == count
    settled = [
        f"--settle={each['executionId']}={'unknown' if each['mayHaveRun'] else 'not_entered'}" for each in listed
    ]
    with TemporaryDirectory() as folder:
        office = Office(Path(folder), target, CliRunner().invoke)  # type: ignore[arg-type] # its files are all that is used
        office.set_up()
        assert recover(target, *settled, *office.own_files("ann")) == []


def recover(target: str, *options: str) -> list[dict[str, Any]]:
    """`aioc-opa approvals recover`."""
    asked = ["approvals", "recover", "--json", "--older-than=0", "--store", target, *options]
    done = CliRunner().invoke(app, asked, catch_exceptions=False)
    found = json.loads(done.stdout)["unfinished"]
    assert done.exit_code == bool(found)
    return list(found)
