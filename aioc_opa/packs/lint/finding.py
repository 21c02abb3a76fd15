"""One thing that the lint found, and how it reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One finding.

    Attributes:
        file: path below the policy folder.
        line: from 1.
        rule: the lint rule's name.
        message: what is wrong.
        cure: what to do.
        severity: ``error`` fails the lint, ``warning`` does not.
    """

    file: str
    line: int
    rule: str
    message: str
    cure: str
    severity: Literal["error", "warning"] = "error"

    def __str__(self) -> str:
        mark = "" if self.severity == "error" else "warning: "
        return f"{self.file}:{self.line}: {self.rule}: {mark}{self.message} — {self.cure}"


def exit_code(findings: Iterable[Finding]) -> int:
    """0 when nothing but warnings was found, else 1."""
    return int(any(finding.severity == "error" for finding in findings))
