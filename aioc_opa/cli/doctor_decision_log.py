"""What `aioc-opa doctor` says of an OPA's decision log and of signatures, where OPA or its configuration shows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from aioc_opa.cli.doctor_finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aioc_opa.core.engine_answer import EngineAnswer
    from aioc_opa.engines.opa_looking import Look

_UNSEEN = "cannot be seen from here, which is well: the configuration is closed; give it as JSON with --opa-config"


def signature_finding(config: Mapping[str, Any] | None) -> Finding:
    """Whether every bundle has to be signed."""
    if config is None:
        return Finding("signatures", None, _UNSEEN)
    bundles = _part(config, "bundles")
    unsigned = [name for name, bundle in sorted(bundles.items()) if not _part(_part({"b": bundle}, "b"), "signing")]
    if unsigned:
        advice = "whoever can write to the bundle server decides; give it `signing` with a key and a scope"
        return Finding("signatures", ok=False, text=f"not asked for: {', '.join(unsigned)}: {advice}")
    if not bundles:
        return Finding("signatures", None, "no bundle is configured; with --bundle, --verification-key asks for one")
    return Finding("signatures", ok=True, text="asked for with every bundle")


def log_findings(config: Mapping[str, Any] | None, log: Look, answer: EngineAnswer | None) -> Iterator[Finding]:
    """Whether the decision log is masked and bounded.

    Args:
        config: OPA's configuration, when it is known.
        log: of ``/v1/data/system/log``.
        answer: of a decision; it has an id where decisions are logged.
    """
    logs = _part(config or {}, "decision_logs")
    if answer is not None and answer.decision_id is None and not logs:
        yield Finding("decision log", None, "off: OPA keeps no record of its own")
        return
    if log.refused:
        text = "its mask cannot be seen from here, which is well: it is closed; `opa test` the policy that OPA loads"
        yield Finding("decision log", None, text)
    else:
        result = log.document.get("result")
        masked = type(result) is dict and "mask" in result
        advice = "arguments are logged as they are; load rego/system/log"
        text = "masked by system.log" if masked else f"the mask is missing (data.system.log.mask): {advice}"
        yield Finding("decision log", ok=masked, text=text)
    if config is None:
        yield Finding("decision log size", None, _UNSEEN)
    elif logs.get("service") or logs.get("plugin"):
        reporting = _part(logs, "reporting")
        bounded = reporting.get("buffer_type") == "event" or bool(reporting.get("buffer_size_limit_bytes"))
        advice = "the buffer grows until OPA is killed; set reporting.buffer_type: event, or buffer_size_limit_bytes"
        text = "the buffer is bounded: OPA drops events when it must" if bounded else f"unbounded: {advice}"
        yield Finding("decision log size", ok=bounded, text=text)


def _part(config: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = config.get(name)
    return part if isinstance(part, Mapping) else {}
