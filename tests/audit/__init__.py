"""Audit logs: written, killed, tampered with, anchored and verified."""
