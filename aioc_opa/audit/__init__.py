"""Writing, anchoring and checking audit logs. Needs the extra `approvals` (signatures)."""
