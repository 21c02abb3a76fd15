"""Every named case of tests/vectors/strict_json.json, for both layers and for text and bytes."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from aioc_opa.core import strict_json, strict_json_reference
from aioc_opa.core.limits import JsonLimits
from aioc_opa.core.strict_json import PROBLEMS, StrictJsonError, decode, decode_object

FILE = Path(__file__).parent.parent / "vectors" / "strict_json.json"
CASES: list[dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))["cases"]
LIMIT_NAMES = {"maxBytes": "max_bytes", "maxDepth": "max_depth", "maxNodes": "max_nodes"}


def text_of(case: dict[str, Any]) -> str | bytes:
    if "base64" in case:
        return base64.b64decode(case["base64"])
    if "repeat" in case:
        return "".join(part * times for part, times in case["repeat"])
    return case["text"]


def limits_of(case: dict[str, Any]) -> JsonLimits:
    return JsonLimits(**{LIMIT_NAMES[name]: value for name, value in case.get("limits", {}).items()})


def run(case: dict[str, Any], text: str | bytes) -> Any:
    if case.get("decode") == "value":
        return decode(text, limits_of(case))
    return decode_object(text, limits_of(case), empty_arguments=case.get("emptyArguments", "reject"))


def typed(value: Any) -> Any:
    """Equal only with equal types, order of keys and sign of zero."""
    if isinstance(value, dict):
        return [(key, typed(item)) for key, item in value.items()]
    if isinstance(value, list):
        return [typed(item) for item in value]
    return type(value).__name__, repr(value)


def check(case: dict[str, Any], text: str | bytes) -> None:
    if "code" not in case:
        assert typed(run(case, text)) == typed(case["value"])
        return
    with pytest.raises(StrictJsonError) as caught:
        run(case, text)
    error = caught.value
    assert error.code == case["code"]
    assert error.message == PROBLEMS[error.code]
    assert str(error) == f"{error.code}: {error.message}"
    if "offset" in case:
        assert error.offset == case["offset"]
    if "path" in case:
        assert list(error.path) == case["path"]


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_case(case: dict[str, Any]) -> None:
    text = text_of(case)
    check(case, text)
    if isinstance(text, str):
        check(case, text.encode())


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_case_by_the_reference_alone(case: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strict_json, "_HAS_C_SCANNER", False)
    check(case, text_of(case))


def test_there_are_enough_cases_each_named_once_and_naming_its_clause() -> None:
    assert len(CASES) >= 150
    assert len({case["name"] for case in CASES}) == len(CASES)
    assert all(case["clause"] for case in CASES)


def test_every_code_has_a_case() -> None:
    assert {case["code"] for case in CASES if "code" in case} == set(PROBLEMS) - {"not_text"}


def test_most_of_what_is_accepted_takes_the_fast_path(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    parse = strict_json_reference.parse
    monkeypatch.setattr(
        strict_json_reference, "parse", lambda text, limits: (seen.append(text), parse(text, limits))[1]
    )
    accepted = [
        case for case in CASES if "code" not in case and text_of(case) not in ("", b"") and text_of(case).strip()
    ]
    for case in accepted:
        check(case, text_of(case))
    assert not seen
