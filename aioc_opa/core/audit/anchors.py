"""What an anchor says: the latest checkpoint of every writer, as the text of a signed note.

::

    aioc-opa/audit-anchor/1
    2026-07-15T09:00:00.000Z
    <writer> <logId> <sequence> <hash>
    …

A line a writer, sorted by name. It is a signed note, and no Merkle tree head (https://c2sp.org/tlog-checkpoint): the
records form chains.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

HEADER: Final = "aioc-opa/audit-anchor/1"
_AT: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z")
_LINE: Final = re.compile(r"([A-Za-z0-9][A-Za-z0-9_-]{0,63}) ([0-9a-f]{32}) ([1-9][0-9]{0,15}) ([0-9a-f]{64})")


@dataclass(frozen=True, slots=True, order=True)
class AnchoredHead:
    """A checkpoint that is known outside the log.

    Attributes:
        writer: whose.
        log_id: of the writer's chain.
        sequence: of the checkpoint's record.
        hash: of the checkpoint's record.
    """

    writer: str
    log_id: str
    sequence: int
    hash: str


@dataclass(frozen=True, slots=True)
class Anchor:
    """The heads of one moment.

    Attributes:
        at: when it was taken, RFC 3339 in UTC.
        heads: one a writer, sorted.
    """

    at: str
    heads: tuple[AnchoredHead, ...]


def anchor_text(at: str, heads: Iterable[AnchoredHead]) -> str:
    """The text of a note for `heads`."""
    lines = [f"{head.writer} {head.log_id} {head.sequence} {head.hash}" for head in sorted(heads)]
    return "\n".join([HEADER, at, *lines, ""])


def anchor_of(text: str) -> Anchor:
    """The anchor whose `anchor_text` is `text`.

    Raises:
        ValueError: it is none. The message holds no part of it.
    """
    _, at, *lines = [*text.removesuffix("\n").split("\n"), ""]
    heads = []
    for match in map(_LINE.fullmatch, lines[:-1]):
        if match is None:
            raise ValueError("a line of the anchor is no writer's")
        heads.append(AnchoredHead(match[1], match[2], int(match[3]), match[4]))
    if _AT.fullmatch(at) is None or anchor_text(at, heads) != text:
        raise ValueError("the note's text is no anchor")
    if len({head.writer for head in heads}) != len(heads):
        raise ValueError("the anchor names a writer twice")
    return Anchor(at, tuple(heads))
