from __future__ import annotations

import dataclasses
import functools
import threading
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, RootModel
from typing_extensions import TypedDict

from aioc_opa.core.canonical_form import compile_form
from aioc_opa.core.canonical_json import NotCanonicalError
from aioc_opa.core.limits import HARD_MAX_DEPTH, HARD_MAX_NODES
from tests.core.canonical_form.forms import refused_object, text_of_object


class Leaf(BaseModel):
    x: int


class Chain(BaseModel):
    next: Chain | None = None


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    x: int


class Words(RootModel[dict[str, int]]):
    pass


@dataclasses.dataclass
class Point:
    x: int
    y: int = 1


@dataclasses.dataclass(slots=True)
class Slotted:
    x: int
    y: int = 1


class Movie(TypedDict):
    title: str


class StrSub(str):
    __slots__ = ()


class ListSub(list[Any]):
    pass


class DictSub(dict[str, Any]):
    pass


def chain(length: int) -> Chain:
    top = Chain()
    for _ in range(length - 1):
        top = Chain(next=top)
    return top


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth - 1):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("annotation", "value", "path", "said"),
    [
        (list[int], (1,), (), "it holds tuple, not exactly list"),
        (list[int], ListSub(), (), "it holds ListSub"),
        (list[int], [1, "a"], (1,), "it holds str, not exactly int"),
        (list[int], {1}, (), "it holds set"),
        (list[int], iter([1]), (), "it holds list_iterator"),
        (tuple[int, ...], [1], (), "it holds list, not exactly tuple"),
        (tuple[int, ...], (1, None), (1,), "not exactly int"),
        (tuple[int, str], (1,), (), "not exactly a tuple of 2"),
        (tuple[int, str], (1, 2), (1,), "not exactly str"),
        (dict[str, int], DictSub(), (), "it holds DictSub, not exactly dict"),
        (dict[str, int], {"a": "b"}, ("a",), "not exactly int"),
        (dict[str, int], {1: 1}, (), "a key that is not a plain str"),
        (dict[str, int], {StrSub("a"): 1}, (), "a key that is not a plain str"),
        (dict[str, int], {"\ud800": 1}, (), "lone surrogate"),
        (Movie, {"title": "t", "more": 1}, ("more",), "it is no declared key"),
        (Movie, [], (), "not exactly dict"),
        (Leaf, Point(1), (), "it holds Point, not exactly Leaf"),
        (Open, Leaf(x=1), (), "not exactly Open"),
        (Words, {"a": 1}, (), "not exactly Words"),
        (Point, Slotted(1), (), "not exactly Point"),
        (Slotted, Point(1), (), "not exactly Slotted"),
        (int | None, "a", (), "not exactly one of the union's members"),
        (list[int] | list[str], [1, "a"], (1,), "not exactly int"),
        (Any, object(), (), "it holds object where any plain JSON is declared"),
        (Any, [{"a": {1}}], (0, "a"), "it holds set"),
    ],
)
def test_a_value_that_was_not_declared_is_refused(
    annotation: Any, value: object, path: tuple[str | int, ...], said: str
) -> None:
    error = refused_object(annotation, value)
    assert error.path == ("x", *path)
    assert said in error.problem


def with_state(value: Any, **state: Any) -> Any:
    for name, held in state.items():
        object.__setattr__(value, f"__pydantic_{name}__", held)
    return value


@pytest.mark.parametrize(
    ("annotation", "value", "said"),
    [
        (Leaf, Leaf.model_construct(), "lacks some of its fields"),
        (Leaf, with_state(Leaf(x=1), extra={"y": 1}), "extras or set fields that do not fit"),
        (Leaf, with_state(Leaf(x=1), private={}), "has private attributes"),
        (Leaf, with_state(Leaf(x=1), fields_set={"x", "junk"}), "extras or set fields that do not fit"),
        (Open, with_state(Open(x=1), extra=None), "extras or set fields that do not fit"),
        (Open, with_state(Open(x=1), private={"_y": 1}), "has private attributes"),
        (Open, with_state(Open(x=1), fields_set={"x", "junk"}), "extras or set fields that do not fit"),
        (Words, with_state(Words({}), private={"_y": 1}), "has private attributes"),
        (Words, BaseModel.model_construct.__func__(Words), "lacks some of its fields"),
    ],
)
def test_state_of_a_model_beside_its_fields_is_refused(annotation: Any, value: Any, said: str) -> None:
    error = refused_object(annotation, value)
    assert error.path == ("x",)
    assert said in error.problem


