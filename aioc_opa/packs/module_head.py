"""Which package a Rego module is in, read without a Rego parser.

The package clause is the first statement of a module (https://www.openpolicyagent.org/docs/policy-language#modules).
Only the plain form is taken, ``package a.b.c`` on one line, so that what is read here cannot be something else to an
engine. The loader needs it on machines without `opa`; the engines parse the rest.
"""

from __future__ import annotations

import re
from typing import Final

# Letters, digits and underscores only: `["…"]` in a package is for names that a folder cannot have.
_PACKAGE: Final = re.compile(r"package[ \t]+([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*)[ \t]*(?:#.*)?")


class ModuleHeadError(ValueError):
    """The package cannot be read; the message says why."""


def package_of(source: str) -> tuple[str, ...]:
    """The package of a module, as segments.

    Raises:
        ModuleHeadError: there is no plain package clause before everything else.
    """
    # A lone carriage return ends a line for some readers and not for others: it could hide a statement in a comment.
    if "\r" in source.replace("\r\n", "\n"):
        raise ModuleHeadError("a carriage return without a line feed is refused")
    for number, line in enumerate(source.split("\n"), start=1):
        text = line.strip(" \t\r")
        if not text or text.startswith("#"):
            continue
        match = _PACKAGE.fullmatch(text)
        if match is None:
            raise ModuleHeadError(f"line {number}: the first statement must be `package a.b.c`, on a line of its own")
        return tuple(match[1].split("."))
    raise ModuleHeadError("no package clause")
