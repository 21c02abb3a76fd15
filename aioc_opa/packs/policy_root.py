"""Tell a policy folder from any other, before something is written into it or said of all that lies below it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aioc_opa.errors import PolicyLoadError

if TYPE_CHECKING:
    from pathlib import Path

_ENTRYPOINT: Final = "aioc/tool_policy/tool_policy.rego"


def check_is_policy(folder: Path) -> None:
    """Refuse a folder that is not the root of a policy: its parent, its part, or something else.

    Raises:
        PolicyLoadError: it holds no module of the tool decision.
    """
    if not (folder / _ENTRYPOINT).is_file():
        raise PolicyLoadError(f"{folder}: holds no {_ENTRYPOINT}; start with `aioc-opa new policy`")
