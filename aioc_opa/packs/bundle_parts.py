"""Which part of a policy a bundle holds, and what it owns: one policy in several bundles, of several teams.

The whole policy is checked and compiled, then the part is taken from it. OPA activates bundles whose roots are
disjoint, in any order; until all are there, what is missing denies (``pack_missing``, ``data_missing``, no decision).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aioc_opa.core.bundles.roots import Path, leaves, overlaps, owns, root_path, split_roots, whole_roots
from aioc_opa.errors import PolicyLoadError
from aioc_opa.packs.namespace import LIBRARY_PLACES
from aioc_opa.packs.routes import has_routes, route_source
from aioc_opa.packs.routes_data import declared_tables, namespaces

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from aioc_opa.core.json_value import JsonObject
    from aioc_opa.packs.policy_folder import LoadedPolicy


@dataclass(frozen=True, slots=True)
class Part:
    """What of a policy goes into one bundle. Without anything: all of it.

    Attributes:
        only: places below ``data``, such as ``aioc/packs/payments``: these, and nothing else.
        without: everything but these, which another bundle owns.
    """

    only: Sequence[str] = ()
    without: Sequence[str] = ()

    @property
    def is_part(self) -> bool:
        """Whether it is less than everything."""
        return bool(self.only or self.without)

    def holds(self, roots: Sequence[Path], package: Path) -> bool:
        """Whether a module of `package` goes in."""
        return owns(roots, package)


WHOLE: Final = Part()


def part_roots(source: str, policy: LoadedPolicy, part: Part) -> tuple[Path, ...]:
    """The roots of a bundle of this part.

    Raises:
        PolicyLoadError: the part contradicts itself, cuts through a module, or leaves a table that its packs declare to
            whoever may write it.
    """
    if part.only and part.without:
        raise PolicyLoadError("bundle: give the places that go in, or those that do not, not both")
    for text in (*part.only, *part.without):
        if "/".join(root_path(text)) != text:
            raise PolicyLoadError(f"bundle: {text!r} is not a place below data, such as aioc/packs/payments")
    places = {*_there(policy), *(table for _, table in declared(source, policy))}
    if has_routes(policy.modules):
        places.update(("aioc", name) for name in LIBRARY_PLACES)
    if not part.is_part:
        return whole_roots(places)
    if part.without:
        return split_roots(places, [root_path(text) for text in part.without])
    roots = tuple(sorted({root_path(text) for text in part.only}))
    for one, other in overlaps(roots, roots):
        if one != other:
            raise PolicyLoadError(f"bundle: {'/'.join(one)} and {'/'.join(other)} are parts of each other")
    for pack, table in declared(source, policy):
        if owns(roots, ("aioc", "packs", pack)) and not owns(roots, table):
            raise PolicyLoadError(
                f"{source}: pack {pack!r} declares data.{'.'.join(table)}, which nobody would own: "
                f"put {'/'.join(table[:1])} into this bundle, or the pack into the one of its tables"
            )
    return roots


def declared(source: str, policy: LoadedPolicy) -> Iterator[tuple[str, Path]]:
    """Each pack, with each path of ``data`` that it declares."""
    return declared_in(source, tuple(policy.modules), policy.data)


def declared_in(source: str, modules: Sequence[str], data: JsonObject) -> Iterator[tuple[str, Path]]:
    """As `declared`, of the paths of modules and data.

    Raises:
        PolicyLoadError: a manifest is refused.
    """
    if not has_routes(modules):
        return
    routed = route_source(source, modules, data)
    above = namespaces(routed.packages)
    for pack, manifest in routed.manifests.items():
        for table in declared_tables(manifest.data, above):
            yield pack, table


def _there(policy: LoadedPolicy) -> Iterator[Path]:
    for name in policy.modules:
        yield tuple(name.split("/")[:-1])
    yield from (leaf for leaf in leaves(policy.data) if leaf)
