"""From OPA's HTTP response to an `EngineAnswer`, or to the reserved reason that says why there is none (design 3.3).

========================================================  ===========================
status and body                                           outcome
========================================================  ===========================
200, an object with ``result``                            the answer
200, an object without ``result``                         the answer `UNDEFINED`
200, an object with ``warning``                           policy_malformed_decision
200, JSON that is no object, or not strict JSON           policy_malformed_decision
500, ``errors[].code`` is an evaluation's                 policy_evaluation_error
500, the evaluation was cancelled (OPA is going away)     policy_unavailable
anything else: other status, HTML, no JSON, too large     policy_unavailable
========================================================  ===========================

Keys are compared as they are: Go's decoders fold case, ours does not, so ``Result`` is an unknown key. Unknown keys are
ignored: OPA may add some (https://www.openpolicyagent.org/docs/rest-api). ``warning`` is OPA's ``api_usage_warning``:
it says that our question was not understood as one.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NoReturn

from aioc_opa.core.canonical_json import canonical_text
from aioc_opa.core.engine_answer import UNDEFINED, EngineAnswer, EngineFailureError
from aioc_opa.core.limits import RESPONSE_LIMITS, JsonLimits
from aioc_opa.core.reasons import Reason
from aioc_opa.core.strict_json import StrictJsonError, decode

if TYPE_CHECKING:
    from aioc_opa.core.json_value import JsonObject, JsonValue

_OK: Final = 200
_INTERNAL_ERROR: Final = 500
_CANCELLED: Final = "eval_cancel_error"
_MAX_DETAIL_CHARACTERS: Final = 500

_JSON_BUT_NOT_STRICT: Final = frozenset(
    (
        "duplicate_key",
        "lone_surrogate",
        "number_overflow",
        "number_underflow",
        "integer_out_of_range",
        "too_deep",
        "too_many_nodes",
    )
)
"""What RFC 8259 calls JSON and we refuse: OPA did answer, with something that two readers read differently."""


def read_answer(status: int, body: bytes, limits: JsonLimits = RESPONSE_LIMITS) -> EngineAnswer:
    """The answer in a whole response.

    Args:
        status: HTTP status code.
        body: the body, exactly as it came.
        limits: of the body.

    Raises:
        EngineFailureError: there is none; `reason` is that of the table above.
    """
    if status != _OK:
        _refuse_status(status, body, limits)
    try:
        document = decode(body, limits)
    except StrictJsonError as error:
        malformed = error.code in _JSON_BUT_NOT_STRICT
        reason = Reason.POLICY_MALFORMED_DECISION if malformed else Reason.POLICY_UNAVAILABLE
        raise EngineFailureError(reason, f"OPA's response is not strict JSON: {error.code}") from error
    if type(document) is not dict:
        raise EngineFailureError(Reason.POLICY_MALFORMED_DECISION, "OPA's response is not an object")
    if "warning" in document:
        raise EngineFailureError(Reason.POLICY_MALFORMED_DECISION, "OPA's response has a warning")
    decision_id = document.get("decision_id")
    provenance = document.get("provenance")
    engine, revision = _read_provenance(provenance) if type(provenance) is dict else ("opa", None)
    return EngineAnswer(
        document.get("result", UNDEFINED),
        policy_revision=revision,
        decision_id=decision_id if type(decision_id) is str else None,
        engine=engine,
    )


def is_shifted(answer: EngineAnswer, body: bytes) -> bool:
    """Whether this answers another question than `body`, so that the connection's responses are one behind.

    A second response can arrive after the check that nothing waits, and then each later question on that connection
    gets the answer of the one before. The verdict is safe without this (the decoder compares all echoes); this is
    for the connection, which must be closed. In doubt it says no: a policy without the echo cannot be told.
    """
    result = answer.result
    request_id = result.get("requestId") if type(result) is dict else None
    return type(request_id) is str and request_id.encode() not in body


def _refuse_status(status: int, body: bytes, limits: JsonLimits) -> NoReturn:
    if status == _INTERNAL_ERROR:
        try:
            document = decode(body, limits)
        except StrictJsonError:
            document = None
        for code, message in _evaluation_errors(document):
            if code != _CANCELLED:
                # `message` can hold argument values: `detail` is for operators only.
                detail = f"OPA reports {code}: {message}"[:_MAX_DETAIL_CHARACTERS]
                raise EngineFailureError(Reason.POLICY_EVALUATION_ERROR, detail)
    raise EngineFailureError(Reason.POLICY_UNAVAILABLE, f"OPA's response has status {status}")


def _evaluation_errors(document: JsonValue) -> list[tuple[str, str]]:
    errors = document.get("errors") if type(document) is dict else None
    found: list[tuple[str, str]] = []
    for error in errors if type(errors) is list else ():
        code = error.get("code") if type(error) is dict else None
        if type(code) is str and code.startswith("eval_"):
            found.append((code, str(error.get("message", ""))))  # type: ignore[union-attr]  # a dict, by the line above
    return found


def _read_provenance(provenance: JsonObject) -> tuple[str, str | None]:
    """The engine's name and version, and the revision text: None unless every active bundle names its revision."""
    version = provenance.get("version")
    engine = f"opa {version}" if type(version) is str and version else "opa"
    bundles = provenance.get("bundles")
    if type(bundles) is not dict or not bundles:
        return engine, None
    revisions: list[tuple[str, str]] = []
    for name, bundle in bundles.items():
        revision = bundle.get("revision") if type(bundle) is dict else None
        if type(revision) is not str or not revision:
            return engine, None
        revisions.append((name, revision))
    return engine, _revision_text(tuple(revisions))


@lru_cache(maxsize=64)
def _revision_text(revisions: tuple[tuple[str, str], ...]) -> str:
    """RFC 8785 text of ``{bundle: revision}``; the same few for days, hence the cache."""
    return canonical_text(dict(revisions))
