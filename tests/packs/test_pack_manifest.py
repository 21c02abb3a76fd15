from __future__ import annotations

from typing import Any

import pytest

from aioc_opa.errors import PolicyLoadError
from aioc_opa.packs.pack_manifest import read_manifests, read_owners
from tests.packs.folders import manifest


def read(given: Any, pack: str = "mine") -> Any:
    return read_manifests("p", {"aioc": {"packs": {pack: {"manifest": given}}}}, frozenset({pack}))[pack]


def test_a_manifest() -> None:
    found = read(
        {
            "version": "1.2",
            "title": "Mine",
            "tools": {"b": {"context": {"type": "object"}}, "a": {"context": {}, "requireRaw": True}},
            "data": {"type": "object"},
            "codes": ["over"],
        }
    )
    assert list(found.tools) == ["a", "b"]
    assert found.tools["a"].require_raw
    assert not found.tools["b"].require_raw
    assert (found.pack, found.version, found.title, found.codes) == ("mine", "1.2", "Mine", {"over"})


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"surplus": 1}, "unknown key 'surplus'"),
        ({"version": 1}, "version: must be"),
        ({"version": 'a"'}, "version: must be"),
        ({"title": ""}, "title: must be"),
        ({"title": "a\nb"}, "title: must be"),
        ({"title": "x" * 129}, "title: must be"),
        ({"tools": []}, "tools: must be an object"),
        ({"tools": {"a b": {"context": {}}}}, "is not a tool's name"),
        ({"tools": {'a"': {"context": {}}}}, "is not a tool's name"),
        ({"tools": {"a": []}}, "must be an object with the keys"),
        ({"tools": {"a": {"context": {}, "x": 1}}}, "must be an object with the keys"),
        ({"tools": {"a": {}}}, "context: schema: a schema is an object"),
        ({"tools": {"a": {"context": {"type": "x"}}}}, "context: schema: 'type'"),
        ({"tools": {"a": {"context": {}, "requireRaw": "yes"}}}, "must be true or false"),
        ({"data": []}, "data: schema"),
        ({"codes": "over"}, "must be the list of codes"),
        ({"codes": ["Over"]}, "a code is"),
        ({"codes": [5]}, "a code is"),
        ({"codes": ["over", "over"]}, "stands twice"),
        ({"codes": ["policy_timeout"]}, "the runtime's word"),
        ({"codes": ["allowed"]}, "the runtime's word"),
    ],
)
def test_manifests_that_are_refused(change: Any, problem: str) -> None:
    with pytest.raises(PolicyLoadError, match=problem):
        read({**manifest("t"), **change})


@pytest.mark.parametrize("given", [None, [], 5])
def test_a_manifest_that_is_none(given: Any) -> None:
    with pytest.raises(PolicyLoadError, match="missing or not an object"):
        read(given)


@pytest.mark.parametrize("pack", ["Mine", "default", "1x", "a-b", "x" * 64])
def test_pack_names_that_are_refused(pack: str) -> None:
    with pytest.raises(PolicyLoadError, match="a pack's name"):
        read(manifest("t"), pack)


def test_the_pack_for_what_nobody_owns_lists_no_tool() -> None:
    assert read(manifest(), "unowned").tools == {}
    with pytest.raises(PolicyLoadError, match="lists no tool"):
        read(manifest("t"), "unowned")


def test_no_packs_at_all() -> None:
    assert read_manifests("p", {}, frozenset()) == {}
    assert read_owners("p", {}, {}) == {}


def owners(given: Any) -> Any:
    manifests = {"mine": read(manifest("t", "u"))}
    return read_owners("p", {"aioc": {"owners": given}}, manifests)


def test_owners() -> None:
    assert list(owners({"u": "mine", "t": "mine"}).items()) == [("t", "mine"), ("u", "mine")]


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ([], "must be an object"),
        ({"a b": "mine"}, "is not a tool's name"),
        ({"t": "other"}, "is not a pack"),
        ({"t": ["mine"]}, "is not a pack"),
        ({"v": "mine"}, "does not list that tool"),
    ],
)
def test_owners_that_are_refused(given: Any, problem: str) -> None:
    with pytest.raises(PolicyLoadError, match=problem):
        owners(given)


def test_names_of_tools_that_differ_in_case_alone_are_refused() -> None:
    def read_two(first: tuple[str, ...], second: tuple[str, ...]) -> Any:
        packs = {"freeze": {"manifest": manifest(*first)}, "mine": {"manifest": manifest(*second)}}
        return read_manifests("p", {"aioc": {"packs": packs}}, frozenset(packs))

    assert len(read_two(("wire", "pay"), ("wire",))) == 2
    with pytest.raises(PolicyLoadError, match="'freeze' governs 'wire' and 'mine' governs 'Wire'"):
        read_two(("wire",), ("Wire",))
    with pytest.raises(PolicyLoadError, match="'mine' governs 'Wire' and 'mine' governs 'wire'"):
        read_two((), ("wire", "Wire"))
