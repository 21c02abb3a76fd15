"""Hold the library's modules in a policy to those that this version of the package was tested with (design 5).

A module beside the library's own adds rules to them: ``allow contains …`` in ``aioc/routes`` is a route that no owner
has, ``_allows contains …`` in ``aioc/tool_policy`` an allow without any pack. So below the library's folders nothing
but its files may lie, as they are in `DIGESTS_FILE`, which ``scripts/generate-library-digests`` writes.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from aioc_opa.errors import PolicyLoadError
from aioc_opa.packs.routes import ROUTES_FILE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

DIGESTS_FILE: Final = "library_digests.json"
_FOLDERS: Final = ("aioc/lib/", "aioc/tool_policy/", "aioc/tool_access/", "aioc/handoff_policy/")
_ROUTES_FOLDER: Final = ROUTES_FILE.rpartition("/")[0] + "/"


class UnsafeChangedLibraryWarning(UserWarning):
    """A policy was loaded although the library in it is not the one of this package."""


def library_digests(modules: Mapping[str, str]) -> dict[str, str]:
    """SHA-256 of the UTF-8 text of each library module among `modules`, by its path; the generated routes left out."""
    return {
        name: hashlib.sha256(text.encode()).hexdigest()
        for name, text in sorted(modules.items())
        if name.startswith(_FOLDERS)
    }


def library_problems(modules: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Every file that makes the library in `modules` another than the known one, and what is wrong with it.

    A folder of the library may be missing as a whole: then what calls it is undefined, or does not load.
    """
    known, present = _known(), library_digests(modules)
    folders = {name.rpartition("/")[0] for name in present}
    for name, digest in present.items():
        if name not in known:
            yield name, "is no file of the library, and could add rules to it"
        elif digest != known[name]:
            yield name, "is not the library's of this version of aioc_opa"
    for name in known:
        if name not in present and name.rpartition("/")[0] in folders:
            yield name, "is missing from its folder"


def stray_routes(modules: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Modules beside the generated routes."""
    for name in sorted(modules):
        if name.startswith(_ROUTES_FOLDER) and name != ROUTES_FILE:
            yield name, f"lies beside {ROUTES_FILE}, and could route tools that nobody owns"


def check_library(source: str, modules: Mapping[str, str], *, unsafe_changed_library: bool) -> None:
    """Refuse a policy whose library is not the known one, or whose routes have company.

    Args:
        source: the policy, for messages.
        modules: of a policy of the library.
        unsafe_changed_library: only warn of the former.

    Raises:
        PolicyLoadError: it is.
    """
    for name, problem in stray_routes(modules):
        raise PolicyLoadError(f"{source}: {name}: {problem}; remove it")
    changed = [f"{name}: {problem}" for name, problem in library_problems(modules)]
    if not changed:
        return
    if not unsafe_changed_library:
        raise PolicyLoadError(
            f"{source}: {changed[0]}; take the library of the version that is installed, "
            "or say load_policy(…, unsafe_changed_library=True) and answer for it"
        )
    warnings.warn(
        f"{source}: the library is not the one of this version of aioc_opa: {'; '.join(changed)}",
        UnsafeChangedLibraryWarning,
        stacklevel=3,
    )


@cache
def _known() -> dict[str, str]:
    found: dict[str, str] = json.loads(files("aioc_opa.packs").joinpath(DIGESTS_FILE).read_text("utf-8"))
    return found
