"""Which policy was in force, from when to when, as the decisions say."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from aioc_opa.models.audit_event import AuditEvent

MAX_REVISIONS: Final = 1000


@dataclass(slots=True)
class Revision:
    """One revision.

    Attributes:
        text: RFC 8785 text of ``{bundle: revision}``.
        first_at: time of the first record that names it.
        last_at: time of the last.
        decisions: how many name it.
        digests: of bundles, as decisions under it name them; a few.
    """

    text: str
    first_at: str
    last_at: str
    decisions: int = 0
    digests: set[str] = field(default_factory=set)


_MAX_DIGESTS: Final = 4


class RevisionLedger:
    """Takes decisions of policy in any order.

    Attributes:
        unnamed: decisions without a revision.
        passed_over: decisions whose revision came after `capacity` others.
    """

    def __init__(self, capacity: int = MAX_REVISIONS) -> None:
        self._capacity: Final = capacity
        self._revisions: dict[str, Revision] = {}
        self.unnamed = 0
        self.passed_over = 0

    def take(self, at: str, event: AuditEvent) -> None:
        """Take a decision, recorded at a time."""
        text = event.policy_revision
        if text is None:
            self.unnamed += 1
            return
        found = self._revisions.get(text)
        if found is None:
            if len(self._revisions) >= self._capacity:
                self.passed_over += 1
                return
            found = self._revisions[text] = Revision(text, at, at)
        found.first_at = min(found.first_at, at)
        found.last_at = max(found.last_at, at)
        found.decisions += 1
        if event.bundle_digest is not None and len(found.digests) < _MAX_DIGESTS:
            found.digests.add(event.bundle_digest)

    def ordered(self) -> tuple[Revision, ...]:
        """By first appearance."""
        return tuple(sorted(self._revisions.values(), key=lambda one: (one.first_at, one.text)))
