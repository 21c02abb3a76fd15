"""Verify bundles offline: the signature by OPA, and what OPA's signing leaves open by us.

In this order, per bundle; what cannot be read is not looked at further:

1. a plain copy of exactly the files that we have read is made (`engines.local_opa_signature`), and from here on it is
   the copy that counts;
2. its content is that of the digest in its revision (`packs.bundle_file`);
3. `opa` verifies the signature over the copy; a part of a policy, with the other parts beside it;
4. it has not expired, and its counter neither is below the minimum nor goes back behind what was accepted before.

And the bundles together: disjoint roots, current routes, the library of this package, all declared tables owned.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from aioc_opa.engines.local_opa_signature import BundleVerification, plain_copy, verify_copies
from aioc_opa.errors import PolicyLoadError
from aioc_opa.packs.bundle_checks import BundleCheck, Predecessor, counter_check, expiry_check, together_checks
from aioc_opa.packs.bundle_file import BundleFile, read_bundle

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from aioc_opa.engines.opa_binary import OpaBinary


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleDemands:
    """What a verifier asks of every bundle.

    Attributes:
        signature: the key; None takes any bundle, and no check says that its signature holds.
        at: the time, with an offset, by which it must not have expired.
        minimum_counter: of every bundle, when the caller knows one.
        after: bundles accepted before. Each must be followed by one of those that are verified, or none is.
    """

    signature: BundleVerification | None
    at: datetime
    minimum_counter: int | None
    after: Sequence[Predecessor]


@dataclass(frozen=True, slots=True)
class VerifiedBundle:
    """One bundle and what was found. `bundle` is None when it cannot be read, or its signature does not hold."""

    path: Path
    bundle: BundleFile | None
    checks: tuple[BundleCheck, ...]


@dataclass(frozen=True, slots=True)
class VerificationReport:
    """What `verify_bundles` found.

    Attributes:
        bundles: one by one.
        together: of all of them; empty when one could not be read.
    """

    bundles: tuple[VerifiedBundle, ...]
    together: tuple[BundleCheck, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing failed. What was not asked for has not failed."""
        checks = [check for each in self.bundles for check in each.checks]
        return bool(self.bundles) and all(check.ok is not False for check in [*checks, *self.together])


def verify_bundles(paths: Sequence[Path], demands: BundleDemands, *, binary: OpaBinary) -> VerificationReport:
    """Verify bundles that are to be activated together.

    Args:
        paths: of the archives.
        demands: what to hold them to.
        binary: the `opa` that verifies signatures; no server is needed.
    """
    with tempfile.TemporaryDirectory(prefix="aioc-opa-verify-") as folder:
        places = [_plain(path, index, demands, Path(folder)) for index, path in enumerate(paths)]
        read = [_read(place) if isinstance(place, Path) else place for place in places]
        bundles = [each for each in read if isinstance(each, BundleFile)]
        together = tuple(together_checks(bundles)) if len(bundles) == len(paths) else ()
        followed = tuple(_followed(demands, bundles, len(paths)))
        joint = bool(together) and all(check.ok for check in together if check.check == "roots")
        found = []
        for path, place, each in zip(paths, places, read, strict=True):
            if not isinstance(each, BundleFile) or not isinstance(place, Path):
                found.append(VerifiedBundle(path, None, (BundleCheck("content", ok=False, text=str(each)),)))
                continue
            # OPA compiles what it verifies, and a part of a policy compiles with the other parts only.
            copies = {place: path}
            if each.statement.part and joint:
                copies = {copy: of for copy, of in zip(places, paths, strict=True) if isinstance(copy, Path)}
            signature = _signature(copies, demands.signature, binary)
            checks = (signature, *_checks(each, demands, alone=len(paths) == 1))
            found.append(VerifiedBundle(path, None if signature.ok is False else each, checks))
    return VerificationReport(tuple(found), (*together, *followed))


def _plain(path: Path, index: int, demands: BundleDemands, folder: Path) -> Path | PolicyLoadError:
    if demands.signature is None:
        return path
    try:
        return plain_copy(path, into=folder, name=f"bundle-{index}.tar.gz")
    except PolicyLoadError as error:
        return error


def _read(place: Path) -> BundleFile | PolicyLoadError:
    try:
        return read_bundle(place)
    except PolicyLoadError as error:
        return error


def _signature(copies: Mapping[Path, Path], demanded: BundleVerification | None, binary: OpaBinary) -> BundleCheck:
    if demanded is None:
        return BundleCheck("signature", None, "not verified: no key was given")
    try:
        verify_copies(copies, demanded, binary=binary)
    except PolicyLoadError as error:
        return BundleCheck("signature", ok=False, text=str(error))
    return BundleCheck("signature", ok=True, text="OPA verifies it with the given key")


def _followed(demands: BundleDemands, bundles: Sequence[BundleFile], count: int) -> Iterator[BundleCheck]:
    """Failing checks of those accepted before that nothing here follows: a counter of theirs would go unchecked."""
    names = {bundle.statement.name for bundle in bundles}
    for other in demands.after:
        if other.name is None and count != 1:
            text = f"revision {other.revision} was accepted before: say of which bundle, as NAME=REVISION"
            yield BundleCheck("counter", ok=False, text=text)
        elif other.name is not None and other.name not in names and len(bundles) == count:
            yield BundleCheck(
                "counter", ok=False, text=f"{other.name!r} was accepted before, and nothing here follows it"
            )


def _checks(bundle: BundleFile, demands: BundleDemands, *, alone: bool) -> tuple[BundleCheck, ...]:
    name = bundle.statement.name
    after = [other for other in demands.after if other.name == name or (alone and other.name is None)]
    return (
        BundleCheck("content", ok=True, text=f"{name} {bundle.revision}"),
        expiry_check(bundle, at=demands.at),
        counter_check(bundle, minimum=demands.minimum_counter, after=after),
    )
