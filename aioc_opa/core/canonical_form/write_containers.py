"""Writers of lists, tuples, dicts, unions and plain JSON."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any

from aioc_opa.core.canonical_form.refusal import ValueRefusedError
from aioc_opa.core.canonical_form.write_scalars import BOOLEANS, quoted, write_integer, write_number
from aioc_opa.core.canonical_form.write_state import Writer, WriteState, not_declared, utf16_order
from aioc_opa.core.json_path import path_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from aioc_opa.core.canonical_form.tags import MayBe

_by_name = itemgetter(0)


def list_writer(write_item: Writer, cls: type[list[Any] | tuple[Any, ...]] = list) -> Writer:
    """A list, or a tuple of any length, of one kind of items."""

    def write_list(value: Any, state: WriteState, depth: int) -> str:
        if type(value) is not cls:
            raise not_declared(value, cls.__name__)
        state.enter(len(value), depth)
        depth += 1
        texts: list[str] = []
        try:
            for item in value:
                texts.append(write_item(item, state, depth))  # noqa: PERF401 - the length is the failing index
        except ValueRefusedError as error:
            error.trail.append(len(texts))
            raise
        return f"[{','.join(texts)}]"

    return write_list


def tuple_writer(writers: Sequence[Writer]) -> Writer:
    """A tuple of one length."""

    def write_tuple(value: Any, state: WriteState, depth: int) -> str:
        if type(value) is not tuple or len(value) != len(writers):
            raise not_declared(value, f"a tuple of {len(writers)}")
        state.enter(len(value), depth)
        texts: list[str] = []
        try:
            for write_item, item in zip(writers, value, strict=True):
                texts.append(write_item(item, state, depth + 1))
        except ValueRefusedError as error:
            error.trail.append(len(texts))
            raise
        return f"[{','.join(texts)}]"

    return write_tuple


def dict_writer(writers: Mapping[str, Writer], write_other: Writer) -> Writer:
    """A dict with str keys. Keys that `writers` does not name go to `write_other`."""

    def write_dict(value: Any, state: WriteState, depth: int) -> str:
        if type(value) is not dict:
            raise not_declared(value, "dict")
        return joined(entries(value, writers, write_other, state, depth))

    return write_dict


def typed_dict_writer(writers: Mapping[str, Writer], write_other: Writer, required: Sequence[str]) -> Writer:
    """A TypedDict. A required key that a validator took away is missed here: unions may be told apart by it."""

    def write_typed_dict(value: Any, state: WriteState, depth: int) -> str:
        if type(value) is not dict:
            raise not_declared(value, "dict")
        texts = entries(value, writers, write_other, state, depth)
        for key in required:
            if key not in value:
                raise ValueRefusedError(f"it lacks the required key {key!r}: keep it, or declare it NotRequired")
        return joined(texts)

    return write_typed_dict


def undeclared_key(_value: Any, _state: WriteState, _depth: int) -> str:
    """For a key where none but the declared ones may be."""
    raise ValueRefusedError("it is no declared key: declare it, or extra='allow'")


Entry = tuple[str, str]
"""A key, and the text of the key, the colon and the value."""


def entries(
    source: Mapping[Any, Any], writers: Mapping[str, Writer], write_other: Writer, state: WriteState, depth: int
) -> list[Entry]:
    """The entries of the dict at `depth`, in its own order.

    Raises:
        ValueRefusedError: a key is no plain str, or its value is refused.
    """
    state.enter(2 * len(source), depth)
    texts: list[Entry] = []
    for key, item in source.items():
        if type(key) is not str:
            raise ValueRefusedError("an object has a key that is not a plain str: use str keys")
        try:
            texts.append((key, f"{quoted(key)}:{writers.get(key, write_other)(item, state, depth + 1)}"))
        except ValueRefusedError as error:
            error.trail.append(path_key(key))
            raise
    return texts


def joined(texts: list[Entry]) -> str:
    """The object of these entries, in the order of RFC 8785 section 3.2.3 (which is Python's for ASCII)."""
    if all(key.isascii() for key, _ in texts):
        texts.sort(key=_by_name)
    else:
        texts.sort(key=lambda entry: utf16_order(entry[0]))
    return f"{{{','.join([text for _, text in texts])}}}"


def write_any(value: Any, state: WriteState, depth: int) -> str:
    """Plain JSON of any shape, for `Any`: what a parser of JSON makes, and nothing else."""
    kind = type(value)
    if kind is str:
        return quoted(value)
    if value is None:
        return "null"
    if kind is bool:
        return BOOLEANS[value]
    if kind is int:
        return write_integer(value, state, depth)
    if kind is float:
        return write_number(value, state, depth)
    if kind is list:
        return _write_any_list(value, state, depth)
    if kind is dict:
        return joined(entries(value, {}, write_any, state, depth))
    raise ValueRefusedError(f"it holds {kind.__name__} where any plain JSON is declared: declare the exact type")


_write_any_list = list_writer(write_any)


def union_writer(members: Sequence[tuple[frozenset[type] | None, Writer, MayBe | None]]) -> Writer:
    """Whichever member takes the value. Registration made sure that it does not matter which, if several do.

    Args:
        members: for each the exact types that it can take (None: any), its writer, and what its tags say.
    """
    others = [(write, may_be) for types, write, may_be in members if types is None]
    by_type = {
        one: [(write, may_be) for known, write, may_be in members if known is None or one in known]
        for types, _, _ in members
        for one in types or ()
    }

    def write_union(value: Any, state: WriteState, depth: int) -> str:
        candidates = by_type.get(type(value), others)
        if len(candidates) == 1:
            return candidates[0][0](value, state, depth)
        refused: ValueRefusedError | None = None
        for write, may_be in candidates:
            if may_be is None or may_be(value):
                try:
                    return write(value, state, depth)
                except ValueRefusedError as error:
                    refused = refused or error
        raise refused or not_declared(value, "one of the union's members")

    return write_union
