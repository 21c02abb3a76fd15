"""What a load check reports: the place, the rule it breaks, and the cure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One construct on which the embedded engine is known to answer otherwise than OPA.

    Attributes:
        file: path of the module as it was loaded.
        line: 1-based.
        column: 1-based.
        rule: stable word, a row of docs/embedded-engine.md.
        problem: what is there.
        cure: what to write instead.
    """

    file: str
    line: int
    column: int
    rule: str
    problem: str
    cure: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.problem} [{self.rule}]; {self.cure}"
