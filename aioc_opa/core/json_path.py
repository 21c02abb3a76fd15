"""Places in a JSON value: keys and indexes from the root, as errors carry them."""

from __future__ import annotations

from typing import Final

MAX_KEY_CHARACTERS: Final = 80
"""A key comes from whoever wrote the text. Longer ones are cut, so that an error stays small."""


def path_key(key: str) -> str:
    """`key` as a path shows it: its first `MAX_KEY_CHARACTERS` characters."""
    return key if len(key) <= MAX_KEY_CHARACTERS else key[:MAX_KEY_CHARACTERS] + "…"
