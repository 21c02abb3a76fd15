"""Everything a server can do wrong with one question, by name: importing this registers all of it."""

from __future__ import annotations

from tests.hostile import answer_faults, wire_faults
from tests.hostile.registry import DECISION, TIMEOUTS, TRANSPORT
from tests.hostile.wire_faults import accept_and_hang

__all__ = ["DECISION", "TIMEOUTS", "TRANSPORT", "accept_and_hang", "answer_faults", "wire_faults"]
