"""Frozen wire models, one file a contract (design 3)."""
