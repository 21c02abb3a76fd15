"""A revision gate by the publisher's expiry: a bundle that has expired decides nothing, whoever still serves it.

OPA's signature has no expiry (https://www.openpolicyagent.org/docs/management-bundles#signing), and OPA keeps deciding
with what it once activated. The signed statement in a bundle says until when it may (`models.bundle_statement`). A
decision names a revision, which is the counter and the digest of exactly one statement, so a gate that holds the
statements knows the expiry of what decided.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Self

from pydantic import ValidationError

from aioc_opa.bundle_verification import BundleDemands, verify_bundles
from aioc_opa.core.bundles.revision import Revision
from aioc_opa.core.rfc3339 import parse_rfc3339
from aioc_opa.core.strict_json import StrictJsonError, decode_object
from aioc_opa.errors import ConfigurationError, PolicyLoadError
from aioc_opa.models.bundle_statement import BundleStatement
from aioc_opa.revision_gates import revisions_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from aioc_opa.engines.local_opa_signature import BundleVerification
    from aioc_opa.engines.opa_binary import OpaBinary

_NEVER: Final = datetime.max.replace(tzinfo=UTC)


def _now() -> datetime:
    return datetime.now(UTC)


class UnexpiredRevisions:
    """Accepts the revisions of the statements that it was given, each until it expires. Thread-safe.

    Exactly the bundles that are named: one more, one less, or one without a revision is rejected. So is a revision
    that a later statement of the same bundle withdrew (its minimum counter).

    Args:
        statements: of bundles whose signature was verified; several of one name where an update is under way. Those
            of one revision count until the first of them expires.
        called: how the engine calls a bundle, by the name in its statement, where that differs: ``{"tools": "local"}``
            for the local and the embedded engine.
        clock: gives the time now, with an offset; the system's by default.

    Raises:
        ConfigurationError: there is none, or one is malformed; the message names the field, never its value.
    """

    def __init__(
        self,
        statements: Iterable[BundleStatement | Mapping[str, object]],
        *,
        called: Mapping[str, str] | None = None,
        clock: Callable[[], datetime] = _now,
    ) -> None:
        checked = [_checked(statement) for statement in statements]
        if not checked:
            raise ConfigurationError("statements: give at least one; a gate without one would deny every call")
        names = dict(called or {})
        if unknown := sorted(names.keys() - {statement.name for statement in checked}):
            raise ConfigurationError(f"called: {unknown[0]!r} has no statement")
        least: dict[str, int] = {}
        for statement in checked:
            least[statement.name] = max(least.get(statement.name, 0), statement.minimum_counter)
        self._until: Final[dict[str, dict[str, datetime]]] = {}
        for statement in checked:
            known = self._until.setdefault(names.get(statement.name, statement.name), {})
            if statement.counter >= least[statement.name]:
                revision = str(Revision(statement.counter, statement.digest))
                known[revision] = min(_expiry(statement), known.get(revision, _NEVER))
        if len(self._until) != len(least):
            raise ConfigurationError("called: two bundles have the same name at the engine")
        self._clock: Final = clock

    @classmethod
    def verified(
        cls,
        bundles: Sequence[Path],
        *,
        signature: BundleVerification,
        binary: OpaBinary,
        called: Mapping[str, str] | None = None,
        clock: Callable[[], datetime] = _now,
    ) -> Self:
        """The gate of bundle files, each verified as `aioc-opa bundle verify` does.

        Args:
            bundles: archives that one engine activates together.
            signature: the key that must have signed them.
            binary: the `opa` that verifies.
            called: as in the class.
            clock: as in the class.

        Raises:
            PolicyLoadError: one does not verify, or has expired; the message says what failed.
            ConfigurationError: as in the class.
        """
        demands = BundleDemands(signature=signature, at=clock(), minimum_counter=None, after=())
        report = verify_bundles(bundles, demands, binary=binary)
        checks = [check for each in report.bundles for check in each.checks] + list(report.together)
        if not report.ok:
            raise PolicyLoadError("; ".join(f"{check.check}: {check.text}" for check in checks if check.ok is False))
        return cls([each.bundle.statement for each in report.bundles if each.bundle], called=called, clock=clock)

    @classmethod
    def from_report(
        cls,
        report: str | bytes,
        *,
        called: Mapping[str, str] | None = None,
        clock: Callable[[], datetime] = _now,
    ) -> Self:
        """The gate of what ``aioc-opa bundle verify --public-key … --json`` printed, for a guard without an `opa`.

        Whoever can write the report decides what counts: keep it as you keep the guard's configuration.

        Raises:
            ConfigurationError: it is no report, something in it failed, or no signature was verified.
        """
        try:
            document = decode_object(report)
        except StrictJsonError as error:
            raise ConfigurationError(f"report: is not what `bundle verify --json` prints ({error.code})") from None
        bundles = document.get("bundles")
        if document.get("ok") is not True or not isinstance(bundles, list):
            raise ConfigurationError("report: does not say that everything holds")
        statements: list[Mapping[str, object]] = []
        for each in bundles:
            checks, statement = (each.get("checks"), each.get("statement")) if isinstance(each, dict) else (None, None)
            held = [
                check.get("check")
                for check in (checks if isinstance(checks, list) else ())
                if isinstance(check, dict) and check.get("ok") is True
            ]
            if "signature" not in held or not isinstance(statement, dict):
                raise ConfigurationError("report: a bundle's signature was not verified: give --public-key")
            statements.append(statement)
        return cls(statements, called=called, clock=clock)

    def accepts(self, policy_revision: str | None) -> bool:
        """Whether every bundle is there, no other is, and each has a revision that counts and has not expired now."""
        found = revisions_of(policy_revision)
        if found is None or found.keys() != self._until.keys():
            return False
        now = self._clock()
        if now.utcoffset() is None:
            return False
        ends = [self._until[name].get(revision) for name, revision in found.items()]
        return all(end is not None and now < end for end in ends)


def _checked(statement: object) -> BundleStatement:
    """A statement, validated anew: a model can be made without validation."""
    try:
        if isinstance(statement, BundleStatement):
            statement = statement.model_dump(mode="json", by_alias=True, warnings="none")
        return BundleStatement.model_validate(statement, by_alias=True, by_name=False)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "statement"
        raise ConfigurationError(f"statements: {place}: is not what a bundle's statement has there") from None


def _expiry(statement: BundleStatement) -> datetime:
    if statement.expires_at is None:
        return _NEVER
    moment = parse_rfc3339(statement.expires_at)
    if moment is None:
        raise ConfigurationError("statements: expiresAt: is not an RFC 3339 time")
    return moment
