"""The life of an approval is exactly this table; a missing cell refuses (design 3.5)."""

from __future__ import annotations

import itertools

from aioc_opa.core.approvals.states import OPEN, ApprovalEvent, ApprovalState, next_state

TABLE = {
    "pending": {"approve": "approved", "reject": "rejected", "expire": "expired", "dismiss": "dismissed"},
    "approved": {"expire": "expired", "dismiss": "dismissed", "revoke": "revoked", "consume": "consumed"},
    "rejected": {},
    "expired": {},
    "dismissed": {},
    "revoked": {},
    "consumed": {"complete": "completed", "lose": "outcome_unknown"},
    "completed": {},
    "outcome_unknown": {"complete": "completed"},
}


def test_every_cell_of_the_table_and_every_missing_one() -> None:
    assert {state.value for state in ApprovalState} == TABLE.keys()
    for state, event in itertools.product(ApprovalState, ApprovalEvent):
        assert next_state(state, event) == TABLE[state.value].get(event.value), (state, event)
    assert {"pending", "approved"} == OPEN
