"""Approvals without I/O: states, bindings, votes, terms."""
