"""Records: one text each, every field under the hash, and nothing in them that their model does not have."""

from __future__ import annotations

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from aioc_opa.core.audit.anchors import AnchoredHead, anchor_of, anchor_text
from aioc_opa.core.audit.chain import NotARecordError, checkpoint_statement, head_of, record_of, seal
from aioc_opa.core.audit.labels import UNDECLARED, digest_label, id_label, reason_label, reason_labels, tool_label
from aioc_opa.core.audit.notes import NoteError, NoteKey, opened_note, signed_note
from aioc_opa.core.canonical_json import canonical_text
from aioc_opa.core.reasons import Reason
from aioc_opa.models.audit_event import AuditEvent
from tests.audit.logs import event
from tests.core.fuzzing import examples

AT = "2026-07-15T09:00:00.000Z"
TEXTS = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=40)


def sealed(**others: object) -> bytes:
    content = {"type": "event", "event": event(1, **others).model_dump(by_alias=True, exclude_defaults=True)}
    return seal(content, writer="one", log_id="a" * 32, segment=1, at=AT, before=None).text.encode()


@given(TEXTS, TEXTS, st.floats(0, 1e9), st.integers(0, 2**53 - 1))
@examples(0.01, usually=150)
def test_a_line_is_the_canonical_text_and_its_hash_that_of_the_rest(
    run: str, identity: str, took: float, turn: int
) -> None:
    line = sealed(run_id=run, identity=identity, duration_ms=took, turn=turn)
    value = json.loads(line)
    assert canonical_text(value).encode() == line
    found = value.pop("hash")
    assert hashlib.sha256(canonical_text(value).encode()).hexdigest() == found
    record = record_of(line)
    assert head_of(record).hash == found
    assert record.content.event.identity == identity  # type: ignore[union-attr] # it is an event


@pytest.mark.parametrize(
    "edit",
    [
        lambda line: line.replace(b'"sequence":1', b'"sequence":2'),
        lambda line: line.replace(b"kim", b"ken"),
        lambda line: line.replace(b",", b", ", 1),
        lambda line: line[:-1],
        lambda line: b"[" + line + b"]",
        lambda line: b'{"a":1}',
        lambda line: line.replace(b'"version":1', b'"version":2'),
        lambda line: b"\xff",
        lambda line: line.replace(b"kim", b"\\u006bim"),
    ],
)
def test_any_other_text_is_no_record_and_is_not_shown(edit: object) -> None:
    with pytest.raises(NotARecordError) as refusal:
        record_of(edit(sealed(identity="kim")))  # type: ignore[operator] # the case's
    assert "kim" not in str(refusal.value)


def test_a_checkpoint_signs_every_other_field() -> None:
    given_ = {
        "writer": "one",
        "log_id": "a" * 32,
        "segment": 1,
        "sequence": 2,
        "at": AT,
        "prev_hash": "0" * 64,
        "key_id": "k",
    }
    first = checkpoint_statement(**given_)  # type: ignore[arg-type] # as given
    for name, value in given_.items():
        other = value + 1 if isinstance(value, int) else f"{value}x"
        assert checkpoint_statement(**{**given_, name: other}) != first  # type: ignore[arg-type] # as given


@pytest.mark.parametrize(
    "name", ["arguments", "rawArguments", "output", "error", "exception", "metadata", "publicReason", "token"]
)
def test_an_event_has_no_place_for_values(name: str) -> None:
    with pytest.raises(ValidationError):
        AuditEvent.model_validate({"kind": "access", "at": AT, name: "x"})
    assert name not in AuditEvent.model_fields


@pytest.mark.parametrize(
    "wrong",
    [{"at": "2026-07-15"}, {"kind": "other"}, {"decision": "perhaps"}, {"reason": "Not a code!"}, {"duration_ms": -1},
     {"identity": "x" * 129}, {"proposal_ref": "x"}, {"tool_name": "x" * 129}, {"turn": -1}],
)  # fmt: skip
def test_an_event_is_bounded(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        event(**wrong)


def test_labels_show_what_is_registered_and_declared_and_digest_the_rest() -> None:
    invented = "pin is 4711"
    digest = "sha256:" + hashlib.sha256(invented.encode()).hexdigest()
    assert tool_label(invented, registered=False) == digest == digest_label(invented)
    assert tool_label("pay", registered=True) == "pay"
    assert tool_label(7, registered=True) == digest_label("")
    assert reason_label("code_4711", {"too_large"}) == UNDECLARED
    assert reason_label(Reason.POLICY_TIMEOUT.value, ()) == "policy_timeout"
    assert reason_labels(["too_large", "x", "y"], {"too_large"}) == ("too_large", UNDECLARED)
    assert id_label(None) is None
    assert id_label("run-1") == "run-1"
    assert id_label("é") == "é"
    for odd in ("x" * 129, "", "\ud800", 3):
        assert str(id_label(odd)).startswith("sha256:")


def test_a_note_is_opened_by_its_keys_alone() -> None:
    key, other = NoteKey("a", bytes(32)), NoteKey("a", bytes(31) + b"x")
    note = signed_note("text\n\nmore\n", key, bytes(64)).encode()
    assert opened_note(note, (other, key), lambda *_: True) == "text\n\nmore\n"
    with pytest.raises(NoteError, match="no known key"):
        opened_note(note, (other,), lambda *_: True)
    with pytest.raises(NoteError, match="wrong"):
        opened_note(note, (key,), lambda *_: False)
    both = note + signed_note("text\n\nmore\n", other, bytes(64)).encode().rpartition(b"\n\n")[2]
    assert opened_note(both, (key,), lambda *_: True) == "text\n\nmore\n"
    short = signed_note("text\n", key, bytes(10)).encode()
    for wrong in (short, b"text\n", note + b"line\n", note.replace(b"text", b"te\x07t"), b"x" * (9 << 20), b"\xff",
                  note.replace(b" a ", b" a !"), note[:-3] + b"=A\n"):  # fmt: skip
        with pytest.raises(NoteError):
            opened_note(wrong, (key,), lambda *_: True)
    for text, name in (("no end", "a"), ("bell\x07\n", "a"), ("text\n", "a+b"), ("text\n", "")):
        with pytest.raises(NoteError):
            signed_note(text, NoteKey(name, bytes(32)), bytes(64))


def test_an_anchor_has_one_text_and_names_a_writer_once() -> None:
    heads = [AnchoredHead("two", "b" * 32, 9, "1" * 64), AnchoredHead("one", "a" * 32, 3, "0" * 64)]
    text = anchor_text(AT, heads)
    assert anchor_of(text).heads == tuple(sorted(heads))
    lines = text.splitlines(keepends=True)
    for wrong in ("", "\n", text[:-1], text + "\n", text.replace(" 9 ", " 09 "), text.replace("anchor/1", "anchor/2"),
                  "".join([*lines[:2], lines[3], lines[2]]), anchor_text(AT, [heads[0], heads[0]]), lines[0], text.replace("T", " ")):  # fmt: skip
        with pytest.raises(ValueError, match="anchor"):
            anchor_of(wrong)
