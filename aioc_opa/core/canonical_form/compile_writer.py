"""From nodes to one closure a node: no annotation is looked at while a call is judged."""

from __future__ import annotations

import datetime as dt
import decimal
import uuid
from types import NoneType
from typing import TYPE_CHECKING, Any, Final

from aioc_opa.core.canonical_form.nodes import (
    AnyJson,
    Concrete,
    DictOf,
    EnumMembers,
    ListOf,
    Node,
    PlainLiteral,
    Record,
    RootOf,
    Scalar,
    TupleOf,
    TupleRest,
    UnionOf,
    followed,
)
from aioc_opa.core.canonical_form.overlap import alternatives
from aioc_opa.core.canonical_form.tags import tag_checks
from aioc_opa.core.canonical_form.write_containers import (
    dict_writer,
    list_writer,
    tuple_writer,
    typed_dict_writer,
    undeclared_key,
    union_writer,
    write_any,
)
from aioc_opa.core.canonical_form.write_records import (
    FieldWriter,
    dataclass_writer,
    model_writer,
    root_writer,
    slotted_writer,
)
from aioc_opa.core.canonical_form.write_scalars import (
    BOOLEANS,
    SCALAR_WRITERS,
    enum_writer,
    literal_writer,
    quoted,
)
from aioc_opa.core.canonical_form.write_state import NEVER

if TYPE_CHECKING:
    from aioc_opa.core.canonical_form.nodes import RecordField, ScalarKind
    from aioc_opa.core.canonical_form.write_state import QuickWriter, Writer, WriteState

_PYTHON_TYPES: Final[dict[ScalarKind, frozenset[type]]] = {
    "null": frozenset({NoneType}),
    "boolean": frozenset({bool}),
    "integer": frozenset({int}),
    "number": frozenset({float, int}),
    "string": frozenset({str}),
    "decimal": frozenset({decimal.Decimal}),
    "uuid": frozenset({uuid.UUID}),
    "date": frozenset({dt.date}),
    "time": frozenset({dt.time}),
    "datetime": frozenset({dt.datetime}),
}


class WriterCompiler:
    """Compiles each node once; a node that is under way is reached through its place in the table."""

    def __init__(self) -> None:
        self._done: dict[Node, Writer] = {}
        self._under_way: set[Node] = set()

    def writer(self, node: Node | None) -> Writer:
        """The writer of `node`."""
        node = followed(node)
        if node in self._done:
            return self._done[node]
        if node in self._under_way:
            return self._late(node)
        self._under_way.add(node)
        write = self._done[node] = self._compiled(node)
        return write

    def _late(self, node: Node) -> Writer:
        done = self._done

        def write_recursive(value: Any, state: WriteState, depth: int) -> str:
            return done[node](value, state, depth)

        return write_recursive

    def _compiled(self, node: Concrete) -> Writer:
        match node:
            case Scalar():
                return SCALAR_WRITERS[node.kind]
            case AnyJson():
                return write_any
            case PlainLiteral():
                return literal_writer(node)
            case EnumMembers():
                return enum_writer(node)
            case ListOf():
                return list_writer(self.writer(node.item))
            case TupleRest():
                return list_writer(self.writer(node.item), tuple)
            case TupleOf():
                return tuple_writer([self.writer(item) for item in node.items])
            case DictOf():
                return dict_writer({}, self.writer(node.value))
            case UnionOf():
                members = alternatives(node)
                return union_writer(
                    [
                        (python_types(member), self.writer(member), may_be)
                        for member, may_be in zip(members, tag_checks(members), strict=True)
                    ]
                )
            case RootOf():
                return root_writer(node.cls, self.writer(node.root))
            case Record():
                return self._record(node)

    def _record(self, record: Record) -> Writer:
        write_extra = None if record.extra is None else self.writer(record.extra)
        fields = [self._field(field) for field in record.fields]
        match record.style:
            case "model":
                return model_writer(record.cls, fields, write_extra)
            case "dataclass":
                return dataclass_writer(record.cls, fields, write_extra)
            case "slotted":
                return slotted_writer(record.cls, fields)
            case "typed_dict":
                writers = {field.name: field.write for field in fields}
                required = [field.name for field in record.fields if field.always_written]
                return typed_dict_writer(writers, write_extra or undeclared_key, required)

    def _field(self, field: RecordField) -> FieldWriter:
        exact, quick = _quick(followed(field.node))
        return FieldWriter(field.attribute, field.name, exact, quick, self.writer(field.node))


def _quick(node: Node) -> tuple[type[Any], QuickWriter]:
    """For the commonest scalars: a C function that writes them once their exact type is known."""
    match node:
        case Scalar(kind="string"):
            return str, quoted
        case Scalar(kind="boolean"):
            return bool, BOOLEANS.__getitem__
        case PlainLiteral(values) if all(type(value) is str for value in values):
            return str, {value: quoted(value) for value in values}.__getitem__
        case UnionOf():
            for member in node.members:
                if isinstance(target := followed(member), Scalar) and target.kind == "string":
                    return str, quoted  # a str in a union that has str: the other members agree (`overlap`)
    return NEVER, repr


def python_types(node: Node | None) -> frozenset[type] | None:
    """The exact types of the values that a node takes; None for any."""
    node = followed(node)
    match node:
        case Scalar():
            return _PYTHON_TYPES[node.kind]
        case PlainLiteral():
            return frozenset(type(value) for value in node.values)
        case EnumMembers():
            return frozenset(type(member) for member, _ in node.members)
        case ListOf():
            return frozenset({list})
        case TupleOf() | TupleRest():
            return frozenset({tuple})
        case DictOf() | Record(style="typed_dict"):
            return frozenset({dict})
        case Record() | RootOf():
            return frozenset({node.cls})
        case UnionOf():
            types = [python_types(member) for member in alternatives(node)]
            known = [one for one in types if one is not None]
            return frozenset().union(*known) if len(known) == len(types) else None
    return None
