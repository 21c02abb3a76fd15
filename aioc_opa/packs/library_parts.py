"""What of `rego/` is the library, and goes into every policy folder. `setup.py` reads this file too: no imports."""

LIBRARY_PARTS = ("aioc/lib", "aioc/tool_policy", "aioc/tool_access", "aioc/handoff_policy", "system")
"""Folders below `rego/`. Owners, handoffs, access tables, routes and packs belong to whoever writes the policy."""
