"""What an instance of a class can hold beyond its fields, and whether the tool reads a field where the walk does.

The walk reads ``__dict__`` or a slot; the tool reads ``value.name``. The two are one value unless the class steps in
between: a descriptor of the field's name that takes assignments (a property, a validating descriptor), or a
``__getattribute__``. And what neither ``__dict__`` nor a field's slot holds nobody has judged. Both are refused here.
"""

from __future__ import annotations

import struct
import types
import typing
from typing import TYPE_CHECKING, Any, Final, TypeGuard

import pydantic

from aioc_opa.core.canonical_form.refusal import AnnotationRefusedError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

Place = tuple[str, ...]

_IS_HEAP_TYPE: Final = 1 << 9  # Py_TPFLAGS_HEAPTYPE: made by a class statement, or by C code in its way
_POINTER: Final = struct.calcsize("P")


def refuse_hidden_state(cls: type, known_slots: Collection[str], place: Place) -> None:
    """Refuse what instances hold in none of their fields.

    Args:
        cls: the class.
        known_slots: the slots that are looked at.
        place: for the message.

    Raises:
        AnnotationRefusedError: there is a slot beyond `known_slots`, or a base class of C code that has its own state.
    """
    for base in cls.__mro__[:-1]:
        slots = own_slots(base)
        beyond = slots - set(known_slots)
        if beyond and not _is_c_code(base):
            raise AnnotationRefusedError(
                place, f"{cls.__name__} has the slot {min(beyond)!r} beside its fields: make it a field"
            )
        if base is not typing.Generic and (_is_c_code(base) or beyond or _unseen_bytes(base, len(slots))):
            raise AnnotationRefusedError(
                place, f"{cls.__name__} derives from {base.__name__}, whose content is no field: hold it in a field"
            )


def refuse_detours(cls: type, fields: Iterable[str], *, slotted: bool, place: Place) -> None:
    """Refuse a class whose attributes are not what its instances hold.

    Args:
        cls: the class.
        fields: names of its fields in Python.
        slotted: whether the fields are slots.
        place: for the message.

    Raises:
        AnnotationRefusedError: naming the field.
    """
    if found_in(cls, "__getattribute__") is not object.__getattribute__:
        raise AnnotationRefusedError(
            place, f"{cls.__name__} has a __getattribute__, so that the tool may read what nobody judged: remove it"
        )
    if not slotted and type(found_in(cls, "__dict__")) is not types.GetSetDescriptorType:
        raise AnnotationRefusedError(place, f"{cls.__name__} has a __dict__ of its own making: remove it")
    detours = {name: found_in(cls, name) for name in fields}
    if slotted:
        detours = {name: found for name, found in detours.items() if not _is_slot(found)}
    else:
        detours = {name: found for name, found in detours.items() if _takes_assignments(found)}
    if issubclass(cls, pydantic.BaseModel):
        kept = {name: found_in(cls, name) for name in own_slots(pydantic.BaseModel)}
        detours |= {name: found for name, found in kept.items() if _takes_assignments(found) and not _is_slot(found)}
    for name, found in detours.items():
        raise AnnotationRefusedError(
            (*place, name),
            f"{cls.__name__}.{name} is a {type(found).__name__}, so that the tool would read another value than "
            "the one judged: declare a plain field, and validate in the annotation",
        )


def own_slots(cls: type) -> set[str]:
    """The slots that `cls` itself adds, whatever its ``__slots__`` says by now."""
    return {
        name
        for name, item in vars(cls).items()
        if _is_slot(item) and item.__objclass__ is cls and item.__name__ == name
    }


def found_in(cls: type, name: str) -> Any:
    """What an instance's attribute lookup finds in the class, before it looks at the instance; None for nothing."""
    return next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)


def _is_slot(item: object) -> TypeGuard[types.MemberDescriptorType]:
    return type(item) is types.MemberDescriptorType


def _takes_assignments(item: object) -> bool:
    """A data descriptor, which goes before ``__dict__``."""
    return any(hasattr(type(item), method) for method in ("__set__", "__delete__"))


def _is_c_code(cls: type) -> bool:
    return not cls.__flags__ & _IS_HEAP_TYPE


def _unseen_bytes(cls: type, slots: int) -> bool:
    """Whether an instance has room that is neither a slot nor ``__dict__`` nor ``__weakref__``.

    A C type made the heap type's way (``queue.SimpleQueue``) is like any class but for its size. Offsets below zero
    lie before the object and are not in its size.
    """
    parent = cls.__base__ or object
    added = slots
    added += cls.__dictoffset__ > 0 >= parent.__dictoffset__
    added += cls.__weakrefoffset__ > 0 >= parent.__weakrefoffset__
    return cls.__itemsize__ != 0 or cls.__basicsize__ - parent.__basicsize__ != added * _POINTER
