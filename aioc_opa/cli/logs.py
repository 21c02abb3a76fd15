"""What the package logs while a command runs: nothing, or with `--verbose` all of it, made safe for a terminal."""

from __future__ import annotations

import logging
import sys
from typing import Final

from aioc_opa.cli.terminal import shown

PACKAGE: Final = "aioc_opa"


class _SafeFormatter(logging.Formatter):
    """One line a record: an engine's error text holds argument values, and they hold anything."""

    def format(self, record: logging.LogRecord) -> str:
        return shown(super().format(record), longest=4000)


def configure(*, verbose: bool) -> None:
    """Send the package's log to standard error, or nowhere."""
    logger = logging.getLogger(PACKAGE)
    for handler in list(logger.handlers):
        logger.removeHandler(handler)
    logger.propagate = False
    if not verbose:
        logger.addHandler(logging.NullHandler())
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_SafeFormatter("%(levelname)s %(name)s: %(message)s"))
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
