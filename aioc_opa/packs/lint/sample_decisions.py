"""Decide the samples of every pack by the whole policy, as OPA does, and say which are decided otherwise.

And which are held although approving them would be in vain: a hold is no allow.
"""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from aioc_opa.core.reasons import NO_RULE_ALLOWS
from aioc_opa.errors import PolicyLoadError
from aioc_opa.packs.lint.finding import Finding
from aioc_opa.packs.lint.opa_errors import error_findings
from aioc_opa.packs.samples import read_samples

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from subprocess import CompletedProcess

    from aioc_opa.packs.samples import Sample

# A question whose decision is undefined must not shift those after it: its number goes with each answer. The last part
# is the decision once as many persons as any hold can ask for, with all roles that it names, have approved the call.
_QUERY: Final = """[[i, d, approved] |
some i, question in input.questions
d := data.aioc.tool_policy.decision with input as question
roles := [role | some role in {role | some each in d.approval.requirements; some role in each.approverRoles}]
persons := [format_int(number, 10) | some number in numbers.range(1, 100)]
votes := [{"personId": id, "roles": roles, "verdict": "approved", "at": "-"} | some id in persons]
evidence := {"id": "-", "proposalHash": question.proposalHash, "requestedBy": "", "requesters": [], "votes": votes,
"expiresAt": "-", "policyRevision": "-"}
resumed := object.union(question, {"approval": evidence})
approved := [r | r := data.aioc.tool_policy.decision.reason with input as resumed]]"""


def sample_differs(root: Path, packs: list[str], run: Callable[..., CompletedProcess[str]]) -> Iterator[Finding]:
    """Samples that are not decided as they expect, and held ones that nothing allows once they are approved.

    Args:
        root: the policy folder, in which nothing is left that OPA refuses.
        packs: whose samples.
        run: runs `opa` with arguments in that folder.
    """
    samples = list(_samples(root, packs))
    if not samples:
        return
    with TemporaryDirectory() as folder:
        question = Path(folder) / "input.json"
        question.write_text(json.dumps({"questions": [sample.input for _, sample in samples]}), encoding="utf-8")
        arguments = ("--bundle", ".", "--input", str(question), "--strict-builtin-errors", "--format=json")
        output = run("eval", *arguments, _QUERY)
    answers = _answers(output.stdout)
    if output.returncode != 0 or answers is None:
        yield from error_findings(output, root, "sample-differs", "the samples cannot be decided: correct the policy")
        return
    for number, (file, sample) in enumerate(samples):
        found, approved = answers.get(number, ({"decision": "undefined", "reasons": []}, []))
        if (found["decision"], tuple(found["reasons"])) != (sample.decision, sample.reasons):
            message = f"expects {_words(sample.decision, sample.reasons)}, gets {_words(**_known(found))}"
            yield Finding(file, 1, "sample-differs", message, "correct the rules, or the sample")
        elif found["decision"] == "approval_required" and approved == [NO_RULE_ALLOWS]:
            message = "is held, and denied once people have approved it: no rule of the tool's owner allows it"
            yield Finding(
                file, 1, "hold-without-allow", message, "write an allow for what approval is to permit", "warning"
            )


def _samples(root: Path, packs: list[str]) -> Iterator[tuple[str, Sample]]:
    for pack in packs:
        where = f"aioc/packs/{pack}/samples"
        try:
            for sample in read_samples(root / where):
                yield f"{where}/{sample.name}", sample
        except PolicyLoadError:  # `part_missing` says so
            continue


def _answers(text: str) -> dict[int, tuple[Any, Any]] | None:
    try:
        rows = json.loads(text)["result"][0]["expressions"][0]["value"]
        return {number: (decision, approved) for number, decision, approved in rows}
    except (ValueError, KeyError):
        return None


def _known(decision: dict[str, Any]) -> dict[str, Any]:
    return {key: decision[key] for key in ("decision", "reasons")}


def _words(decision: str, reasons: tuple[str, ...]) -> str:
    return f"{decision} ({', '.join(reasons)})" if reasons else decision
