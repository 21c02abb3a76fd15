"""Making signed votes, and believing only those that are genuine (design 3.5).

Whoever can write to the store can put any row there. So nothing of a record counts before every vote in it has been
verified against the public keys and found bound to exactly this record. One bad vote spoils the whole approval: it
shows that somebody has been at the rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from aioc_opa.approvals.key_holders import AccountHolder, PersonHolder
from aioc_opa.approvals.records import NO_TENANT
from aioc_opa.core.approvals.digests import terms_digest
from aioc_opa.core.approvals.times import rfc3339_of_ms
from aioc_opa.core.approvals.vote_text import statement_of, statement_text
from aioc_opa.core.fingerprint import tool_proposal_hash
from aioc_opa.core.rfc3339 import parse_rfc3339
from aioc_opa.errors import ApprovalError, VoteRefusedError
from aioc_opa.models.approval_vote_statement import SignedVote, VoteStatement
from aioc_opa.models.stored_call import StoredCall

if TYPE_CHECKING:
    from typing import Literal

    from aioc_opa.approvals.keys import SigningKey, VoteKeys
    from aioc_opa.approvals.people import Person
    from aioc_opa.approvals.records import ApprovalRecord

_MS: Final = 1000


class VoteForgedError(ApprovalError):
    """What the store holds for an approval is not what was signed: nothing of it counts.

    Attributes:
        code: stable word: ``record_inconsistent``, ``key_unknown``, ``signature_invalid``, ``statement_invalid``,
            ``bound_to_another``, ``key_not_for_voter``, ``role_not_registered`` or ``outside_lifetime``.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{message} ({code})")
        self.code = code


def sign_vote(
    record: ApprovalRecord,
    person: Person,
    *,
    verdict: Literal["approved", "rejected"],
    reason: str,
    key: SigningKey,
    at_ms: int,
    keys: VoteKeys | None = None,
) -> SignedVote:
    """Sign a person's vote on a request as it was shown to that person.

    An approval is signed only over a record with its payload, whose arguments have the very hash that is approved:
    nobody approves a hash alone, or the hash of something else than what the record shows.

    Args:
        record: as the store gave it.
        person: who votes, out of the application's authentication; never out of an argument of the request.
        verdict: of that person.
        reason: in the person's words, 1 to 2,000 characters.
        key: the authority's, or this person's own.
        at_ms: the store's clock (`ApprovalStore.now_ms`).
        keys: the public keys, when they are at hand: a person's key then signs the roles it is registered for, and
            leaves out the person's others. Without them all roles are signed, and an unregistered one spoils the vote.

    Raises:
        VoteRefusedError: ``key_not_for_voter``, ``key_not_registered``, ``approval_inconsistent``, ``not_shown``,
            ``outside_lifetime`` or ``vote_invalid`` (the reason is empty or too long, or there are more than 64 roles).
    """
    if isinstance(key.holder, AccountHolder) and key.holder.person_id != person.person_id:
        raise VoteRefusedError("key_not_for_voter", "this key belongs to another person")
    try:
        _require_consistent(record)
        _require_lifetime(record, at_ms)
    except VoteForgedError as error:
        code = "outside_lifetime" if error.code == "outside_lifetime" else "approval_inconsistent"
        raise VoteRefusedError(code, str(error)) from None
    if verdict == "approved":
        _require_shown(record)
    if not reason.strip():
        raise VoteRefusedError("vote_invalid", "a vote needs a reason")
    try:
        statement = VoteStatement(
            approval_id=record.approval_id,
            bindings=record.bindings,
            person_id=person.person_id,
            roles=tuple(sorted(_roles(person, key, keys))),
            verdict=verdict,
            reason=reason,
            at=rfc3339_of_ms(at_ms),
            expires_at=rfc3339_of_ms(record.expires_at_ms),
            key_id=key.key_id,
        )
        text = statement_text(statement)
        return SignedVote(statement=text, key_id=key.key_id, signature=key.sign(text.encode()))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise VoteRefusedError("vote_invalid", f"{place}: {first['msg']}") from None


def verified_votes(record: ApprovalRecord, *, keys: VoteKeys) -> tuple[VoteStatement, ...]:
    """The statements of all votes of a record, in their order, when every one is genuine and bound to this record.

    The record's own `requesters`, `state`, `reason` and `reasons` are not signed: believe nothing of them.

    Args:
        record: as the store has it.
        keys: whose votes count, now: a vote by a key that has been taken out is as good as forged.

    Raises:
        VoteForgedError: one vote is not, or the record contradicts its own bindings. No value is in the message.
    """
    _require_consistent(record)
    return tuple(_verified(record, vote, keys, f"vote {number}") for number, vote in enumerate(record.votes, 1))


