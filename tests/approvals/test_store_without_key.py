"""Encrypted arguments need their key only where somebody reads them: ending a request takes none (issue 4)."""

from __future__ import annotations

import secrets
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from aioc_opa.approvals.payload_cipher import PayloadCipher
from aioc_opa.core.approvals.states import ApprovalState
from aioc_opa.errors import ApprovalStoreError
from tests.approvals.broker_cases import Bench, Told, person

if TYPE_CHECKING:
    from tests.approvals.store_cases import SqlCase

S = ApprovalState


def test_a_request_is_ended_without_the_key_of_its_arguments(sql_case: SqlCase) -> None:
    cipher = PayloadCipher({"k": secrets.token_bytes(32)}, "k")
    with closing(sql_case.again(cipher)) as encrypted:
        sealed = Bench(encrypted)
        waiting, usable = sealed.opened(call_id="1"), sealed.opened(call_id="2")
        sealed.vote(usable)
        without = Bench(sql_case.store, {"notifier": (told := Told())}, authority=sealed.authority)
        tess = person("tess")
        assert without.broker.dismiss("acme", waiting, by=tess, reason="why").state is S.DISMISSED
        assert without.broker.revoke("acme", usable, by=tess, reason="why").state is S.REVOKED
        assert [notice.state for notice in told.notices] == ["dismissed", "revoked"]
        assert encrypted.get("acme", usable).payload is not None  # type: ignore[union-attr] # it is there


def test_without_the_key_everything_but_the_arguments_is_read(sql_case: SqlCase) -> None:
    cipher = PayloadCipher({"k": secrets.token_bytes(32)}, "k")
    with closing(sql_case.again(cipher)) as encrypted:
        approval_id = Bench(encrypted).opened()
        whole = encrypted.get("acme", approval_id)
    record = sql_case.store.get("acme", approval_id, payload=False)
    assert record is not None
    assert whole is not None
    assert (record.payload, record.bindings, record.state) == (None, whole.bindings, S.PENDING)
    with pytest.raises(ApprovalStoreError, match="encrypted"):
        sql_case.store.get("acme", approval_id)
    without = Bench(sql_case.store).broker
    with pytest.raises(ApprovalStoreError, match="encrypted"):
        without.show("acme", approval_id, who="tess")
    without.erase("acme", approval_id, by=person("tess"))
    assert sql_case.store.get("acme", approval_id).payload is None  # type: ignore[union-attr] # it is there
