"""A store whose process is killed at one chosen moment of one chosen step. Nothing runs after that: not even `finally`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import event

from tests.torture.processes import die

if TYPE_CHECKING:
    from aioc_opa.approvals.store import ApprovalStore


class DyingStore:
    """The store, until `step` comes: killed ``before`` it, ``inside`` it (before its commit) or ``after`` it.

    After a step that changed nothing (an approval or a call that was used up before) it lives on.
    """

    def __init__(self, store: ApprovalStore, moment: str, step: str) -> None:
        self._store = store
        self._moment = moment
        self._step = step

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)
        return self._mortal(method) if name == self._step else method

    def _mortal(self, method: Any) -> Any:
        def step(*arguments: Any) -> Any:
            if self._moment == "before":
                die()
            if self._moment == "inside":
                event.listen(self._store._database._engine, "commit", die)  # type: ignore[attr-defined]
            result = method(*arguments)
            die()
            return result

        return step
