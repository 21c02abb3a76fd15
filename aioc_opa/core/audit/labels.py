"""What an event may call things that somebody outside controls: bounded, and never what might be a value.

A model can invent a tool's name, and a policy can build a code out of arguments. Neither is copied.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from aioc_opa.core.reasons import ALLOWED, HANDOFF_CODES, LIBRARY_CODES, NO_RULE_ALLOWS, RESERVED

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

MAX_LABEL: Final = 128
"""Characters of an id that is shown as it is."""

UNDECLARED: Final = "undeclared"
"""Stands for a code that no pack declares."""

_OF_OURS: Final = LIBRARY_CODES | HANDOFF_CODES | {ALLOWED, NO_RULE_ALLOWS, *(reason.value for reason in RESERVED)}


def digest_label(value: object) -> str:
    """``sha256:`` and the digest of a text that is not shown; of nothing when it is no plain str."""
    text = value if type(value) is str else ""
    return "sha256:" + hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def tool_label(name: object, *, registered: bool) -> str:
    """The name of a registered tool; the digest of any other name."""
    return name if registered and type(name) is str and _is_label(name) else digest_label(name)


def id_label(value: object) -> str | None:
    """An id of a run, a call or an agent: itself up to `MAX_LABEL` characters, else its digest; None for None."""
    if value is None:
        return None
    return value if type(value) is str and _is_label(value) else digest_label(value)


def reason_label(code: str, declared: Collection[str]) -> str:
    """`code` when it is the runtime's or the library's, or a pack declares it, else `UNDECLARED`."""
    return code if code in _OF_OURS or code in declared else UNDECLARED


def reason_labels(codes: Iterable[str], declared: Collection[str]) -> tuple[str, ...]:
    """The labels of `codes`, each once, in their order."""
    return tuple(dict.fromkeys(reason_label(code, declared) for code in codes))


def _is_label(text: str) -> bool:
    if not 1 <= len(text) <= MAX_LABEL:
        return False
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)
