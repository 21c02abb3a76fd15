"""A process that writes required records and is killed at any point. What was acknowledged it has said in a pipe."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from aioc_opa.audit.json_lines import JsonLinesSink
from aioc_opa.audit.sql import SqlSink
from aioc_opa.audit.trail import AuditTrail
from tests.audit.logs import KEY, event


def main() -> None:
    """``python -m tests.audit.killed TARGET START``: a line on standard output for each acknowledged event."""
    target, start = sys.argv[1], int(sys.argv[2])
    sink = (
        SqlSink(target)
        if target.endswith(".db") or "://" in target
        else JsonLinesSink(Path(target), segment_bytes=16_384)
    )
    trail = AuditTrail(sink, writer="one", key=KEY, checkpoint_records=9, timeout_seconds=60)
    os.write(1, b"ready\n")
    number = start
    while True:
        trail.record_intent(event(number, kind="execution_started"))
        os.write(1, f"{number}\n".encode())
        number += 1


if __name__ == "__main__":
    main()
