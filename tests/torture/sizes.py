"""How much is tried: a few in the suite, or what the environment says (`make torture`)."""

from __future__ import annotations

import os
from typing import Final

RACES: Final = int(os.environ.get("AIOC_TORTURE_RACES", "20"))
"""Races of each kind and store."""

CRASHES: Final = int(os.environ.get("AIOC_TORTURE_CRASHES", "4"))
"""Processes killed at a random moment, on each store."""

SEED: Final = int(os.environ.get("AIOC_TORTURE_SEED", "4"))
"""Of the random moments."""

FULL: Final = bool({"AIOC_TORTURE_RACES", "AIOC_TORTURE_CRASHES"} & os.environ.keys())
"""Whether this is `make torture`, which reports what it measured."""
