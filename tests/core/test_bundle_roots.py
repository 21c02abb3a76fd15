"""The roots that a bundle claims: OPA refuses one whose own roots lie below each other."""

from __future__ import annotations

from aioc_opa.core.bundles.roots import overlaps, split_roots, whole_roots

CALLERS = ("system", "callers")
TOKENS = (*CALLERS, "tokens", "guards")
PLACES = [("aioc", "lib"), ("aioc", "owners", "x"), ("system", "authz"), CALLERS, TOKENS]


def test_data_below_a_package_of_system_is_owned_by_the_root_of_the_package() -> None:
    assert whole_roots(PLACES) == (("aioc",), ("system", "authz"), CALLERS)
    assert split_roots(PLACES, [("aioc", "owners")]) == (("aioc", "lib"), ("system", "authz"), CALLERS)


def test_no_root_lies_below_another() -> None:
    for roots in (whole_roots(PLACES), split_roots(PLACES, [("aioc", "lib")])):
        assert [pair for pair in overlaps(roots, roots) if pair[0] != pair[1]] == []
