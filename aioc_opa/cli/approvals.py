"""`aioc-opa approvals …`: what reviewers, operators and auditors do with held calls."""

from __future__ import annotations

from typing import Final

from aioc_opa.cli import (
    approvals_custody,
    approvals_end,
    approvals_keygen,
    approvals_list,
    approvals_recover,
    approvals_resume,
    approvals_show,
    approvals_vote,
)
from aioc_opa.cli.app import add, make_app

app: Final = make_app("""Review held calls, vote on them, run what was approved, and look after their store.

\b
Example:
  aioc-opa approvals list --store approvals.db
""")

add(app, "list", approvals_list.list_approvals, approvals_list.HELP)
add(app, "show", approvals_show.show, approvals_show.HELP)
add(app, "approve", approvals_vote.approve, approvals_vote.APPROVE_HELP)
add(app, "reject", approvals_vote.reject, approvals_vote.REJECT_HELP)
add(app, "revoke", approvals_end.revoke, approvals_end.REVOKE_HELP)
add(app, "dismiss", approvals_end.dismiss, approvals_end.DISMISS_HELP)
add(app, "resume", approvals_resume.resume, approvals_resume.HELP)
add(app, "recover", approvals_recover.recover, approvals_recover.HELP)
add(app, "purge", approvals_custody.purge, approvals_custody.PURGE_HELP)
add(app, "access-log", approvals_custody.access_log, approvals_custody.LOG_HELP)
add(app, "keygen", approvals_keygen.keygen, approvals_keygen.HELP)
