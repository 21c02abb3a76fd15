"""A key and its file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from aioc_opa.approvals.keys import (
    AccountHolder,
)  # fmt: skip

if TYPE_CHECKING:
    from pathlib import Path

ANN = AccountHolder("ann", "https://id.example", "00u1")


def write(path: Path, value: Any, mode: int = 0o600) -> Path:
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    path.chmod(mode)
    return path


# Private keys
