"""What is judged is what the tool reads, and nothing is held beside it: seen on the class, at registration."""

from __future__ import annotations

import _random
import dataclasses
import functools
import queue
from typing import Any

import pydantic.dataclasses
import pytest
from pydantic import BaseModel, ConfigDict, Field

from tests.core.canonical_form.forms import refused_object, refused_registration, text_of, whole_text


class Converting:
    """The descriptor of the dataclasses documentation ("Descriptor-typed fields")."""

    def __init__(self, *, default: int) -> None:
        self._default = default

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = "_" + name

    def __get__(self, instance: object, owner: type) -> int:
        return self._default if instance is None else int(getattr(instance, self._name, self._default))

    def __set__(self, instance: object, value: object) -> None:
        setattr(instance, self._name, value)


class OnlyDeletes:
    def __delete__(self, instance: object) -> None: ...


def always_big(_self: object) -> int:
    return 10**7


def ignored(_self: object, _value: object) -> None: ...


@dataclasses.dataclass
class Described:
    x: int = Converting(default=10**7)  # type: ignore[assignment] - what is tested


@pydantic.dataclasses.dataclass
class DescribedChecked:
    x: int = Converting(default=10**7)  # type: ignore[assignment] - what is tested


@dataclasses.dataclass
class Plain:
    x: int


class Undecorated(Plain):
    x = property(always_big, ignored)  # type: ignore[assignment] - what is tested


@dataclasses.dataclass(slots=True)
class Slotted:
    x: int


class SlottedChild(Slotted):
    __slots__ = ()
    x = property(always_big, ignored)  # type: ignore[assignment] - what is tested


class SlottedShadow(Slotted):
    __slots__ = ()
    x = 10**7  # no property, yet in front of the slot


class Patched(BaseModel):
    x: int


Patched.x = property(always_big)  # type: ignore[assignment] - what is tested


class PatchedDelete(BaseModel):
    x: int


PatchedDelete.x = OnlyDeletes()  # type: ignore[assignment] - what is tested


class Mixin:
    x = property(always_big)


class Mixed(Mixin, Patched):
    pass


class Root(pydantic.RootModel[dict[str, int]]):
    pass


Root.root = property(lambda _self: {})  # type: ignore[assignment] - what is tested


class HidesExtras(BaseModel):
    model_config = ConfigDict(extra="allow")


HidesExtras.__pydantic_extra__ = property(lambda _self: {}, ignored)  # type: ignore[assignment] - what is tested


@pytest.mark.parametrize(
    ("cls", "said"),
    [
        (Described, "x: Described.x is a Converting, so that the tool would read another value"),
        (DescribedChecked, "x: DescribedChecked.x is a Converting"),
        (Undecorated, "x: Undecorated.x is a property"),
        (SlottedChild, "x: SlottedChild.x is a property"),
        (SlottedShadow, "x: SlottedShadow.x is a int"),
        (Patched, "x: Patched.x is a property"),
        (PatchedDelete, "x: PatchedDelete.x is a OnlyDeletes"),
        (Mixed, "x: Mixed.x is a property"),
        (Root, "root: Root.root is a property"),
        (HidesExtras, "__pydantic_extra__: HidesExtras.__pydantic_extra__ is a property"),
    ],
)
def test_a_field_that_the_tool_would_read_elsewhere_is_refused(cls: type, said: str) -> None:
    assert said in refused_registration(cls, whole=True)


def test_what_stands_behind_the_instance_is_no_detour() -> None:
    class Cached(BaseModel):
        x: int

    Cached.x = functools.cached_property(always_big)  # type: ignore[assignment] - no data descriptor: __dict__ wins
    assert whole_text(Cached, '{"x":5}') == '{"x":5}'
    assert text_of(Plain, '{"x":5}') == text_of(Slotted, '{"x":5}') == '{"x":5}'


def test_a_class_that_answers_for_its_attributes_is_refused() -> None:
    class Answers(BaseModel):
        x: int

        def __getattribute__(self, name: str) -> Any:
            return super().__getattribute__(name)

    @dataclasses.dataclass
    class OwnDict:
        x: int

        @property
        def __dict__(self) -> dict[str, Any]:  # type: ignore[override] - what is tested
            return {"x": 5}

    assert "Answers has a __getattribute__" in refused_registration(Answers, whole=True)
    assert "OwnDict has a __dict__ of its own making" in refused_registration(OwnDict, whole=True)


