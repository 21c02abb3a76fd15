"""EXPECTED.jsonl: what a replay should decide, and where it does not.

A line is ``{"id", "decision", "reasons"}``: `decision` is an outcome, `reasons` the set of codes. A call without an
expectation and an expectation without a call are differences too: what is not compared has not been checked. So is a
denial of the runtime's own: it has no codes, and nobody looked at the call. A line that expects one names it,
``"reason": "policy_timeout"``; a line may name any other reason as well.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from aioc_opa.cli.call_document import text_at
from aioc_opa.cli.exit_status import OF_OUTCOME
from aioc_opa.cli.json_files import JsonDocument, read_lines
from aioc_opa.core.reasons import RESERVED
from aioc_opa.errors import InputFileError

if TYPE_CHECKING:
    from pathlib import Path

    from aioc_opa.cli.decision_document import Document

MOST_KEPT: Final = 10
"""Differences that are shown."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What one call should give, or gave.

    Attributes:
        decision: the outcome.
        reasons: codes of verdicts, sorted.
        reason: the one reason; None where an expectation does not name it. A reserved one is always named.
    """

    decision: str
    reasons: tuple[str, ...]
    reason: str | None = None

    def __str__(self) -> str:
        return f"{self.decision} ({', '.join(self.reasons) or self.reason or 'no reasons'})"

    def is_met_by(self, got: Expected) -> bool:
        """Whether a call that gave `got` is as expected."""
        named = self.reason == got.reason or (self.reason is None and got.reason not in RESERVED)
        return named and (self.decision, self.reasons) == (got.decision, got.reasons)


@dataclass(frozen=True, slots=True)
class Difference:
    """A call that was decided otherwise. `expected` or `got` is None where there is none."""

    id: str
    expected: Expected | None
    got: Expected | None


@dataclass(slots=True)
class Comparison:
    """Expectations, and what has been found against them.

    Attributes:
        expected: by id.
        compared: calls that had an expectation.
        equal: those that met it.
        different: all differences, those that are not kept included.
        first: the first `MOST_KEPT` of them.
    """

    expected: dict[str, Expected]
    compared: int = 0
    equal: int = 0
    different: int = 0
    first: list[Difference] = field(default_factory=list)
    _open: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        """All expectations are open."""
        self._open = set(self.expected)

    def add(self, identifier: str, document: Document) -> bool:
        """Compare one decision, and say whether it is as expected."""
        got = Expected(document["outcome"], tuple(sorted(set(document["reasons"]))), document["reason"])
        wanted = self.expected.get(identifier)
        self._open.discard(identifier)
        if wanted is not None:
            self.compared += 1
        met = wanted is not None and wanted.is_met_by(got)
        if met:
            self.equal += 1
        else:
            self._differs(Difference(identifier, wanted, got))
        return met

    def close(self) -> None:
        """Count the expectations that no call met."""
        for identifier in self.expected:
            if identifier in self._open:
                self._differs(Difference(identifier, self.expected[identifier], None))

    def _differs(self, difference: Difference) -> None:
        self.different += 1
        if len(self.first) < MOST_KEPT:
            self.first.append(difference)


def read_expected(path: Path) -> Comparison:
    """The expectations in the file at `path`.

    Raises:
        InputFileError: it cannot be read, holds none, or is not what it should be; the message has the line.
    """
    expected: dict[str, Expected] = {}
    for document in read_lines(path):
        identifier = text_at(document, "id")
        if identifier in expected:
            raise InputFileError(f"{document.source}: $.id: another line has this id")
        expected[identifier] = _expectation(document)
    if not expected:
        raise InputFileError(f"{path}: no expectation in it")
    return Comparison(expected)


def _expectation(document: JsonDocument) -> Expected:
    decision = text_at(document, "decision")
    if decision not in OF_OUTCOME:
        raise InputFileError(f"{document.source}: $.decision: expected one of {', '.join(OF_OUTCOME)}")
    reasons = document.value.get("reasons")
    if type(reasons) is not list:
        raise InputFileError(f"{document.source}: $.reasons: expected an array of codes")
    codes = [code for code in reasons if type(code) is str]
    if len(codes) != len(reasons):
        raise InputFileError(f"{document.source}: $.reasons: expected an array of codes")
    reason = text_at(document, "reason") if "reason" in document.value else None
    return Expected(decision, tuple(sorted(set(codes))), reason)
