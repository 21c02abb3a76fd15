"""Write a policy folder to start from: the library, no packs, nobody owns a tool (`aioc-opa new policy`).

The library lies in `rego/` of the source tree, once. A wheel gets a copy when it is built (`setup.py`).
"""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING, Final

from aioc_opa.errors import PolicyLoadError
from aioc_opa.packs.library_parts import LIBRARY_PARTS
from aioc_opa.packs.routes import ROUTES_FILE
from aioc_opa.packs.routes_file import write_routes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.resources.abc import Traversable
    from pathlib import Path

_ENTRYPOINT: Final = "aioc/tool_policy/tool_policy.rego"
_OWN_FILES: Final = {
    "README.md": "policy_README.md.tmpl",
    "aioc/owners/data.json": "owners.json.tmpl",
    "aioc/handoffs/data.json": "handoffs.json.tmpl",
    "aioc/access/data.json": "access.json.tmpl",
    "aioc/access_rules/access_rules.rego": "access_rules.rego.tmpl",
    "aioc/access_rules/access_rules_test.rego": "access_rules_test.rego.tmpl",
    "aioc/routes/routes_test.rego": "routes_test.rego.tmpl",
}


def new_policy(folder: Path) -> list[Path]:
    """Write a policy folder that lints, checks and tests clean, and allows nothing.

    Args:
        folder: not there yet, or empty.

    Returns:
        What was written.

    Raises:
        PolicyLoadError: the folder holds something, or cannot be written; or this installation lacks the library.
    """
    files = library_files()
    templates = resources.files("aioc_opa.packs").joinpath("template")
    for path, template in _OWN_FILES.items():
        files[path] = templates.joinpath(template).read_bytes()
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise PolicyLoadError(f"{folder}: is there already, and not an empty folder; name a new one")
        for path, content in files.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
    except OSError as error:
        raise PolicyLoadError(f"{error.filename or folder}: cannot be written: {error.strerror or error}") from error
    write_routes(folder)
    return sorted(folder / path for path in (*files, ROUTES_FILE))


def library_files() -> dict[str, bytes]:
    """The library's files, tests included: path in a policy folder to content.

    Raises:
        PolicyLoadError: this installation lacks them.
    """
    package = resources.files("aioc_opa")
    for root in (package.joinpath("packs", "library"), package.joinpath("..", "rego")):
        if root.joinpath(*_ENTRYPOINT.split("/")).is_file():
            return {path: content for part in LIBRARY_PARTS for path, content in _below(root, part)}
    raise PolicyLoadError("this installation lacks the Rego library; install aioc-opa from a wheel or a whole checkout")


def _below(root: Traversable, path: str) -> Iterator[tuple[str, bytes]]:
    for entry in sorted(root.joinpath(*path.split("/")).iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _below(root, f"{path}/{entry.name}")
        elif entry.name.endswith(".rego") or entry.name == "data.json":
            yield f"{path}/{entry.name}", entry.read_bytes()
