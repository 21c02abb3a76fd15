"""Each pair of objects that one pydantic dump would merge (issue, "Canonical form"): told apart, or refused.

Each test first shows that pydantic's own dump is the same for both.
"""

from __future__ import annotations

import dataclasses
import decimal
import enum
import uuid
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    PrivateAttr,
    SecretStr,
    Tag,
    TypeAdapter,
    create_model,
    field_serializer,
    model_validator,
)
from typing_extensions import TypedDict

from aioc_opa.core.canonical_form import compile_form
from aioc_opa.core.canonical_json import NotCanonicalError
from aioc_opa.core.tool_schemas.pydantic_schema import PydanticSchema
from tests.core.canonical_form.forms import refused_registration


def dumps_alike(annotation: Any, a: object, b: object) -> bool:
    adapter = TypeAdapter(annotation)
    return adapter.dump_json(a, warnings=False) == adapter.dump_json(b, warnings=False)


def texts(annotation: Any, raw_a: str, raw_b: str) -> tuple[str, str]:
    schema = PydanticSchema(annotation, tool_name="tool")
    a, b = schema.parse(raw_a), schema.parse(raw_b)
    assert dumps_alike(annotation, a, b)
    return schema.canonical_text(a), schema.canonical_text(b)


def test_excluded_fields_are_told_apart() -> None:
    class Transfer(BaseModel):
        to: str = Field(exclude=True)

    a, b = texts(Transfer, '{"to":"alice"}', '{"to":"mallory"}')
    assert a != b


def test_serializers_do_not_fold_values() -> None:
    class Rounded(BaseModel):
        amount: float

        @field_serializer("amount")
        def _rounded(self, value: float) -> int:
            return round(value)

    a, b = texts(Rounded, '{"amount":1.1}', '{"amount":1.2}')
    assert a != b


def test_secrets_are_refused_at_registration() -> None:
    class Login(BaseModel):
        password: SecretStr

    assert dumps_alike(Login, Login(password=SecretStr("a")), Login(password=SecretStr("b")))
    assert "password: SecretStr: a secret prints as stars" in refused_registration(Login, whole=True)


class Base(BaseModel):
    x: int


class Sub(Base):
    admin: bool = True


class Holder(BaseModel):
    base: Base


def settled(annotation: Any, value: object) -> tuple[Any, object]:
    form = compile_form(annotation, tool_name="tool")
    form.settle(value)
    return form, value


def refused(annotation: Any, value: object) -> NotCanonicalError:
    form, value = settled(annotation, value)
    with pytest.raises(NotCanonicalError) as caught:
        form.text(value)
    return caught.value


def test_a_subclass_of_the_declared_class_is_refused() -> None:
    a, b = Holder(base=Base(x=1)), Holder(base=Sub(x=1))
    assert dumps_alike(Holder, a, b)
    form, _ = settled(Holder, a)
    assert form.text(a) == '{"base":{"x":1}}'
    error = refused(Holder, b)
    assert error.path == ("base",)
    assert "it holds Sub, not exactly Base" in error.problem


def test_private_attributes_are_refused_at_registration() -> None:
    class Hidden(BaseModel):
        x: int
        _limit: int = PrivateAttr(default=1)

    assert "Hidden has private attributes" in refused_registration(Hidden, whole=True)


def test_private_attributes_are_refused_at_run_time() -> None:
    value = Base(x=1)
    object.__setattr__(value, "__pydantic_private__", {"_limit": 1})
    assert dumps_alike(Base, Base(x=1), value)
    assert "has private attributes" in refused(Base, value).problem


def test_state_set_in_post_init_is_refused() -> None:
    @dataclasses.dataclass
    class Order:
        x: int

        def __post_init__(self) -> None:
            if self.x > 1:
                self.secret = "hidden"

    schema = PydanticSchema(Order, tool_name="tool")
    assert schema.canonical_text(schema.parse('{"x":1}')) == '{"x":1}'
    with pytest.raises(NotCanonicalError, match=r"a Order has the attribute 'secret' beyond its fields"):
        schema.canonical_text(schema.parse('{"x":2}'))


def test_an_attribute_beyond_the_fields_of_a_model_is_refused() -> None:
    value = Base(x=1)
    value.__dict__["secret"] = 1
    assert "has the attribute 'secret' beyond its fields" in refused(Base, value).problem


def test_callable_discriminators_cannot_pick_between_equal_texts() -> None:
    class Cat(BaseModel):
        name: str

    class Dog(BaseModel):
        name: str

    def pick(value: Any) -> str:
        return "cat"

    class Pet(BaseModel):
        pet: Annotated[Annotated[Cat, Tag("cat")] | Annotated[Dog, Tag("dog")], Discriminator(pick)]

    assert dumps_alike(Pet, Pet.model_construct(pet=Cat(name="a")), Pet.model_construct(pet=Dog(name="a")))
    assert "pet: a union of Cat and Dog, which can write equal JSON" in refused_registration(Pet, whole=True)


