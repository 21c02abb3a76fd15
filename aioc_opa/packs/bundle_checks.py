"""What a bundle, and a set of bundles that OPA is to activate together, must satisfy beside a signature."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from aioc_opa.core.bundles.roots import overlaps, owns
from aioc_opa.core.rfc3339 import parse_rfc3339
from aioc_opa.errors import PolicyLoadError
from aioc_opa.packs.bundle_parts import declared_in
from aioc_opa.packs.data_documents import merge_documents
from aioc_opa.packs.library_files import check_library
from aioc_opa.packs.routes import check_routes, has_routes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from aioc_opa.core.bundles.revision import Revision
    from aioc_opa.core.bundles.roots import Path
    from aioc_opa.models.bundle_statement import BundleStatement
    from aioc_opa.packs.bundle_file import BundleFile


@dataclass(frozen=True, slots=True, kw_only=True)
class Predecessor:
    """A bundle that was accepted before.

    Attributes:
        name: of its statement; None where only a revision is known, of the one bundle in question.
        revision: its counter and its content.
        minimum_counter: the one that it set.
    """

    name: str | None
    revision: Revision
    minimum_counter: int = 0


def predecessor(bundle: BundleFile) -> Predecessor:
    """What `bundle`, which was accepted before, asks of those that follow it."""
    statement = bundle.statement
    return Predecessor(name=statement.name, revision=bundle.revision, minimum_counter=statement.minimum_counter)


@dataclass(frozen=True, slots=True)
class BundleCheck:
    """One thing that was looked at.

    Attributes:
        check: a stable word: ``signature``, ``content``, ``expiry``, ``counter``, ``roots``, ``policy``.
        ok: whether it holds; None when it was not looked at.
        text: in words.
    """

    check: str
    ok: bool | None
    text: str


def expiry_check(bundle: BundleFile, *, at: datetime) -> BundleCheck:
    """Whether the bundle has not expired at `at`, which has an offset."""
    expires = bundle.statement.expires_at
    moment = None if expires is None else parse_rfc3339(expires)
    if moment is None:
        return BundleCheck("expiry", None, "the publisher gave no expiry")
    if at >= moment:
        return BundleCheck("expiry", ok=False, text=f"expired at {expires}")
    return BundleCheck("expiry", ok=True, text=f"expires at {expires}")


def counter_check(bundle: BundleFile, *, minimum: int | None, after: Sequence[Predecessor]) -> BundleCheck:
    """Whether this is no older bundle that is served again.

    Args:
        bundle: the one in question.
        minimum: the least counter that counts, when the caller knows one.
        after: bundles of the same name that were accepted before: the counter may not go back behind one of them, nor
            come again with other content or a lower minimum.
    """
    statement = bundle.statement
    if minimum is None and not after:
        return BundleCheck("counter", None, f"counter {statement.counter}; no minimum was asked for")
    if minimum is not None and statement.counter < minimum:
        return BundleCheck("counter", ok=False, text=f"counter {statement.counter} is below the minimum {minimum}")
    for other in after:
        if problem := _step_back(statement, other):
            return BundleCheck("counter", ok=False, text=f"counter {statement.counter} {problem}")
    return BundleCheck("counter", ok=True, text=f"counter {statement.counter}")


def _step_back(statement: BundleStatement, other: Predecessor) -> str | None:
    counter = other.revision.counter
    if statement.counter < other.minimum_counter:
        return f"was withdrawn by {counter}, whose minimum is {other.minimum_counter}"
    if statement.counter < counter:
        return f"is a rollback: {counter} was accepted before; publish older content under a higher counter"
    if statement.counter == counter and statement.digest != other.revision.digest:
        return "was given to other content before"
    if statement.counter == counter and statement.minimum_counter < other.minimum_counter:
        return f"lowers the minimum from {other.minimum_counter}"
    return None


def together_checks(bundles: Sequence[BundleFile]) -> Iterator[BundleCheck]:
    """Whether OPA would activate these together, and whether together they are a whole, sound policy."""
    names = [bundle.statement.name for bundle in bundles]
    doubles = sorted({name for name in names if names.count(name) > 1})
    if doubles:
        yield BundleCheck("roots", ok=False, text=f"two bundles are called {doubles[0]!r}")
    found = list(_overlaps(bundles))
    for text in found:
        yield BundleCheck("roots", ok=False, text=text)
    if found or doubles:
        return
    roots = [root for bundle in bundles for root in bundle.roots]
    yield BundleCheck("roots", ok=True, text=", ".join(_text(root) for root in sorted(roots)))
    if len(bundles) == 1 and bundles[0].statement.part:
        yield BundleCheck("policy", None, "a part of a policy: give the other bundles too, to check the whole")
        return
    yield _policy(bundles, roots)


def _overlaps(bundles: Sequence[BundleFile]) -> Iterator[str]:
    for left, right in combinations(bundles, 2):
        for one, other in overlaps(left.roots, right.roots):
            names = f"{left.statement.name!r} owns {_text(one)}, {right.statement.name!r} owns {_text(other)}"
            yield f"{names}: roots overlap, and OPA would activate neither"


def _policy(bundles: Sequence[BundleFile], roots: Sequence[Path]) -> BundleCheck:
    modules = {name: text for bundle in bundles for name, text in bundle.modules.items()}
    names = " + ".join(bundle.statement.name for bundle in bundles)
    try:
        data = merge_documents(names, {f"{bundle.statement.name}.json": bundle.data for bundle in bundles})
        if has_routes(modules):
            check_library(names, modules, unsafe_changed_library=False)
            check_routes(names, modules, data)
        for pack, table in declared_in(names, tuple(modules), data):
            if not owns(roots, table):
                raise PolicyLoadError(f"{names}: pack {pack!r} declares data.{'.'.join(table)}, which nobody owns")
    except PolicyLoadError as error:
        return BundleCheck("policy", ok=False, text=str(error))
    return BundleCheck("policy", ok=True, text=f"{len(modules)} modules, with routes and library as they must be")


def _text(root: Path) -> str:
    return "/".join(root)