def test_fields_that_no_longer_count_as_set_are_refused() -> None:
    form = compile_form(Leaf, tool_name="tool")
    value = Leaf(x=1)
    value.__pydantic_fields_set__.clear()
    with pytest.raises(NotCanonicalError, match="set fields that do not fit"):
        form.text(value)


def test_a_cached_property_is_state_beyond_the_fields() -> None:
    class Cached(BaseModel):
        x: int

        @functools.cached_property
        def twice(self) -> int:
            return 2 * self.x

    value = Cached(x=1)
    assert text_of_object(Cached, value) == '{"x":1}'
    assert value.twice == 2
    assert "the attribute 'twice' beyond its fields" in refused_object(Cached, value).problem


def test_a_dataclass_field_without_a_value_is_refused() -> None:
    lacking, swapped, slotted = Point(1), Point(1), Slotted(1)
    del lacking.__dict__["y"]
    del swapped.__dict__["y"]
    swapped.__dict__["z"] = 1
    object.__delattr__(slotted, "y")
    assert "has no value for 'y'" in refused_object(Point, lacking).problem
    assert refused_object(Point, swapped).path == ("x", "y")
    assert refused_object(Slotted, slotted).path == ("x", "y")


def test_depth_is_bounded_and_cycles_end() -> None:
    assert text_of_object(Chain, chain(HARD_MAX_DEPTH - 1)).count("{") == HARD_MAX_DEPTH - 1
    assert "nested deeper than 100, or contains itself" in refused_object(Chain, chain(HARD_MAX_DEPTH)).problem
    assert text_of_object(Any, nested(HARD_MAX_DEPTH - 1)).count("[") == HARD_MAX_DEPTH - 1
    assert "contains itself" in refused_object(Any, nested(HARD_MAX_DEPTH)).problem
    ring = Chain()
    ring.next = ring
    assert "contains itself" in refused_object(Chain, ring).problem
    endless: list[Any] = []
    endless.append(endless)
    assert "contains itself" in refused_object(Any, endless).problem


def test_parts_that_are_shared_over_and_over_end() -> None:
    value: list[Any] = [0]
    for _ in range(60):
        value = [value, value]
    assert f"more than {HARD_MAX_NODES} values" in refused_object(Any, value).problem


def test_what_is_changed_by_another_thread_gives_a_text_or_this_error() -> None:
    form = compile_form(dict[str, int], tool_name="tool")
    value = {f"k{i}": i for i in range(50)}
    stop = threading.Event()

    def mutate() -> None:
        while not stop.is_set():
            value["extra"] = 1
            value.pop("extra", None)

    thread = threading.Thread(target=mutate)
    thread.start()
    try:
        for _ in range(2000):
            try:
                form.text(value)
            except NotCanonicalError as error:
                assert "changed by someone else" in error.problem  # noqa: PT017 - either outcome is right
    finally:
        stop.set()
        thread.join()


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (RuntimeError("dictionary changed size during iteration"), "changed by someone else"),
        (RecursionError(), "stack leaves no room"),
    ],
)
def test_what_stops_a_walk_is_reported_as_no_canonical_form(raised: Exception, said: str) -> None:
    form = compile_form(dict[str, int], tool_name="tool")

    def stopped(*_: object) -> str:
        raise raised

    form._write = stopped
    with pytest.raises(NotCanonicalError, match=said):
        form.text({})
