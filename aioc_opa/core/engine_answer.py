"""What a policy engine answered: an `EngineAnswer`, or an `EngineFailureError` with a reserved reason."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from aioc_opa.core.json_value import JsonValue
    from aioc_opa.core.reasons import Reason


class Undefined(Enum):
    """The engine's "no value": an undefined rule, a wrong path, or no bundle yet. Not a JSON null."""

    UNDEFINED = "undefined"


UNDEFINED: Final = Undefined.UNDEFINED


@dataclass(frozen=True, slots=True)
class EngineAnswer:
    """What an engine answered, decoded by the strict decoder but not yet judged.

    Attributes:
        result: the decision document, or `UNDEFINED`.
        policy_revision: RFC 8785 text of ``{bundle: revision}``; None when the engine names no revision.
        decision_id: OPA's, when decision logging is on.
        engine: name and version, e.g. ``opa 1.22.4`` or ``regorus 0.13.0``.
    """

    result: JsonValue | Undefined
    policy_revision: str | None = None
    decision_id: str | None = None
    engine: str = ""


class EngineFailureError(Exception):
    """An engine could not answer. Becomes a deny with `reason`.

    Attributes:
        reason: one of the reserved ``policy_*`` reasons.
        detail: for operators' logs only: it can hold argument values (OPA's error text does).
    """

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail
