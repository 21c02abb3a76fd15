"""A vote statement as text and back: the text is what is signed, so there is exactly one text for a statement.

Every binding stands in it, the absent ones as ``null``: what a signature does not name it could not bind.
"""

from __future__ import annotations

from typing import Final

from pydantic import ValidationError

from aioc_opa.core.canonical_json import canonical_text
from aioc_opa.core.limits import JsonLimits
from aioc_opa.core.strict_json import decode_object
from aioc_opa.models.approval_vote_statement import VoteStatement

_LIMITS: Final = JsonLimits(max_bytes=4 * 65_536, max_depth=4, max_nodes=1024)
"""A statement is a small, flat object: 65,536 characters at most (`SignedVote`), 4 bytes each."""


def statement_text(statement: VoteStatement) -> str:
    """RFC 8785 text of a statement: sign its UTF-8 bytes."""
    return canonical_text(statement.model_dump(by_alias=True))


def statement_of(text: str) -> VoteStatement:
    """The statement that `text` is, if `text` is exactly that statement's `statement_text`.

    A second text of the same meaning (blanks, another key order, Python's field names, a field left out, an escape
    that need not be) is refused, and so is anything that two readers could read differently (duplicate keys).

    Raises:
        ValueError: it is not such a text. The message holds no part of it.
    """
    value = decode_object(text, _LIMITS)
    try:
        statement = VoteStatement.model_validate(value)
    except ValidationError:  # its message would hold the value
        raise ValueError("the text is not a vote statement") from None
    if statement_text(statement) != text:
        raise ValueError("the text is not the canonical form of the statement in it")
    return statement
