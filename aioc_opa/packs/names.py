"""Names that are written into generated Rego."""

from __future__ import annotations

import re
from typing import Final

# https://www.openpolicyagent.org/docs/policy-reference#reserved-names
# Those that `opa fmt` keeps in brackets, and those that would only confuse as a pack's name.
REGO_KEYWORDS: Final = frozenset(
    "as contains default else every false if import in not null package some true with".split()  # noqa: SIM905 - as the reference lists them
)
_NO_PACK: Final = REGO_KEYWORDS | {"and", "data", "input", "or"}
_PACK: Final = re.compile(r"[a-z][a-z0-9_]{0,62}")
# As the guard's registry takes them; nothing in it that a Rego string would have to escape.
_TOOL: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,127}")
_PLAIN: Final = re.compile(r"[ !#-\[\]-~]*")


def is_pack_name(name: str) -> bool:
    """Whether `name` may be a pack: a plain Rego identifier."""
    return _PACK.fullmatch(name) is not None and name not in _NO_PACK


def is_tool_name(name: str) -> bool:
    """Whether the guard would register a tool of this name."""
    return _TOOL.fullmatch(name) is not None


def is_identifier(name: str) -> bool:
    """Whether `name` can stand after a dot in a Rego reference."""
    return re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) is not None and name not in REGO_KEYWORDS


def is_plain_text(text: str) -> bool:
    """Whether `text` is printable ASCII without quote and backslash: the same in Rego, JSON and after `opa fmt`."""
    return _PLAIN.fullmatch(text) is not None
