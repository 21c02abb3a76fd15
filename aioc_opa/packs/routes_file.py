"""Write the routes of a policy folder, or say whether they are current (`aioc-opa routes`)."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from aioc_opa.errors import PolicyLoadError
from aioc_opa.packs.policy_folder import read_policy
from aioc_opa.packs.routes import ROUTES_FILE, generate_routes, has_routes, route_source

if TYPE_CHECKING:
    from aioc_opa.packs.policy_folder import LoadedPolicy


def expected_routes(path: Path, policy: LoadedPolicy) -> str:
    """The text that the routes of `policy` must have.

    Raises:
        PolicyLoadError: owners or manifests are refused, or this is no policy of the library.
    """
    if not has_routes(policy.modules):
        raise PolicyLoadError(f"{path}: no aioc/tool_policy and no aioc/packs here; name the folder that holds aioc/")
    return generate_routes(route_source(str(path), policy.modules, policy.data))


def routes_are_current(policy_dir: Path) -> bool:
    """Whether the routes file of the folder is what `write_routes` would write.

    Raises:
        PolicyLoadError: the folder is refused for another reason.
    """
    policy = read_policy(policy_dir)
    return policy.modules.get(ROUTES_FILE) == expected_routes(policy_dir, policy)


def write_routes(policy_dir: Path) -> bool:
    """Write ``aioc/routes/routes.rego`` below `policy_dir`, in one step.

    Returns:
        Whether anything changed.

    Raises:
        PolicyLoadError: the folder is refused, or cannot be written.
    """
    if not policy_dir.is_dir():
        raise PolicyLoadError(f"{policy_dir}: routes are written into a folder; build the bundle from it afterwards")
    policy = read_policy(policy_dir)
    text = expected_routes(policy_dir, policy)
    if policy.modules.get(ROUTES_FILE) == text:
        return False
    target = policy_dir / ROUTES_FILE
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # Readers see the old file or the new one, never half of it.
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=target.parent, delete=False) as stream:
            stream.write(text)
        Path(stream.name).chmod(0o644)
        Path(stream.name).replace(target)
    except OSError as error:
        raise PolicyLoadError(f"{target}: cannot be written: {error.strerror or error}") from error
    return True
