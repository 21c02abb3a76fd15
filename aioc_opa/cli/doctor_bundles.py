"""What `aioc-opa doctor` says of an OPA's bundles, from its status and from what a decision names."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from aioc_opa.cli.doctor_finding import Finding
from aioc_opa.core.rfc3339 import parse_rfc3339

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aioc_opa.core.engine_answer import EngineAnswer
    from aioc_opa.engines.opa_looking import Look

_OK: Final = 200
_MAX_SKEW_SECONDS: Final = 60.0
"""How far OPA's clock may be ahead of ours, as for `FreshBundles`."""


def bundle_findings(status: Look, answer: EngineAnswer | None, max_age_seconds: float) -> Iterator[Finding]:
    """Whether there are bundles, which revision is in force, and since when.

    Args:
        status: of ``/v1/status``.
        answer: of a decision, which names the revisions.
        max_age_seconds: a bundle that was fetched longer ago is stale.
    """
    revision = None if answer is None else answer.policy_revision
    if status.refused:
        text = "its age cannot be seen: /v1/status is closed to us; give a guard's or an operator's --token-file"
        yield Finding("bundle", None, f"{_in_force(revision)}; {text}")
        return
    result = status.document.get("result")
    bundles = result.get("bundles") if type(result) is dict else None
    if status.status != _OK or type(result) is not dict:
        advice = "configure it, with `status.console: true` at least: without it a stale bundle cannot be noticed"
        yield Finding("bundle", ok=False, text=f"{_in_force(revision)}; OPA has no status: {advice}")
    elif type(bundles) is not dict or not bundles:
        if revision is None:
            advice = "nothing ties a decision to a version of the policy; serve a signed bundle (docs/operating-opa.md)"
            yield Finding("bundle", ok=False, text=f"none is configured, and no revision is named: {advice}")
        else:
            text = "loaded from a file at the start: what is in force never changes, and a newer one is not fetched"
            yield Finding("bundle", None, f"{_in_force(revision)}; {text}")
    else:
        for name, facts in sorted(bundles.items()):
            yield _bundle(name, facts if type(facts) is dict else {}, max_age_seconds)


def _bundle(name: str, facts: dict[str, Any], max_age_seconds: float) -> Finding:
    topic = f"bundle {name}"
    revision = facts.get("active_revision")
    if _age(facts.get("last_successful_activation")) is None:
        code = f" ({facts['code']})" if facts.get("code") else ""
        text = f"never activated{code}: every decision is denied; look at OPA's log, at the URL and at the signing key"
        return Finding(topic, ok=False, text=text)
    if facts.get("code"):
        text = f"the last one was not taken ({facts['code']}), so {revision!r} stays in force: look at OPA's log"
        return Finding(topic, ok=False, text=text)
    if not revision:
        return Finding(topic, ok=False, text="has no revision: build it with one, or no guard can ask for it")
    age = _age(facts.get("last_successful_request"))
    if age is None or not -_MAX_SKEW_SECONDS <= age <= max_age_seconds:
        said = "never" if age is None else f"{age:.0f} s ago" if age > 0 else "in a future that our clock does not know"
        text = f"stale: last fetched {said}, and {revision!r} still decides; look at the bundle server and the network"
        return Finding(topic, ok=False, text=text)
    return Finding(topic, ok=True, text=f"revision {revision!r}, last fetched {max(age, 0.0):.0f} s ago")


def _age(text: object) -> float | None:
    """Seconds since a time as Go writes it (RFC 3339, nine digits); None for none, also for Go's year 1."""
    then = parse_rfc3339(text) if isinstance(text, str) else None
    return None if then is None or then.year == 1 else (datetime.now(UTC) - then).total_seconds()


def _in_force(revision: str | None) -> str:
    return "no revision is named" if revision is None else f"revision {revision}"
