"""Which members of a union a dict cannot be, known by its tags before anything below it is looked at.

A model's class says which member it is; of a TypedDict there is only the dict. Trying one member after the other would
do the work below it for each, and below that again: exponential in the depth, for a text that pydantic reads in one go
by its discriminator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from aioc_opa.core.canonical_form.nodes import EnumMembers, Node, PlainLiteral, Record, UnionOf, followed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aioc_opa.core.canonical_form.nodes import Concrete

MayBe: TypeAlias = Callable[[Any], bool]
"""Whether a value may be of a member; true decides nothing."""


def tag_checks(members: Sequence[Node]) -> list[MayBe | None]:
    """For each member of a union what its tags say; None where there is nothing to tell apart."""
    targets = [followed(member) for member in members]
    if sum(isinstance(node, Record) and node.style == "typed_dict" for node in targets) < 2:  # noqa: PLR2004 - two
        return [None] * len(targets)
    return [_tag_check(node) for node in targets]


def _tag_check(node: Concrete) -> MayBe | None:
    if not isinstance(node, Record) or node.style != "typed_dict":
        return None
    tags = [(field.name, _values(followed(field.node))) for field in node.fields if field.always_written]
    known = [(name, values) for name, values in tags if values is not None]

    def may_be(value: Any) -> bool:
        if type(value) is not dict:
            return False
        for name, values in known:
            held = value.get(name)
            # Members of an Enum are known by identity: hashing one may run code of the application.
            if ((type(held), held) if held is None or type(held) in (str, int, bool) else id(held)) not in values:
                return False
        return True

    return may_be if known else None


def _values(node: Concrete) -> frozenset[object] | None:
    match node:
        case PlainLiteral():
            return frozenset((type(value), value) for value in node.values)
        case EnumMembers():
            return frozenset(id(member) for member, _ in node.members)
        case UnionOf():  # Literal["a", Kind.B] is read as a union of two
            parts = [_values(followed(member)) for member in node.members]
            known = [part for part in parts if part is not None]
            return frozenset().union(*known) if len(known) == len(parts) else None
    return None
