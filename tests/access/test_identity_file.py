"""The JSON file of identity bindings: strict, closed, and told what is wrong by place, never by value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from aioc_opa.access.identities import IdentityBinding, IdentityBindings
from aioc_opa.errors import InputFileError

if TYPE_CHECKING:
    from pathlib import Path


def test_absent_empty_and_given_lists_are_kept_apart(tmp_path: Path) -> None:
    file = tmp_path / "identities.json"
    file.write_text(
        '{"identities": [{"identity": "legacy"}, {"identity": "none", "tools": [], "capabilities": []},'
        ' {"identity": "kim", "tenant": "acme", "tools": ["refund"], "capabilities": ["chat"]}]}'
    )
    bindings = IdentityBindings.from_file(file)
    assert bindings.find("legacy") == IdentityBinding(identity="legacy")
    assert bindings.find("none") == IdentityBinding(identity="none", tools=frozenset(), capabilities=frozenset())
    assert bindings.find("kim") == IdentityBinding(
        identity="kim", tenant="acme", tools=frozenset({"refund"}), capabilities=frozenset({"chat"})
    )
    assert bindings.find("nobody") is None


@pytest.mark.parametrize(("text", "place"), [
    ("[]", "identities"),
    ("{}", "identities"),
    ('{"identities": [], "more": 1}', "identities"),
    ('{"identities": {}}', "must be an array"),
    ('{"identities": ["canary"]}', r"identities\[0\] must be an object"),
    ('{"identities": [{"identity": "canary", "roles": []}]}', r"identities\[0\] has a key"),
    ('{"identities": [{"identity": "canary", "tools": null}]}', r"identities\[0\].tools is null"),
    ('{"identities": [{"tools": []}]}', r"identities\[0\].identity"),
    ('{"identities": [{"identity": "canary", "tenant": 5}]}', r"identities\[0\].tenant"),
    ('{"identities": [{"identity": "canary", "tools": "refund"}]}', r"identities\[0\].tools must be an array"),
    ('{"identities": [{"identity": "canary", "tools": [""]}]}', r"identities\[0\].tools\[0\]"),
    ('{"identities": [{"identity": "canary", "tools": ["a", "a"]}]}', r"identities\[0\].tools has a name twice"),
    ('{"identities": [{"identity": "canary"}, {"identity": "canary"}]}', "bound twice"),
    ('{"identities": [{"identity": "canary", "identity": "b"}]}', "duplicate"),
    ("{", "identities.json"),
])  # fmt: skip
def test_a_file_of_another_form_is_refused_by_place(tmp_path: Path, text: str, place: str) -> None:
    file = tmp_path / "identities.json"
    file.write_text(text)
    with pytest.raises(InputFileError, match=place) as caught:
        IdentityBindings.from_file(file)
    assert "canary" not in str(caught.value).replace(str(file), "")


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputFileError, match="No such file"):
        IdentityBindings.from_file(tmp_path / "missing.json")
    (tmp_path / "latin.json").write_bytes(b'{"identities": [{"identity": "\xe9"}]}')
    with pytest.raises(InputFileError, match="not UTF-8"):
        IdentityBindings.from_file(tmp_path / "latin.json")