def _verified(record: ApprovalRecord, vote: SignedVote, keys: VoteKeys, name: str) -> VoteStatement:
    key = keys.find(vote.key_id)
    if key is None:
        raise VoteForgedError("key_unknown", f"{name}: its key is not among the keys whose votes count")
    try:
        genuine = key.verifies(vote.statement.encode(), vote.signature)
    except UnicodeEncodeError:
        genuine = False
    if not genuine:
        raise VoteForgedError("signature_invalid", f"{name}: the signature is not that of the statement")
    try:
        statement = statement_of(vote.statement)
    except ValueError as error:  # none of its messages holds a value
        raise VoteForgedError("statement_invalid", f"{name}: {error}") from None
    if (
        statement.key_id != vote.key_id
        or statement.approval_id != record.approval_id
        or statement.bindings != record.bindings
        or statement.expires_at != rfc3339_of_ms(record.expires_at_ms)
    ):
        raise VoteForgedError("bound_to_another", f"{name}: it was signed for another request, binding, expiry or key")
    if isinstance(key.holder, PersonHolder):
        if statement.person_id != key.holder.person_id:
            raise VoteForgedError("key_not_for_voter", f"{name}: its key belongs to another person")
        if not key.holder.roles.issuperset(statement.roles):
            raise VoteForgedError("role_not_registered", f"{name}: its key is not registered for a role in it")
    _require_lifetime(record, _ms_of(statement.at, name), name)
    return statement


def _ms_of(at: str, name: str) -> int:
    """The time of a vote, which has one way to be written (`rfc3339_of_ms`)."""
    moment = parse_rfc3339(at)
    at_ms = None if moment is None else round(moment.timestamp() * _MS)
    if at_ms is None or rfc3339_of_ms(at_ms) != at:
        raise VoteForgedError("statement_invalid", f"{name}: its time is not one in UTC with milliseconds")
    return at_ms


def _require_consistent(record: ApprovalRecord) -> None:
    """Refuse a record that contradicts its own bindings, which are what the signatures cover."""
    if (record.bindings.tenant or NO_TENANT) != record.tenant:
        raise VoteForgedError("record_inconsistent", "the tenant of the approval is not the one it is bound to")
    if terms_digest(record.terms) != record.bindings.terms_digest:
        raise VoteForgedError("record_inconsistent", "the terms of the approval are not those it is bound to")
    try:
        for time in (record.created_at_ms, record.expires_at_ms):
            rfc3339_of_ms(time)
    except ValueError:  # SQLite keeps any value in any column
        raise VoteForgedError("record_inconsistent", "the approval has a time that is none") from None
    if record.expires_at_ms != record.created_at_ms + record.terms.ttl_seconds * _MS:
        raise VoteForgedError("record_inconsistent", "the approval does not live as long as its terms say")


def _require_lifetime(record: ApprovalRecord, at_ms: int, name: str = "the vote") -> None:
    """Refuse a vote from before the request or from after its end.

    The votes bind the end, and the terms the length: so no edited row makes an approval live longer than its terms
    after a vote.
    """
    if type(at_ms) is not int or not record.created_at_ms <= at_ms < record.expires_at_ms:
        raise VoteForgedError(
            "outside_lifetime", f"{name}: not between the request and its expiry, by the store's clock"
        )


def _require_shown(record: ApprovalRecord) -> None:
    if record.payload is None:
        raise VoteRefusedError("not_shown", "the arguments are not in this record, so nobody can have seen them")
    try:
        call = StoredCall.model_validate_json(record.payload)
    except ValidationError:  # its message would hold arguments
        raise VoteRefusedError("approval_inconsistent", "the stored call cannot be read") from None
    found = tool_proposal_hash(
        agent_name=record.bindings.agent_name,
        tool_name=record.bindings.tool_name,
        args_canonical_json=call.args_canonical_json,
    )
    if found != record.bindings.proposal_hash:
        raise VoteRefusedError("approval_inconsistent", "the stored arguments are not those that the hash is of")


def _roles(person: Person, key: SigningKey, keys: VoteKeys | None) -> frozenset[str]:
    """The roles to sign: those of the person that `key` may carry."""
    if keys is None:
        return person.roles
    registered = keys.find(key.key_id)
    if registered is None or registered.public_key != key.public_key:
        raise VoteRefusedError("key_not_registered", "this key is not among the keys whose votes count")
    return person.roles & registered.holder.roles if isinstance(registered.holder, PersonHolder) else person.roles
