"""There is one text for a vote statement, and it is the one that is signed."""

from __future__ import annotations

import json
from typing import Any

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from aioc_opa.core.approvals.digests import terms_digest, tool_digest
from aioc_opa.core.approvals.times import rfc3339_of_ms
from aioc_opa.core.approvals.vote_text import statement_of, statement_text
from aioc_opa.core.canonical_json import NotCanonicalError
from aioc_opa.models.approval_bindings import ApprovalBindings
from tests.core.approvals.test_tally import terms, vote

STATEMENT = vote("ann", ["finance", "legal"])
TEXT = statement_text(STATEMENT)
CANARY = "canary-5f1d"


def edited(**changes: Any) -> str:
    return rfc8785.dumps({**json.loads(TEXT), **changes}).decode()


def test_the_text_is_rfc_8785_and_names_every_binding_the_absent_ones_as_null() -> None:
    value = json.loads(TEXT)
    assert rfc8785.dumps(value).decode() == TEXT
    names = {field.alias for field in ApprovalBindings.model_fields.values()}
    assert set(value["bindings"]) == names
    assert value["bindings"]["tenant"] is None
    assert value["type"] == "aioc-opa/approval-vote/1"


@settings(deadline=None)
@given(st.text(min_size=1, max_size=50), st.lists(st.text(min_size=1, max_size=20), max_size=4))
def test_statement_and_text_are_one_to_one(reason: str, roles: list[str]) -> None:
    statement = STATEMENT.model_copy(update={"reason": reason, "roles": tuple(roles)})
    assert statement_of(statement_text(statement)) == statement


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(TEXT + " ", id="blank after"),
        pytest.param(" " + TEXT, id="blank before"),
        pytest.param(json.dumps(json.loads(TEXT)), id="blanks between"),
        pytest.param(TEXT.replace('"seen"', '"\\u0073een"'), id="escape that need not be"),
        pytest.param(json.dumps(dict(reversed(json.loads(TEXT).items())), separators=(",", ":")), id="key order"),
        pytest.param(TEXT.replace('"personId"', '"person_id"'), id="python's name"),
        pytest.param(TEXT.replace('"tenant":null,', ""), id="binding left out"),
        pytest.param(TEXT.replace('"personId":"ann"', '"personId":"ann","personId":"ann"'), id="duplicate key"),
        pytest.param(TEXT.replace('"personId":"ann"', '"personId":"bob","personId":"ann"'), id="other duplicate key"),
        pytest.param(edited(extra=CANARY), id="unknown field"),
        pytest.param(edited(bindings={**json.loads(TEXT)["bindings"], "extra": CANARY}), id="unknown binding"),
        pytest.param(edited(personId=1), id="number for a string"),
        pytest.param(edited(personId=True), id="true for a string"),
        pytest.param(edited(personId=["ann"]), id="list for a string"),
        pytest.param(edited(personId=None), id="null for a string"),
        pytest.param(edited(roles="finance"), id="string for a list"),
        pytest.param(edited(roles={"0": "finance"}), id="object for a list"),
        pytest.param(edited(roles=[1]), id="number in a list"),
        pytest.param(edited(roles=["r"] * 65), id="too many roles"),
        pytest.param(edited(verdict="APPROVED"), id="verdict in capitals"),
        pytest.param(edited(verdict=CANARY), id="unknown verdict"),
        pytest.param(edited(type="aioc-opa/approval-vote/2"), id="another type"),
        pytest.param(edited(approvalId="apr_" + "0" * 32 + "\n"), id="line end in the id"),
        pytest.param(edited(keyId="k\u0435y"), id="look-alike in the key id"),
        pytest.param(edited(bindings=[]), id="bindings a list"),
        pytest.param("null", id="null"),
        pytest.param("[]", id="list"),
        pytest.param(json.dumps(TEXT), id="a string of the text"),
        pytest.param("", id="empty"),
        pytest.param("{" * 50, id="cut"),
        pytest.param("\ufeff" + TEXT, id="byte order mark"),
        pytest.param(TEXT.replace('"seen"', '"\\ud800"'), id="lone surrogate"),
    ],
)
def test_what_is_not_exactly_the_text_of_a_statement_is_refused_without_an_echo(text: str) -> None:
    with pytest.raises(ValueError) as refused:
        statement_of(text)
    assert CANARY not in str(refused.value)
    assert "ann" not in str(refused.value)


def test_every_field_left_out_is_refused() -> None:
    for name in json.loads(TEXT):
        value = json.loads(TEXT)
        del value[name]
        with pytest.raises(ValueError):
            statement_of(rfc8785.dumps(value).decode())


def test_terms_digest_is_of_the_wire_form_and_every_part_counts() -> None:
    import hashlib

    first = terms((["finance"], 1))
    wire = {
        "requirements": [{"code": "hold_0", "approverRoles": ["finance"], "quorum": 1}],
        "separationOfDuties": True,
        "ttlSeconds": 60,
    }
    assert terms_digest(first) == hashlib.sha256(rfc8785.dumps(wire)).hexdigest()
    others = [
        terms((["finance"], 2)),
        terms((["legal"], 1)),
        terms((["finance"], 1), (["finance"], 1)),
        terms((["finance"], 1), separation=False),
        first.model_copy(update={"ttl_seconds": 61}),
    ]
    assert len({terms_digest(one) for one in [first, *others]}) == 6


def test_tool_digest_covers_name_description_and_schema() -> None:
    base: dict[str, Any] = {"name": "refund", "description": "d", "schema": {"type": "object"}}
    digests = {
        tool_digest(**{**base, **change}) for change in ({}, {"name": "x"}, {"description": "x"}, {"schema": {}})
    }
    assert len(digests) == 4
    with pytest.raises(NotCanonicalError):
        tool_digest(name="refund", description="d", schema={"maximum": float("inf")})


@pytest.mark.parametrize(
    ("at_ms", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1, "1970-01-01T00:00:00.001Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (1_784_000_000_123, "2026-07-14T03:33:20.123Z"),
        (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        (-62_135_596_800_000, "0001-01-01T00:00:00.000Z"),
    ],
)
def test_one_text_for_one_time(at_ms: int, text: str) -> None:
    assert rfc3339_of_ms(at_ms) == text


@pytest.mark.parametrize("at_ms", [253_402_300_800_000, -62_135_596_800_001, 10**30, 1.0, True, "1", None])
def test_what_is_no_time_is_refused(at_ms: Any) -> None:
    with pytest.raises(ValueError, match="a time"):
        rfc3339_of_ms(at_ms)