def test_nan_and_null_are_told_apart() -> None:
    class Maybe(BaseModel):
        x: float | None

    assert dumps_alike(Maybe, Maybe(x=float("nan")), Maybe(x=None))
    schema = PydanticSchema(Maybe, tool_name="tool")
    with pytest.raises(NotCanonicalError, match="NaN and infinities"):
        schema.canonical_text(schema.parse('{"x":"nan"}'))


def test_decimal_and_str_are_not_one_union() -> None:
    class Amount(BaseModel):
        x: Decimal | str

    assert dumps_alike(Amount, Amount(x=Decimal("1.0")), Amount(x="1.0"))
    assert "a union of decimal and str" in refused_registration(Amount, whole=True)


def test_an_extra_named_like_a_field_is_refused() -> None:
    class Open(BaseModel):
        model_config = ConfigDict(extra="allow")
        a: int = Field(alias="A")

    schema = PydanticSchema(Open, tool_name="tool")
    parsed = schema.parse('{"A":1,"a":2}')
    with pytest.raises(NotCanonicalError, match="an extra key is named like a field"):
        schema.canonical_text(parsed)


def test_given_and_defaulted_are_one_object_and_one_text() -> None:
    class Inner(BaseModel):
        y: int = 1

    class Outer(BaseModel):
        x: int = 1
        inner: Inner = Inner()
        many: list[Inner] = []

    schema = PydanticSchema(Outer, tool_name="tool")
    given, defaulted = schema.parse('{"x":1,"inner":{"y":1},"many":[]}'), schema.parse("{}")
    assert isinstance(given, Outer)
    assert isinstance(defaulted, Outer)
    assert schema.canonical_text(given) == schema.canonical_text(defaulted)
    for a, b in ((given, defaulted), (given.inner, defaulted.inner)):
        assert a.model_fields_set == b.model_fields_set == set(type(a).model_fields)
        assert a.model_dump(exclude_unset=True) == b.model_dump(exclude_unset=True)


def test_a_validator_that_marks_fields_as_unset_is_overruled() -> None:
    class Marked(BaseModel):
        x: int
        y: int = 1

        @model_validator(mode="after")
        def _unset(self) -> Marked:
            self.__pydantic_fields_set__.clear()
            return self

    schema = PydanticSchema(Marked, tool_name="tool")
    parsed = schema.parse('{"x":1}')
    assert isinstance(parsed, Marked)
    assert parsed.model_fields_set == {"x", "y"}


class Priced(TypedDict):
    kind: Literal["a"]
    amount: Decimal


class Named(TypedDict):
    kind: Literal["b"]
    amount: str


def without_kind(value: dict[str, Any]) -> dict[str, Any]:
    value.pop("kind")
    return value


def test_a_tag_that_a_validator_takes_away_is_missed() -> None:
    inside = Annotated[Priced, AfterValidator(without_kind)] | Annotated[Named, AfterValidator(without_kind)]
    around = Annotated[Annotated[Priced | Named, Field(discriminator="kind")], AfterValidator(without_kind)]
    for annotation in (inside, around):
        schema = PydanticSchema(create_model("Arguments", x=(annotation, ...)), tool_name="tool")
        for kind in ("a", "b"):
            parsed = schema.parse(f'{{"x":{{"kind":"{kind}","amount":"5"}}}}')
            with pytest.raises(NotCanonicalError):
                schema.canonical_text(parsed)


def test_a_required_key_that_is_missing_is_named() -> None:
    schema = PydanticSchema(create_model("Arguments", x=(Priced, ...)), tool_name="tool")
    parsed: Any = schema.parse('{"x":{"kind":"a","amount":"5"}}')
    del parsed.x["kind"]
    with pytest.raises(NotCanonicalError, match="it lacks the required key 'kind'"):
        schema.canonical_text(parsed)


def test_what_a_decimal_context_or_a_uuid_says_aside_is_not_folded() -> None:
    class Mixed(BaseModel):
        x: Decimal | Literal["1e+5"]

    class Known(BaseModel):
        x: Annotated[uuid.UUID, AfterValidator(lambda u: uuid.UUID(int=u.int, is_safe=uuid.SafeUUID.safe))]

    schema = PydanticSchema(Mixed, tool_name="tool")
    number, word = schema.parse('{"x":"1E+5"}'), schema.parse('{"x":"1e+5"}')
    with decimal.localcontext() as context:
        context.capitals = 0
        assert schema.canonical_text(number) == '{"x":"1E+5"}'
        assert schema.canonical_text(word) == '{"x":"1e+5"}'
    schema = PydanticSchema(Known, tool_name="tool")
    with pytest.raises(NotCanonicalError, match="is_safe"):
        schema.canonical_text(schema.parse('{"x":"12345678-1234-5678-1234-567812345678"}'))


def test_an_enum_member_whose_value_was_changed_is_refused() -> None:
    class Size(enum.Enum):
        SMALL = "s"

    class Sized(BaseModel):
        x: Size

    schema = PydanticSchema(Sized, tool_name="tool")
    parsed = schema.parse('{"x":"s"}')
    assert schema.canonical_text(parsed) == '{"x":"s"}'
    Size.SMALL._value_ = "xxl"
    with pytest.raises(NotCanonicalError, match="its Enum member was changed"):
        schema.canonical_text(parsed)
