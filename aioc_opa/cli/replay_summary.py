"""What a replay found: decisions by tool, reasons counted, the comparison; as tables or as one JSON document."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from rich.table import Table

from aioc_opa.cli.decision_document import ENGINE_FAULTS, ENGINES_DIFFER
from aioc_opa.cli.exit_status import OF_OUTCOME
from aioc_opa.cli.terminal import cell, shown, stdout_console
from aioc_opa.core.reasons import RESERVED

if TYPE_CHECKING:
    from aioc_opa.cli.decision_document import Document
    from aioc_opa.cli.expectations import Comparison, Difference, Expected

OUTCOMES: Final = tuple(OF_OUTCOME)


@dataclass(slots=True)
class Summary:
    """Counts of one replay.

    Attributes:
        comparison: with `--expect`.
        reasons: how many calls have each code; the runtime's own reasons are among them.
        engines: who answered, name and version; `asked` has the bare names, for a replay in which nobody did.
        runtime: calls that the runtime denied because policy could not be asked or did not answer well.
        engine_faults: those of them that no expectation names, by reason: calls that have not been decided.
        engines_differ: calls that two engines decide differently.
    """

    comparison: Comparison | None = None
    calls: int = 0
    duration_ms: float = 0.0
    by_tool: dict[str, Counter[str]] = field(default_factory=dict)
    reasons: Counter[str] = field(default_factory=Counter)
    engines: set[str] = field(default_factory=set)
    asked: set[str] = field(default_factory=set)
    revisions: Counter[str] = field(default_factory=Counter)
    runtime: int = 0
    engine_faults: Counter[str] = field(default_factory=Counter)
    engines_differ: int = 0

    def add(self, identifier: str, tool: str, document: Document) -> None:
        """Count one decision."""
        self.calls += 1
        self.duration_ms += document["durationMs"]
        self.by_tool.setdefault(tool, Counter())[document["outcome"]] += 1
        codes = document["reasons"] or ([] if document["outcome"] == "allow" else [document["reason"]])
        self.reasons.update(set(codes))
        if document["policyRevision"] is not None:
            self.revisions[document["policyRevision"]] += 1
        denied_by_runtime = document["reason"] in RESERVED
        self.runtime += document["stage"] == "policy" and denied_by_runtime
        answered = document["stage"] == "policy" and not denied_by_runtime
        (self.engines if answered else self.asked).add(document["engine"])
        self.engines_differ += document["reason"] == ENGINES_DIFFER
        expected = self.comparison is not None and self.comparison.add(identifier, document)
        if document["reason"] in ENGINE_FAULTS and not expected:
            self.engine_faults[document["reason"]] += 1

    @property
    def failed(self) -> bool:
        """Whether an expectation or an engine differs, or a call was not decided (by two engines: by neither)."""
        differs = self.comparison is not None and self.comparison.different
        return bool(self.engines_differ or self.engine_faults or differs)

    def document(self) -> dict[str, Any]:
        """The summary as JSON."""
        found: dict[str, Any] = {
            "calls": self.calls,
            "outcomes": {name: sum(counts[name] for counts in self.by_tool.values()) for name in OUTCOMES},
            "tools": {tool: {name: counts[name] for name in OUTCOMES} for tool, counts in sorted(self.by_tool.items())},
            "reasons": dict(sorted(self.reasons.items())),
            "deniedByRuntime": self.runtime,
            "engineFaults": dict(sorted(self.engine_faults.items())),
            "enginesDiffer": self.engines_differ,
            "engines": sorted(self.engines or self.asked),
            "policyRevisions": sorted(self.revisions),
            "durationMs": round(self.duration_ms, 3),
            "expectations": None,
        }
        if self.comparison is not None:
            found["expectations"] = {
                "compared": self.comparison.compared,
                "different": self.comparison.different,
                "first": [_difference(each) for each in self.comparison.first],
            }
        return found

    def print(self) -> None:
        """The summary for people, on standard output."""
        console = stdout_console()
        table = Table(title="Decisions by tool", title_justify="left")
        table.add_column("tool")
        for name in ("calls", *OUTCOMES):
            table.add_column(name, justify="right")
        for tool, counts in sorted(self.by_tool.items()):
            table.add_row(cell(tool), str(counts.total()), *(str(counts[name]) for name in OUTCOMES))
        totals = self.document()["outcomes"]
        table.add_section()
        table.add_row("total", str(self.calls), *(str(totals[name]) for name in OUTCOMES))
        console.print(table)
        if self.reasons:
            reasons = Table(title="Reasons", title_justify="left")
            reasons.add_column("code")
            reasons.add_column("calls", justify="right")
            for code, count in sorted(self.reasons.items(), key=lambda item: (-item[1], item[0])):
                reasons.add_row(cell(code), str(count))
            console.print(reasons)
        console.print(f"engine: {', '.join(map(shown, sorted(self.engines or self.asked)))}", soft_wrap=True)
        for revision in sorted(self.revisions):
            console.print(f"policy revision: {shown(revision)}", soft_wrap=True)
        mean = self.duration_ms / max(self.calls, 1)
        console.print(f"{self.calls} calls decided, {mean:.3f} ms each", soft_wrap=True)
        self._print_comparison()

    def _print_comparison(self) -> None:
        console = stdout_console()
        for reason, count in sorted(self.engine_faults.items()):
            console.print(f"NOT DECIDED by any engine: {count} ({reason})", soft_wrap=True)
        if self.engines_differ:
            console.print(f"{self.engines_differ} calls on which the engines differ", soft_wrap=True)
        if self.comparison is None:
            return
        if not self.comparison.different:
            console.print(f"as expected: {self.comparison.equal} of {self.calls}", soft_wrap=True)
            return
        console.print(
            f"DIFFERENT from what was expected: {self.comparison.different} (equal: {self.comparison.equal})",
            soft_wrap=True,
        )
        table = Table(title=f"The first {len(self.comparison.first)}", title_justify="left")
        for name in ("id", "expected", "got"):
            table.add_column(name, overflow="fold")
        for each in self.comparison.first:
            wanted = "no expectation" if each.expected is None else each.expected
            got = "no such call" if each.got is None else each.got
            table.add_row(cell(each.id), cell(wanted), cell(got))
        console.print(table)


def _difference(difference: Difference) -> dict[str, Any]:
    sides = {"expected": difference.expected, "got": difference.got}
    return {"id": difference.id} | {side: None if value is None else _expected(value) for side, value in sides.items()}


def _expected(value: Expected) -> dict[str, Any]:
    named = {} if value.reason is None else {"reason": value.reason}
    return {"decision": value.decision, "reasons": list(value.reasons), **named}
