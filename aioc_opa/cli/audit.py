"""`aioc-opa audit …`: what operators, auditors and other systems do with audit logs."""

from __future__ import annotations

from typing import Final

from aioc_opa.cli import audit_anchor, audit_export, audit_keygen, audit_report, audit_tail, audit_verify
from aioc_opa.cli.app import add, make_app

app: Final = make_app("""Verify audit logs, read them, hand them on, and anchor them outside.

\b
Example:
  aioc-opa audit verify audit/ --keys writer.pub.json
""")

add(app, "verify", audit_verify.verify, audit_verify.HELP)
add(app, "tail", audit_tail.tail, audit_tail.HELP)
add(app, "export", audit_export.export, audit_export.HELP)
add(app, "report", audit_report.report, audit_report.HELP)
add(app, "anchor", audit_anchor.anchor, audit_anchor.HELP)
add(app, "keygen", audit_keygen.keygen, audit_keygen.HELP)
