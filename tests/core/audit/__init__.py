"""The pure part of the audit log."""