@dataclasses.dataclass
class FromQueue(queue.SimpleQueue):  # type: ignore[type-arg] - a bare base is what is tested
    x: int


@dataclasses.dataclass
class FromRandom(_random.Random):
    x: int


@dataclasses.dataclass
class SlotsOnce:
    __slots__ = iter(("hidden", "x"))
    x: int


@dataclasses.dataclass
class SlotsOnceAndDict:
    __slots__ = iter(("hidden", "__dict__"))
    x: int


class ModelSlotsOnce(BaseModel):
    __slots__ = iter(("hidden",))  # type: ignore[assignment] - what is tested
    x: int


class LostSlot:
    __slots__ = ("hidden",)


DESCRIPTOR = LostSlot.hidden  # type: ignore[attr-defined] - a slot is an attribute
del LostSlot.hidden  # type: ignore[attr-defined] - whoever kept the descriptor still reaches the slot


@dataclasses.dataclass
class FromLostSlot(LostSlot):
    x: int


@dataclasses.dataclass(slots=True)
class SlotSeenTwice:
    x: int
    y: int


SlotSeenTwice.y = SlotSeenTwice.x  # type: ignore[assignment] - what is tested


@pytest.mark.parametrize(
    ("cls", "said"),
    [
        (FromQueue, "FromQueue derives from SimpleQueue, whose content is no field"),
        (FromRandom, "FromRandom derives from Random, whose content is no field"),
        (SlotsOnce, "SlotsOnce has the slot 'hidden'"),
        (SlotsOnceAndDict, "SlotsOnceAndDict has the slot 'hidden'"),
        (ModelSlotsOnce, "ModelSlotsOnce has the slot 'hidden'"),
        (FromLostSlot, "FromLostSlot derives from LostSlot, whose content is no field"),
        (SlotSeenTwice, "SlotSeenTwice derives from SlotSeenTwice, whose content is no field"),
    ],
)
def test_state_that_no_field_shows_is_refused(cls: type, said: str) -> None:
    assert said in refused_registration(cls, whole=True)


class Wide:
    __slots__ = ("__weakref__",)


@dataclasses.dataclass(slots=True, weakref_slot=True)
class SlottedBase:
    x: int


@dataclasses.dataclass(slots=True)
class SlottedHeir(SlottedBase):
    __y: int = 1


@dataclasses.dataclass
class WithDict(Wide):
    x: int


def test_ordinary_slots_and_bases_are_no_hidden_state() -> None:
    assert whole_text(SlottedHeir, '{"x":5}') == '{"_SlottedHeir__y":1,"x":5}'
    assert whole_text(WithDict, '{"x":5}') == '{"x":5}'


class Lying(dict[str, Any]):
    def __getitem__(self, key: str) -> Any:
        return 5


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    x: int = Field(default=5)


class OneRoot(pydantic.RootModel[int]):
    pass


@pytest.mark.parametrize(("cls", "name"), [(Plain, "x"), (BaseModel, "x"), (Open, "x"), (OneRoot, "root")])
def test_a_dict_that_is_no_plain_dict_is_refused(cls: type, name: str) -> None:
    model: Any = pydantic.create_model("M", x=(int, ...)) if cls is BaseModel else cls
    value = model(**{name: 5})
    object.__setattr__(value, "__dict__", Lying({name: 10**7}))
    assert "is no plain dict: build it by parsing" in refused_object(model, value).problem


@pytest.mark.parametrize(("cls", "name"), [(BaseModel, "x"), (Open, "x"), (OneRoot, "root")])
def test_set_fields_that_are_no_plain_set_are_refused(cls: type, name: str) -> None:
    class Noted(set[str]):
        pass

    model: Any = pydantic.create_model("M", x=(int, ...)) if cls is BaseModel else cls
    value = model(**{name: 5})
    object.__setattr__(value, "__pydantic_fields_set__", Noted({name}))
    assert "set fields that do not fit" in refused_object(model, value).problem
