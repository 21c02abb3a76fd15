"""What `aioc-opa doctor` says of a running OPA: what is unsafe or broken about it, and what to do.

Facts: https://www.openpolicyagent.org/docs/security, and its pages on management: bundles, decision logs, status.
"""

from __future__ import annotations

import ipaddress
import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from aioc_opa.cli.doctor_bundles import bundle_findings
from aioc_opa.cli.doctor_decision_log import log_findings, signature_finding
from aioc_opa.cli.doctor_finding import Finding
from aioc_opa.cli.engine_options import EngineOptions, opened
from aioc_opa.core.engine_answer import EngineAnswer, EngineFailureError
from aioc_opa.engines.deadline import Deadline
from aioc_opa.engines.opa_admin import OpaAdmin
from aioc_opa.engines.opa_binary import MINIMUM_OPA_VERSION
from aioc_opa.engines.opa_looking import OpaLooking
from aioc_opa.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

DEFAULT_MAX_AGE_SECONDS: Final = 900.0
MAX_SKEW_SECONDS: Final = 5.0
"""OPA's ``Date`` has whole seconds, and an answer takes its time; more than this is a clock that is wrong."""

_VERSION: Final = re.compile(r"(\d+)\.(\d+)\.(\d+)")
_READS: Final = ("v1/policies", "v1/data", "v1/config")


def server_findings(
    options: EngineOptions, *, config: Mapping[str, Any] | None, max_age_seconds: float
) -> Iterator[Finding]:
    """Look at the server of ``--opa``.

    Args:
        options: how to reach it.
        config: its configuration, when somebody has given it.
        max_age_seconds: a bundle that was fetched longer ago is stale.
    """
    url = str(options.opa)
    yield _way(url)
    try:
        with OpaAdmin(
            url,
            token_file=options.token_file,
            ca_file=options.ca_file,
            client_cert_file=options.client_cert_file,
            client_key_file=options.client_key_file,
        ) as admin:
            yield from _looked_at(admin, options, config, max_age_seconds)
    except ConfigurationError as error:
        yield Finding("server", ok=False, text=f"{error}: nothing else could be looked at")


def _looked_at(
    admin: OpaAdmin, options: EngineOptions, config: Mapping[str, Any] | None, max_age_seconds: float
) -> Iterator[Finding]:
    looking = OpaLooking(admin, with_token=True)
    answer = _answer(options)
    yield _version(answer)
    yield _clock(looking.get("health").date)
    yield _open_api(admin, has_token=options.token_file is not None)
    shown = looking.get("v1/config")
    if config is None and shown.status == 200:  # noqa: PLR2004 - HTTP
        config = shown.document.get("result")
    yield from bundle_findings(looking.get("v1/status"), answer, max_age_seconds)
    yield signature_finding(config)
    yield from log_findings(config, looking.get("v1/data/system/log"), answer)


def _way(url: str) -> Finding:
    if url.startswith("http://") and not _is_loopback(url):
        return Finding(
            "way",
            ok=False,
            text="plain HTTP to another machine: whoever can change packets on the way answers `allow`, and reads the"
            " token; use https with --ca-file, or a Unix socket",
        )
    return Finding("way", ok=True, text="a Unix socket, this machine alone, or TLS")


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _answer(options: EngineOptions) -> EngineAnswer | None:
    try:
        with opened(options) as engines:
            return engines[0].evaluate(options.decision_path, b'{"input":{}}', Deadline.after(5.0))
    except EngineFailureError:
        return None  # said already, by the probe


def _version(answer: EngineAnswer | None) -> Finding:
    found = None if answer is None else _VERSION.search(answer.engine)
    wanted = ".".join(map(str, MINIMUM_OPA_VERSION))
    if found is None:
        return Finding("version", None, "not known: no decision could be asked for, which is where OPA says it")
    if tuple(map(int, found.groups())) < MINIMUM_OPA_VERSION:
        text = f"OPA {found[0]} is older than {wanted}: its `not` and its builtins differ; upgrade"
        return Finding("version", ok=False, text=text)
    return Finding("version", ok=True, text=f"OPA {found[0]}")


def _clock(date: str | None) -> Finding:
    try:
        theirs = parsedate_to_datetime(date or "")
    except ValueError:
        return Finding("clock", None, "the server does not say its time")
    skew = (theirs - datetime.now(UTC)).total_seconds()
    if abs(skew) > MAX_SKEW_SECONDS:
        text = f"differs from ours by {skew:+.0f} s: expiries are judged by it; synchronize both with NTP"
        return Finding("clock", ok=False, text=text)
    return Finding("clock", ok=True, text=f"within {MAX_SKEW_SECONDS:.0f} s of ours")


def _open_api(admin: OpaAdmin, *, has_token: bool) -> Finding:
    callers = [("anybody", OpaLooking(admin, with_token=False))]
    if has_token:
        callers.append(("our token", OpaLooking(admin, with_token=True)))
    found: list[str] = []
    for who, looking in callers:
        opened = [f"GET /{path}" for path in _READS if not looking.get(path).refused]
        if not looking.write().refused:
            opened.append("PUT /v1/policies")
        if opened:
            found.append(f"{who} may {', '.join(opened)}")
    if found:
        advice = "start OPA with --authorization=basic and a system.authz as in rego/system: decisions and /health only"
        return Finding("policy API", ok=False, text=f"open: {'; '.join(found)}. {advice}")
    return Finding("policy API", ok=True, text="closed: neither policies, data and configuration, nor a write")
