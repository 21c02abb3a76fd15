"""What `opa` itself refuses, as findings: of parsing, compiling, and types against the contract's schemas."""

from __future__ import annotations

import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from aioc_opa.models.json_schemas import contract_schemas
from aioc_opa.packs.lint.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from subprocess import CompletedProcess

_PLACE: Final = re.compile(r"(?:^|[ \t])([^\s:]+\.rego):([0-9]+): (.+)$", re.MULTILINE)
_UNKNOWN_SCHEMA: Final = "undefined schema"
_MAX_ERRORS: Final = "100"


def error_findings(
    output: CompletedProcess[str], root: Path, rule: str, cure: str, *, file: str = "."
) -> Iterator[Finding]:
    """The errors of a run of `opa` that failed; at least one finding.

    Args:
        output: of the run; `--format json` or plain.
        root: the policy folder, which `opa` ran in.
        rule: the lint rule that speaks.
        cure: what to do.
        file: to name where `opa` names none.
    """
    errors = _json_errors(output.stdout) or _json_errors(output.stderr)
    for error in errors:
        location = error.get("location") or {}
        place = _below(root, location.get("file") or file)
        message = f"{error.get('code', 'error')}: {error.get('message', 'it is refused')}"
        yield Finding(place, int(location.get("row") or 1), rule, _line(message), cure)
    if errors:
        return
    text = output.stderr.strip() or output.stdout.strip()
    places = _PLACE.findall(text)
    for named, line, message in places:
        yield Finding(_below(root, named), int(line), rule, _line(message), cure)
    if not places:
        yield Finding(file, 1, rule, _line(text) or "it fails and says nothing", cure)


def check_policy(root: Path, run: Callable[..., CompletedProcess[str]], ignored: frozenset[str]) -> list[Finding]:
    """What `opa check --strict` says of the folder, with the contract's schemas.

    Args:
        root: the policy folder.
        run: runs `opa` with arguments in that folder.
        ignored: names of folders that are none of the policy.
    """
    ignore = [f"--ignore={name}" for name in sorted(ignored)]
    arguments = ["check", "--strict", "--format=json", f"--max-errors={_MAX_ERRORS}", *ignore]
    with TemporaryDirectory() as schemas:
        for name, schema in contract_schemas().items():
            (Path(schemas) / f"{name}.json").write_text(json.dumps(schema), encoding="utf-8")
        output = run(*arguments, f"--schema={schemas}", "--bundle", ".")
    if _UNKNOWN_SCHEMA in output.stdout + output.stderr:  # the author has schemas of their own, which we do not know
        output = run(*arguments, "--bundle", ".")
    if output.returncode == 0:
        return []
    return list(error_findings(output, root, "opa-check", "correct it: `opa check --strict` refuses the policy"))


def _json_errors(text: str) -> list[dict[str, Any]]:
    try:
        document = json.loads(text)
    except ValueError:
        return []
    errors = document.get("errors") if isinstance(document, dict) else None
    return [error for error in errors if isinstance(error, dict)] if isinstance(errors, list) else []


def _below(root: Path, file: str) -> str:
    path = Path(file)
    return (path.relative_to(root.resolve()) if path.is_relative_to(root.resolve()) else path).as_posix()


def _line(text: str) -> str:
    """A text on one line: the first is what is wrong, later ones say where."""
    return " ".join(text.split())
