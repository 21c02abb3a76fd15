"""What OPA's status document says about its bundles (https://www.openpolicyagent.org/docs/management-status)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aioc_opa.core.rfc3339 import parse_rfc3339

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from datetime import datetime

    from aioc_opa.core.json_value import JsonObject, JsonValue

_WHOLE: Final = "snapshot"
_LONGEST_WORDS: Final = 500


@dataclass(frozen=True, slots=True)
class BundleFact:
    """One bundle of a server.

    Attributes:
        name: as the server's configuration calls it.
        fetched_at: when the server last had a sound answer from where the bundle comes from, by the server's clock: a
            whole bundle whose signature held, or "not modified". None when it never had one. When the last one is
            not in force (`is_refused`), it is the time of the last activation.
        is_whole: whether what is active is a whole bundle; a delta bundle is not, nor is nothing.
        error: what is wrong with the last fetch or activation; None when nothing is.
        is_refused: whether the last bundle was fetched, and could not be activated: an older one decides.
    """

    name: str
    fetched_at: datetime | None
    is_whole: bool
    error: str | None
    is_refused: bool = False


def bundle_facts(status: JsonObject) -> tuple[BundleFact, ...]:
    """The facts in a status document. What is not as OPA writes it was not fetched, and is not whole."""
    bundles = status.get("bundles")
    return tuple(_fact(name, found) for name, found in bundles.items()) if isinstance(bundles, dict) else ()


def set_problems(facts: Collection[BundleFact], expected: Collection[str]) -> Iterator[str]:
    """In words: bundles that are missing, too many, or not whole."""
    there = {fact.name for fact in facts}
    for name in sorted(set(expected) - there):
        yield f"bundle {name!r} is not at the server"
    for name in sorted(there - set(expected)):
        yield f"bundle {name!r} is at the server and was not expected"
    for fact in facts:
        if fact.name in expected and not fact.is_whole:
            yield f"bundle {fact.name!r} is not active, or is a delta bundle"


def stray_policies(policy_ids: Collection[str], bundles: Collection[str]) -> tuple[str, ...]:
    """Modules that no bundle brought: OPA calls those of a bundle ``<bundle>/<path>``, and lets others be called so."""
    prefixes = tuple(f"{name}/" for name in bundles)
    return tuple(sorted(policy_id for policy_id in policy_ids if not policy_id.startswith(prefixes)))


def _fact(name: str, found: JsonValue) -> BundleFact:
    if not isinstance(found, dict):
        return BundleFact(name, None, is_whole=False, error="the status is not what OPA's is")
    code, message = found.get("code"), found.get("message")
    error = f"{code}: {message}"[:_LONGEST_WORDS] if code else None
    fetched, requested = (_moment(found.get(field)) for field in ("last_successful_request", "last_request"))
    # A signature that does not hold fails the request itself; what does not compile, or owns another's root, does not.
    refused = error is not None and fetched is not None and requested is not None and fetched >= requested
    if refused:
        fetched = _moment(found.get("last_successful_activation"))
    # Before the first activation the type is missing, and so is the revision.
    whole = found.get("type") == _WHOLE and isinstance(found.get("active_revision"), str)
    return BundleFact(name, fetched, is_whole=whole, error=error, is_refused=refused)


def _moment(text: JsonValue) -> datetime | None:
    """A time of the status; None for Go's zero time, which stands for never."""
    moment = parse_rfc3339(text) if isinstance(text, str) else None
    return moment if moment is not None and moment.year > 1 else None
