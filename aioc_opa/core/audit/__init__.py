"""The pure part of the audit log: texts, hashes and references."""
