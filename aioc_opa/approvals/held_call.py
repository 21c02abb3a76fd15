"""What a guard hands to the broker when policy holds a call."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aioc_opa.models.approval_bindings import ApprovalBindings
    from aioc_opa.models.decision import ApprovalTerms
    from aioc_opa.models.stored_call import StoredCall


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldCall:
    """A call that waits for a person.

    Attributes:
        bindings: what its approval will be bound to.
        terms: what approving it takes, from the decision.
        reason: primary code of the decision.
        reasons: all its codes.
        call: the rest of it; holds argument values.
    """

    bindings: ApprovalBindings
    terms: ApprovalTerms
    reason: str
    reasons: tuple[str, ...]
    call: StoredCall = field(repr=False)
