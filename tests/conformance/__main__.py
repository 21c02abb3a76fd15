"""`make conformance`: OPA's evaluation suite on the embedded engine, against the list of what is known to differ.

Each case runs twice: as it is, and behind the load guard (with `import future.keywords.not`, under which OPA's own
runner expects the same). A difference that the list does not have fails the run, and so does an entry that no longer
differs. Behind the guard nothing may be silently other: no other value, no undefined for a value, no value for an
error. Only errors are left, and an error is a deny. `--update` writes the list anew, never those.
"""

from __future__ import annotations

# ruff: noqa: T201 - a command: it prints its findings
import json
import sys
from collections import defaultdict
from pathlib import Path

from tests.conformance.guarding import refusals
from tests.conformance.opa_cases import OpaCase, SuiteMissingError, load_cases, suite_folder, with_not_import
from tests.conformance.verdicts import SHY, Verdict, judge

ROOT = Path(__file__).resolve().parents[2]
KNOWN = Path(__file__).with_name("known_differences.json")

Differences = dict[str, list[str]]


def main(arguments: list[str]) -> int:
    """Exit status: 0 as listed, 1 something differs from the list, 3 the suite is not there."""
    version = (ROOT / ".opa-version").read_text().strip()
    try:
        cases = load_cases(suite_folder(version))
    except SuiteMissingError as error:
        print(error, file=sys.stderr)
        return 3
    plain = run(cases, guard=False)
    guarded = run(cases, guard=True)
    for title, verdicts in (("without the load guard", plain), ("behind the load guard", guarded)):
        print(f"{title}: " + ", ".join(f"{len(notes)} {kind}" for kind, notes in sorted(verdicts.items())))
    found = {
        "opa": version,
        "without_guard": _listed(plain, frozenset()),
        "with_guard": _listed(guarded, SHY - {Verdict.ERROR}),
    }
    silent = {kind: notes for kind, notes in guarded.items() if kind not in SHY and kind != Verdict.SAME}
    for kind, notes in silent.items():
        print(f"behind the guard, {kind}: {notes}", file=sys.stderr)
    if "--update" in arguments and not silent:
        KNOWN.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
    problems = compare(json.loads(KNOWN.read_text()), found)
    for problem in problems:
        print(problem, file=sys.stderr)
    failed = len(problems) + sum(map(len, silent.values()))
    print(f"{2 * len(cases) - failed} passed, {failed} failed")
    return 1 if failed else 0


def run(cases: list[OpaCase], *, guard: bool) -> dict[Verdict, list[str]]:
    """Notes of the cases by verdict."""
    verdicts: dict[Verdict, list[str]] = defaultdict(list)
    for case in cases:
        modules = tuple(map(with_not_import, case.modules)) if guard else case.modules
        verdicts[judge(case, refusals if guard else None, modules)].append(case.note)
    return verdicts


def compare(known: dict[str, object], found: dict[str, object]) -> list[str]:
    """New differences and stale entries, one line each."""
    problems = []
    if known["opa"] != found["opa"]:
        problems.append(f"the list was made for OPA {known['opa']}, not {found['opa']}: run with --update and review")
    for part in ("without_guard", "with_guard"):
        before, now = _flat(known[part]), _flat(found[part])
        problems += [f"{part}: new difference: {note}: {kind}" for kind, note in sorted(now - before)]
        problems += [f"{part}: no longer so: {note}: {kind}" for kind, note in sorted(before - now)]
    return problems


def _flat(differences: object) -> set[tuple[str, str]]:
    assert isinstance(differences, dict)
    return {(kind, note) for kind, notes in differences.items() for note in notes}


def _listed(verdicts: dict[Verdict, list[str]], left_out: frozenset[Verdict]) -> Differences:
    return {
        kind.value: sorted(notes)
        for kind, notes in verdicts.items()
        if kind not in left_out and kind is not Verdict.SAME and kind is not Verdict.NOT_ASKED
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
