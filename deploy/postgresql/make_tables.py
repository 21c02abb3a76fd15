"""Make or upgrade the tables of approvals, budgets and audit, as their owner: `python make_tables.py postgresql://…`.

Guards make them too when they start, where their account may. Where it may not, run this first, and then `grants.sql`.
"""

from __future__ import annotations

import sys
from contextlib import closing

from aioc_opa.access.sql_budgets import SqlBudgetLedger
from aioc_opa.approvals.stores import open_store
from aioc_opa.audit.sql import SqlSink


def make_tables(target: str) -> None:
    """Bring all schemas to the versions that this release knows. What is there already stays as it is.

    Args:
        target: address of the database, with the owner's account.

    Raises:
        ApprovalStoreError: the database fails, or is newer than this release.
        SinkError: likewise, for the audit's.
    """
    open_store(target).close()
    SqlBudgetLedger.open(target).close()
    with closing(SqlSink(target)) as sink:
        sink.resume("nobody")


if __name__ == "__main__":
    make_tables(sys.argv[1])
