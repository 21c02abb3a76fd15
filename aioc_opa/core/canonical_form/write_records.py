"""Writers of models and dataclasses: every field by its name, and nothing beside the fields.

Nothing of the class is called: a model's state is its ``__dict__``, its extras, its private attributes and the set of
fields that count as set, and each of the four is looked at. No serializer, no computed field, no property.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from aioc_opa.core.canonical_form.refusal import ValueRefusedError
from aioc_opa.core.canonical_form.write_containers import entries, joined
from aioc_opa.core.canonical_form.write_scalars import quoted
from aioc_opa.core.canonical_form.write_state import QuickWriter, Writer, WriteState, not_declared, utf16_order
from aioc_opa.core.limits import HARD_MAX_DEPTH

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class FieldWriter(NamedTuple):
    """How one field is written.

    Attributes:
        attribute: name in the object.
        name: name in the canonical value.
        exact: the type that `quick` takes; `NEVER` for none.
        quick: writes a value of that type without another look.
        write: writes, or refuses, any value.
    """

    attribute: str
    name: str
    exact: type[Any]
    quick: QuickWriter
    write: Writer


def in_order(fields: Sequence[FieldWriter]) -> list[FieldWriter]:
    """In the order of RFC 8785 section 3.2.3."""
    return sorted(fields, key=lambda field: utf16_order(field.name))


def fields_writer(cls_name: str, fields: Sequence[FieldWriter]) -> Writer:
    """Writes the fields out of the mapping that holds them, in the right order, as one object."""
    ordered = in_order(fields)
    steps = tuple(
        (field.attribute, f"{',' if index else '{'}{quoted(field.name)}:", field.exact, field.quick, field.write)
        for index, field in enumerate(ordered)
    )
    closing = "}" if steps else "{}"
    size = 2 * len(steps)

    def write_fields(held: Any, state: WriteState, depth: int) -> str:
        state.left -= size
        if depth > HARD_MAX_DEPTH or state.left < 0:
            state.enter(0, depth)  # raises; not called otherwise, because this is the hottest line
        depth += 1
        texts: list[str] = []
        try:
            for attribute, prefix, exact, quick, write in steps:
                item = held[attribute]
                if type(item) is exact:
                    texts.append(prefix + quick(item))
                else:
                    texts.append(prefix + write(item, state, depth))
        except ValueRefusedError as error:
            error.trail.append(ordered[len(texts)].name)
            raise
        except KeyError:
            raise _missing(ordered[len(texts)], held, cls_name, state, depth) from None
        texts.append(closing)
        return "".join(texts)

    return write_fields


def _missing(field: FieldWriter, held: Any, cls_name: str, state: WriteState, depth: int) -> ValueRefusedError:
    """Why a field gave a KeyError: it is not there, or its quick writer does not know the value."""
    error = ValueRefusedError(f"a {cls_name} has no value for it: give it one")
    if field.attribute in held:
        try:
            field.write(held[field.attribute], state, depth)
        except ValueRefusedError as closer:
            error = closer
    error.trail.append(field.name)
    return error


def model_writer(cls: type[Any], fields: Sequence[FieldWriter], write_extra: Writer | None) -> Writer:
    """A pydantic model."""
    size = len(fields)
    attributes = frozenset(field.attribute for field in fields)
    write_fields = fields_writer(cls.__name__, fields)

    def write_model(value: Any, state: WriteState, depth: int) -> str:
        if type(value) is not cls:
            raise not_declared(value, cls.__name__)
        held = value.__dict__
        given = value.__pydantic_fields_set__
        if (
            type(held) is not dict
            or len(held) != size
            or type(given) is not set
            or given != attributes
            or value.__pydantic_extra__ is not None
            or value.__pydantic_private__ is not None
        ):
            raise _hidden_state(value, attributes)
        return write_fields(held, state, depth)

    return write_model if write_extra is None else _open_model_writer(cls, fields, write_extra)


def _open_model_writer(cls: type[Any], fields: Sequence[FieldWriter], write_extra: Writer) -> Writer:
    attributes = frozenset(field.attribute for field in fields)
    names = frozenset(field.name for field in fields)
    writers = {field.attribute: field.write for field in fields}

    def write_open_model(value: Any, state: WriteState, depth: int) -> str:
        if type(value) is not cls:
            raise not_declared(value, cls.__name__)
        held, extra, given = value.__dict__, value.__pydantic_extra__, value.__pydantic_fields_set__
        if (
            type(held) is not dict
            or held.keys() != attributes
            or value.__pydantic_private__ is not None
            or type(extra) is not dict
            or type(given) is not set
            or given != attributes | extra.keys()
        ):
            raise _hidden_state(value, attributes)
        if not names.isdisjoint(extra) or not attributes.isdisjoint(extra):
            raise ValueRefusedError("an extra key is named like a field: rename it, or forbid extras")
        texts = entries(held, writers, write_extra, state, depth)
        return joined(texts + entries(extra, {}, write_extra, state, depth))

    return write_open_model


def _hidden_state(value: Any, attributes: frozenset[str]) -> ValueRefusedError:
    name = type(value).__name__
    if value.__pydantic_private__ is not None:
        return ValueRefusedError(f"a {name} has private attributes: make them fields")
    if type(value.__dict__) is not dict:
        return ValueRefusedError(f"the __dict__ of a {name} is no plain dict: build it by parsing")
    beyond = sorted(str(key) for key in value.__dict__ if key not in attributes)
    if beyond:
        return ValueRefusedError(f"a {name} has the attribute {beyond[0]!r} beyond its fields: make it a field")
    if len(value.__dict__) < len(attributes):
        return ValueRefusedError(f"a {name} lacks some of its fields: give each a value")
    return ValueRefusedError(f"a {name} has extras or set fields that do not fit its class: build it by parsing")


def root_writer(cls: type[Any], write_root: Writer) -> Writer:
    """A RootModel, written as its root."""
    attributes = frozenset({"root"})

    def write_root_model(value: Any, state: WriteState, depth: int) -> str:
        if type(value) is not cls:
            raise not_declared(value, cls.__name__)
        held, given = value.__dict__, value.__pydantic_fields_set__
        if (
            type(held) is not dict
            or held.keys() != attributes
            or type(given) is not set
            or given != attributes
            or value.__pydantic_extra__ is not None
            or value.__pydantic_private__ is not None
        ):
            raise _hidden_state(value, attributes)
        # A root is no level of the text. One that contains itself ends as the RecursionError that `form` reports.
        return write_root(held["root"], state, depth)

    return write_root_model


def dataclass_writer(cls: type[Any], fields: Sequence[FieldWriter], write_extra: Writer | None) -> Writer:
    """A dataclass that keeps its fields in ``__dict__``; with extra="allow" pydantic keeps the extras there too."""
    size = len(fields)
    write_fields = fields_writer(cls.__name__, fields)
    writers = {field.attribute: field.write for field in fields}

    def write_dataclass(value: Any, state: WriteState, depth: int) -> str:
        if type(value) is not cls:
            raise not_declared(value, cls.__name__)
        held: Mapping[str, Any] = value.__dict__
        if type(held) is not dict:
            raise ValueRefusedError(f"the __dict__ of a {cls.__name__} is no plain dict: build it by parsing")
        if len(held) == size:
            return write_fields(held, state, depth)
        missing = [attribute for attribute in writers if attribute not in held]
        if missing:
            raise ValueRefusedError(f"a {cls.__name__} has no value for {missing[0]!r}: give it one")
        if write_extra is None:
            beyond = min(str(key) for key in held if key not in writers)
            raise ValueRefusedError(f"a {cls.__name__} has the attribute {beyond!r} beyond its fields: make it a field")
        return joined(entries(held, writers, write_extra, state, depth))

    return write_dataclass


def slotted_writer(cls: type[Any], fields: Sequence[FieldWriter]) -> Writer:
    """A dataclass whose fields are its slots: there is no room for anything else."""
    write_fields = fields_writer(cls.__name__, fields)

    def write_slotted(value: Any, state: WriteState, depth: int) -> str:
        if type(value) is not cls:
            raise not_declared(value, cls.__name__)
        held: dict[str, Any] = {}
        for field in fields:
            try:
                held[field.attribute] = object.__getattribute__(value, field.attribute)
            except AttributeError:
                continue  # an unset slot: write_fields says so
        return write_fields(held, state, depth)

    return write_slotted
