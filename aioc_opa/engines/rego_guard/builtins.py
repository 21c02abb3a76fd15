"""The functions that a policy may call on the embedded engine: `builtins.json`, the one place that says it.

The docs print it, the authors' capabilities file is made of it, and two suites justify it: `make conformance` and the
differential fuzz. Every builtin of the pinned OPA is in it, allowed or refused, each with its reason.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Final, Literal

ConstantKind = Literal["integer", "whole", "text", "regex"]
TextKind = Literal["astral", "case"]

DATA_FILE: Final = "builtins.json"


@dataclass(frozen=True, slots=True)
class AllowedBuiltin:
    """Terms on which a builtin is allowed.

    Attributes:
        name: as it is called.
        why: the reason, for the docs.
        constant: index of an argument, to what it must be seen to be.
        only_in: packages that may call it; empty means all.
        text: the kind of characters on which the engines differ; a call that holds one is denied.
    """

    name: str
    why: str
    constant: dict[int, ConstantKind] = field(default_factory=dict)
    only_in: frozenset[str] = frozenset()
    text: TextKind | None = None


@dataclass(frozen=True, slots=True)
class Builtins:
    """The whole list.

    Attributes:
        engine: the version of regorus it was made for.
        opa: the version of OPA it was compared with.
        allowed: by name.
        refused: name to reason.
    """

    engine: str
    opa: str
    allowed: dict[str, AllowedBuiltin]
    refused: dict[str, str]

    def is_builtin(self, name: str) -> bool:
        """Whether `name` is one of OPA's builtins."""
        return name in self.allowed or name in self.refused


@cache
def builtins() -> Builtins:
    """The list, read once from the package's data."""
    raw = json.loads(files(__package__).joinpath(DATA_FILE).read_text("utf-8"))
    return Builtins(
        engine=raw["engine"],
        opa=raw["opa"],
        allowed={
            name: AllowedBuiltin(
                name=name,
                why=terms["why"],
                constant={int(index): kind for index, kind in terms.get("constant", {}).items()},
                only_in=frozenset(terms.get("only_in", ())),
                text=terms.get("text"),
            )
            for name, terms in raw["allowed"].items()
        },
        refused={name: why for why, names in raw["refused"].items() for name in names},
    )
