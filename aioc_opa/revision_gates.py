"""Which policy revisions count: by name, by counter, and all of several gates. `bundle_freshness` has the one by age.

Every gate here takes exactly the bundles that it names. A decision that was made under one more, one less, or one
without a revision is rejected (``policy_revision_rejected``), whatever the others are. A gate says nothing about who
made a bundle: that is for the signature, which OPA verifies (docs/bundles.md).

All of them are thread-safe and cost microseconds; where one cannot tell, it rejects.
"""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from aioc_opa.core.bundles.revision import MAX_COUNTER, Revision, parse_revision
from aioc_opa.core.strict_json import StrictJsonError, decode_object
from aioc_opa.errors import ConfigurationError
from aioc_opa.revision_gate import RefreshingGate

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from aioc_opa.revision_gate import RevisionGate


class NamedRevisions:
    """Accepts the revisions that it was given, and no other: for those who deploy guard and policy together.

    Args:
        accepted: for each bundle, the revisions that count. The name is that of OPA's configuration; the local and
            the embedded engine call theirs ``local``, and a folder's revision is its ``sha256:…``.

    Raises:
        ConfigurationError: nothing is named, for the whole or for a bundle.
    """

    def __init__(self, accepted: Mapping[str, Collection[str]]) -> None:
        for name, revisions in accepted.items():
            if not name or not revisions or not all(revisions):
                raise ConfigurationError(f"accepted: name at least one revision of bundle {name!r}")
        if not accepted:
            raise ConfigurationError("accepted: name at least one bundle; a gate without one would deny every call")
        self._accepted: Final = {
            name: frozenset([revisions] if isinstance(revisions, str) else revisions)
            for name, revisions in accepted.items()
        }

    def accepts(self, policy_revision: str | None) -> bool:
        """Whether every bundle is there, no other is, and each has one of its revisions."""
        found = revisions_of(policy_revision)
        return (
            found is not None
            and found.keys() == self._accepted.keys()
            and all(revision in self._accepted[name] for name, revision in found.items())
        )


class MinimumCounters:
    """Accepts bundles of `aioc-opa bundle build` from a counter on: no rollback to what was withdrawn.

    The counter is what the publisher signed only where OPA verifies the signature: without ``signing`` in OPA's
    configuration whoever serves bundles writes any counter.

    With `remember` the counter never goes back, either, while this gate lives: once a higher one has been accepted, a
    lower one is rejected, and so is the same counter with other content. Behind a load balancer the servers poll one
    after the other, and a slower one is rejected until it has caught up; say ``remember=False`` there, and raise
    `minimum` instead. A new process begins with `minimum` again.

    Args:
        minimum: for each bundle, the least counter that counts.
        remember: whether accepted counters are a minimum from then on.

    Raises:
        ConfigurationError: no bundle is named, or a minimum is none.
    """

    def __init__(self, minimum: Mapping[str, int], *, remember: bool = True) -> None:
        if not minimum:
            raise ConfigurationError("minimum: name at least one bundle; a gate without one would deny every call")
        for name, counter in minimum.items():
            if not name or type(counter) is not int or not 0 <= counter <= MAX_COUNTER:
                raise ConfigurationError(f"minimum: the counter of bundle {name!r} must be an int from 0 on")
        self._minimum: Final = dict(minimum)
        self._remember: Final = remember
        self._seen: dict[str, Revision] = {}
        self._lock: Final = threading.Lock()

    def accepts(self, policy_revision: str | None) -> bool:
        """Whether every bundle is there, no other is, and no counter is too low."""
        found = revisions_of(policy_revision)
        if found is None or found.keys() != self._minimum.keys():
            return False
        revisions: dict[str, Revision] = {}
        for name, text in found.items():
            revision = parse_revision(text)
            if revision is None or revision.counter < self._minimum[name]:
                return False
            revisions[name] = revision
        return self._advances(revisions) if self._remember else True

    def _advances(self, revisions: Mapping[str, Revision]) -> bool:
        with self._lock:
            for name, revision in revisions.items():
                seen = self._seen.get(name)
                if seen is not None and revision != seen and revision.counter <= seen.counter:
                    return False
            self._seen.update(revisions)
            return True


class AllOf:
    """Accepts what all of its gates accept. They are asked in the order given, and the first that rejects ends it.

    So put a `MinimumCounters` that remembers last: it learns only from what the others have accepted.

    Args:
        gates: at least one.

    Raises:
        ConfigurationError: there is none, or one is no gate.
    """

    def __init__(self, *gates: RevisionGate) -> None:
        if not gates or not all(callable(getattr(gate, "accepts", None)) for gate in gates):
            raise ConfigurationError("AllOf needs at least one gate, and gates only")
        self._gates: Final = gates

    def accepts(self, policy_revision: str | None) -> bool:
        """Whether all do."""
        return all(gate.accepts(policy_revision) is True for gate in self._gates)

    def refresh(self) -> tuple[str, ...]:
        """Let the gates that ask somebody ask now; what is wrong, in words. Blocks."""
        asking = [gate for gate in self._gates if isinstance(gate, RefreshingGate)]
        return tuple(problem for gate in asking for problem in gate.refresh())


@lru_cache(maxsize=64)
def revisions_of(policy_revision: str | None) -> Mapping[str, str] | None:
    """The bundles and revisions in a policy revision; None when it names none, or a bundle has none."""
    if policy_revision is None:
        return None
    try:
        found = decode_object(policy_revision)
    except StrictJsonError:
        return None
    named = {name: revision for name, revision in found.items() if isinstance(revision, str) and revision}
    return named if named and len(named) == len(found) else None
