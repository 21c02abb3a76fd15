"""JSON Schema 2020-12 of the canonical value, for `opa check --schema`: names and types, as policies see them.

Constraints (lengths, ranges, patterns) are left out on purpose: OPA's type checker does not read them, and the tool's
own schema has enforced them. Below an ``anyOf`` (``X | None``) that checker takes any name.

Made from the nodes, like the walk, so that the two cannot disagree; pydantic's own export would follow aliases,
serializers and computed fields.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final

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

if TYPE_CHECKING:
    from aioc_opa.core.json_value import JsonObject

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

_SCALARS: Final[dict[str, JsonObject]] = {
    "null": {"type": "null"},
    "boolean": {"type": "boolean"},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "string": {"type": "string"},
    "decimal": {"type": "string"},
    "uuid": {"type": "string", "format": "uuid"},
    "date": {"type": "string", "format": "date"},
    "time": {"type": "string"},  # not "format": "time": RFC 3339 asks for an offset, and these may have none
    "datetime": {"type": "string"},
}


def export_schema(root: Node) -> JsonObject:
    """The schema of `root`. What mentions itself stands in ``$defs``."""
    return _Export().document(root)


class _Export:
    def __init__(self) -> None:
        self._under_way: list[Node] = []
        self._recursive: dict[Node, str] = {}
        self._defs: JsonObject = {}

    def document(self, root: Node) -> JsonObject:
        body = self._schema(root)
        document: JsonObject = {"$schema": DIALECT, **body}
        if self._defs:
            document["$defs"] = self._defs
        return document

    def _schema(self, node: Node | None) -> JsonObject:
        node = followed(node)
        if node in self._recursive:
            return {"$ref": f"#/$defs/{self._recursive[node]}"}
        if node in self._under_way:
            name = node.cls.__name__ if isinstance(node, Record | RootOf) else "Value"
            taken = set(self._recursive.values())
            numbered = (f"{name}_{number}" for number in itertools.count(2))
            self._recursive[node] = next(one for one in itertools.chain([name], numbered) if one not in taken)
            return self._schema(node)
        self._under_way.append(node)
        body = self._body(node)
        self._under_way.pop()
        if node in self._recursive:
            self._defs[self._recursive[node]] = body
            return self._schema(node)
        return body

    def _body(self, node: Concrete) -> JsonObject:
        match node:
            case Scalar():
                return dict(_SCALARS[node.kind])
            case AnyJson():
                return {}
            case PlainLiteral():
                return {"enum": list(node.values)}
            case EnumMembers():
                return {"enum": [value for _, value in node.members]}
            case ListOf() | TupleRest():
                return {"type": "array", "items": self._schema(node.item)}
            case TupleOf():
                size = len(node.items)
                prefix: JsonObject = {"prefixItems": [self._schema(item) for item in node.items]} if size else {}
                return {"type": "array", **prefix, "minItems": size, "maxItems": size}
            case DictOf():
                return {"type": "object", "additionalProperties": self._schema(node.value)}
            case UnionOf():
                return {"anyOf": [self._schema(member) for member in node.members]}
            case RootOf():
                return self._schema(node.root)
            case Record():
                return {
                    "type": "object",
                    "properties": {field.name: self._schema(field.node) for field in node.fields},
                    "required": [field.name for field in node.fields if field.always_written],
                    "additionalProperties": False if node.extra is None else self._schema(node.extra),
                }
