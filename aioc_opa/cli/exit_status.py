"""Exit statuses of `aioc-opa`. 0 is never an accident: it says *allow*, *as expected* or *done*."""

from __future__ import annotations

from enum import IntEnum


class ExitStatus(IntEnum):
    """What the shell sees."""

    OK = 0
    """Allow; or every expectation met; or done."""

    DIFFERENT = 1
    """An expectation differs, two engines differ, the lint or a check found something."""

    USAGE = 2
    """Wrong usage."""

    UNUSABLE = 3
    """A file cannot be read, or is not what it should be."""

    DENY = 10
    APPROVAL_REQUIRED = 11
    INVALID_ARGUMENTS = 12

    INTERNAL = 70
    """A fault of this program (EX_SOFTWARE of sysexits). Nothing was decided."""

    OUTPUT = 74
    """The output cannot be written (EX_IOERR): closed by its reader, or a full disk. What was decided was not said."""

    INTERRUPTED = 130
    """By a key or SIGINT, as shells have it: 128 + 2."""


OF_OUTCOME = {
    "allow": ExitStatus.OK,
    "deny": ExitStatus.DENY,
    "approval_required": ExitStatus.APPROVAL_REQUIRED,
    "invalid_arguments": ExitStatus.INVALID_ARGUMENTS,
}
"""A missing outcome is a KeyError, and so a nonzero exit."""
