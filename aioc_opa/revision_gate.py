"""Which policy revisions a guard accepts (design 3.3: ``policy_revision_rejected``)."""

from __future__ import annotations

from typing import Protocol, runtime_checkable


class RevisionGate(Protocol):
    """Accepts or rejects the revision that an answer was decided under."""

    def accepts(self, policy_revision: str | None) -> bool:
        """Whether a decision under this revision may count. Anything but True, or an exception, rejects it.

        Args:
            policy_revision: RFC 8785 text of ``{bundle: revision}``; None when the engine names none.
        """
        ...


@runtime_checkable
class RefreshingGate(Protocol):
    """A gate that knows what it last asked for, and can ask now: `bundle_freshness.FreshBundles`, or one around it."""

    def refresh(self) -> tuple[str, ...]:
        """Ask now, blocking; what is wrong, in words for operators."""
        ...


class UnsafeAnyRevision:
    """Accepts every revision, also none: whoever can change the policy at the engine decides everything.

    What a guard uses until a gate is configured; it warns then. Passing it by name says that it is meant.
    """

    def accepts(self, policy_revision: str | None) -> bool:  # noqa: ARG002 - the protocol's parameter
        """Always True."""
        return True


class UnsafeAnyRevisionWarning(UserWarning):
    """A guard was built without a revision gate."""
