"""A review as lines of text. Every line of data begins with `GUTTER`, which no data can contain.

So a text that a terminal wraps, or one that is made to look like another field, cannot pass for a line of ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aioc_opa.core.approvals.review_text import plain, quoted
from aioc_opa.core.approvals.review_tree import DEFAULT_WIDTH, entry, place, tree
from aioc_opa.core.approvals.states import OPEN
from aioc_opa.core.approvals.times import rfc3339_of_ms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from aioc_opa.core.approvals.review import Review
    from aioc_opa.core.approvals.review_diff import Difference
    from aioc_opa.core.approvals.review_findings import Finding

GUTTER: Final = "\u2502 "
"""Box drawing is escaped in data (`review_text`)."""

_LABEL: Final = 16


def page(review: Review, *, width: int = DEFAULT_WIDTH) -> tuple[str, ...]:
    """All lines: who, why and until when, the action, how it differs from what was asked for, votes, findings."""
    record = review.record
    lines = [f"approval {plain(record.approval_id)}: {record.state.value}"]
    lines += _gutter(_circumstances(review, width))
    lines += ["", f"the action, which is what would run: {plain(record.bindings.tool_name)}"]
    lines += _gutter(tree(review.action, width=width))
    lines += _asked_for(review, width)
    if review.call.metadata:
        lines += ["", "the policy says about it (text from the store, not covered by the hash)"]
        lines += _gutter(tree(review.call.metadata, width=width))
    lines += ["", "what approving it takes"]
    lines += _gutter(_terms(review))
    if review.votes:
        lines += ["", "votes (signatures verified)"]
        lines += _gutter(line for each in _votes(review, width) for line in each)
    if review.findings:
        lines += ["", "ATTENTION" if review.suspicious else "characters beyond plain ASCII"]
        lines += _gutter(_finding(each) for each in review.findings)
    lines += ["", f"hash of the action, agent and tool shown above: {review.computed_hash}"]
    lines += [f"hash of this review, which is what a vote is on: {review.review_hash}"]
    return tuple(lines)


def _asked_for(review: Review, width: int) -> Iterator[str]:
    filled = [each for each in review.differences if each.kind == "filled_in"]
    others = [each for each in review.differences if each.kind != "filled_in"]
    yield ""
    if others:
        yield f"the model asked for something else, in {_places(len(others))}"
        yield from _gutter(line for each in others for line in _difference(each, width))
    else:
        yield "the model asked for exactly this" + (", but for what was filled in" if filled else "")
    if filled:
        yield ""
        yield f"left out by the model and filled in by the tool's schema, in {_places(len(filled))}"
        yield from _gutter(line for each in filled for line in _difference(each, width))


def _places(count: int) -> str:
    return "1 place" if count == 1 else f"{count} places"


def _gutter(lines: Iterable[str]) -> Iterator[str]:
    return (GUTTER + line for line in lines)


def _circumstances(review: Review, width: int) -> Iterator[str]:
    record, call, bindings = review.record, review.call, review.record.bindings
    version = "" if bindings.tool_version is None else f", version {plain(bindings.tool_version)}"
    yield _field("tool", plain(bindings.tool_name) + version)
    yield from entry("description".ljust(_LABEL), call.tool_description, width=width)
    yield _field("agent", plain(bindings.agent_name))
    yield _field("principal", _or_none(bindings.identity))
    yield _field("tenant", _or_none(bindings.tenant))
    yield _field("on behalf of", ", ".join(plain(each) for each in bindings.on_behalf_of or ()) or "nobody")
    yield _field("run started by", "not said" if bindings.run_started_by is None else plain(bindings.run_started_by))
    yield _field("run", f"{plain(bindings.run_id)}, call {plain(bindings.call_id)}, turn {call.turn}")
    yield _field("held because", ", ".join(plain(code) for code in record.reasons))
    if call.public_reason is not None:
        yield from entry("the policy says".ljust(_LABEL), call.public_reason, width=width)
    yield _field("policy revision", quoted(bindings.policy_revision))
    yield _field("tool digest", bindings.tool_digest)
    yield _field("arguments", "the provider's own text" if call.decode_assurance == "raw" else "decoded by a framework")
    yield _field("requested at", rfc3339_of_ms(record.created_at_ms))
    yield _field("expires at", rfc3339_of_ms(record.expires_at_ms) + _left(review))
    if record.ended_at_ms is not None:
        yield _field("ended at", f"{rfc3339_of_ms(record.ended_at_ms)} by {_or_none(record.ended_by)}")
    if record.end_reason is not None:
        yield from entry("end reason".ljust(_LABEL), record.end_reason, width=width)
    if record.outcome is not None:
        yield _field("effect", plain(record.outcome))


def _left(review: Review) -> str:
    if review.record.state not in OPEN:
        return ""
    seconds = (review.record.expires_at_ms - review.now_ms) // 1000
    return ", which has passed" if seconds < 0 else f", in {duration(seconds)}"


def duration(seconds: int) -> str:
    """A time span in its two largest units, cut: ``1 d 3 h``, ``9 min 30 s``."""
    units = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
    for index, (name, size) in enumerate(units[:-1]):
        if seconds >= size:
            smaller, of_smaller = units[index + 1]
            rest = seconds % size // of_smaller
            return f"{seconds // size} {name} {rest} {smaller}" if rest else f"{seconds // size} {name}"
    return f"{seconds} s"


def _difference(each: Difference, width: int) -> Iterator[str]:
    where = place(each.path)
    if each.kind == "filled_in":
        yield from entry(f"+ filled in: {where}", each.parsed, width=width)
    elif each.kind == "added":
        yield from entry(f"+ not asked for, but would run: {where}", each.parsed, width=width)
    elif each.kind == "dropped":
        yield from entry(f"- asked for, but is not in the action: {where}", each.requested, width=width)
    else:
        yield f"~ {where}"
        yield from (f"  {line}" for line in entry("asked for", each.requested, width=width))
        yield from (f"  {line}" for line in entry("would run", each.parsed, width=width))


def _terms(review: Review) -> Iterator[str]:
    for each in review.requirements:
        roles = " or ".join(plain(role) for role in each.roles)
        persons = "" if not each.persons else f" ({', '.join(plain(person) for person in each.persons)})"
        state = "met" if each.met else f"not met, {len(each.persons)} so far"
        yield f"{each.code}: {each.quorum} of {roles}: {state}{persons}"
    if review.record.terms.separation_of_duties:
        barred = ", ".join(plain(each) for each in review.record.requesters) or "nobody known"
        yield f"requesters may not approve: {barred}"
    else:
        yield "requesters may approve"


def _votes(review: Review, width: int) -> Iterator[Iterator[str]]:
    for vote in review.votes:
        roles = ", ".join(plain(role) for role in vote.roles)
        said = f"{vote.verdict} by {plain(vote.person_id)} ({roles}) at {plain(vote.at)}, key {vote.key_id}"
        yield entry(said, vote.reason, width=width)


def _finding(finding: Finding) -> str:
    where = place(finding.path) if finding.path else ""
    key = " (the key)" if finding.in_key else ""
    count = f": {finding.count}" if finding.count else ""
    examples = f" ({', '.join(finding.examples)})" if finding.examples else ""
    mark = "!" if finding.suspicious else " "
    return f"{mark} {finding.source} {where}{key}{' ' if where else ''}has {finding.concern.value}{count}{examples}"


def _field(label: str, text: str) -> str:
    return f"{label:{_LABEL}}: {text}"


def _or_none(text: str | None) -> str:
    return "none" if text is None else plain(text)
