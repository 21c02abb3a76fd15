"""Vote keys: private ones sign (`SigningKey`), public ones check (`VoteKeys`). Each has a holder (design 3.5).

A key belongs to the application's approval authority, which signs for whoever its authentication has resolved, or to
one person, and then counts for that person and the roles registered with it only.
"""

from __future__ import annotations

from aioc_opa.approvals.development_keys import DevelopmentKeysWarning, development_keys
from aioc_opa.approvals.key_holders import AccountHolder, AuthorityHolder, PersonHolder
from aioc_opa.approvals.signing_key import SigningKey
from aioc_opa.approvals.vote_keys import VoteKey, VoteKeys

__all__ = [
    "AccountHolder",
    "AuthorityHolder",
    "DevelopmentKeysWarning",
    "PersonHolder",
    "SigningKey",
    "VoteKey",
    "VoteKeys",
    "development_keys",
]
