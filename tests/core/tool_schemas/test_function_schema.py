import functools
import inspect
from collections.abc import AsyncIterator, Iterator
from decimal import Decimal
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, BaseModel, BeforeValidator, Field

from aioc_opa.core.tool_schemas.function_schema import FunctionSchema
from aioc_opa.core.tool_schemas.protocol import SchemaRejectionError
from aioc_opa.errors import ToolRegistrationError
from tests.core.tool_schemas import function_tools
from tests.core.tool_schemas.function_tools import Line, decorated


def schema_of(function: Any, *injected: str) -> FunctionSchema:
    return FunctionSchema(function, tool_name="tool", injected=frozenset(injected))


def refused(function: Any, *injected: str) -> str:
    with pytest.raises(ToolRegistrationError) as caught:
        schema_of(function, *injected)
    message = str(caught.value)
    assert message.startswith("tool 'tool': ")
    return message


def issue_codes(schema: FunctionSchema, raw: str) -> list[tuple[str, tuple[str | int, ...]]]:
    with pytest.raises(SchemaRejectionError) as caught:
        schema.parse(raw)
    return [(issue.code, issue.path) for issue in caught.value.issues]


def awkward(
    self: int, schema: str, model_config: list[int], field_0: float = 1.0, *, model_fields: bool = True
) -> None:
    pass


def test_awkward_parameter_names_are_no_problem() -> None:
    schema = schema_of(awkward)
    parsed = schema.parse('{"self":1,"schema":"s","model_config":[1]}')
    assert schema.canonical_text(parsed) == '{"field_0":1,"model_config":[1],"model_fields":true,"schema":"s","self":1}'
    args, kwargs = schema.bind(parsed)
    assert args == ()
    assert kwargs == {"self": 1, "schema": "s", "model_config": [1], "field_0": 1.0, "model_fields": True}
    assert list(schema.export()["properties"]) == ["self", "schema", "model_config", "field_0", "model_fields"]


def test_unknown_keys_are_refused_and_generated_names_are_unknown() -> None:
    def tool(a: int) -> None:
        pass

    schema = schema_of(tool)
    assert issue_codes(schema, '{"a":1,"b":2}') == [("extra_forbidden", ("b",))]
    assert issue_codes(schema, '{"field_0":1}') == [("missing", ("a",)), ("extra_forbidden", ("field_0",))]


def test_errors_are_placed_by_the_parameter_s_name() -> None:
    def tool(lines: list[Line]) -> None:
        pass

    assert issue_codes(schema_of(tool), '{"lines":[{"sku":1}]}') == [("string_type", ("lines", 0, "sku"))]


def test_each_argument_is_the_very_value_of_its_field() -> None:
    def tool(a: Line, b: list[Line], /, c: dict[str, Line], *, d: Decimal, e: Line = Line(sku="default")) -> None:  # noqa: B008 - what is tested
        pass

    schema = schema_of(tool)
    parsed = schema.parse('{"a":{"sku":"1"},"b":[{"sku":"2"}],"c":{"k":{"sku":"3"}},"d":"1.0"}')
    args, kwargs = schema.bind(parsed)
    bound = inspect.signature(tool).bind(*args, **kwargs).arguments
    held = list(vars(parsed).values())
    assert list(bound) == ["a", "b", "c", "d", "e"]
    for given, judged in zip(bound.values(), held, strict=True):
        assert given is judged
    assert schema.canonical_text(parsed).startswith('{"a":{"amount":1,"sku":"1"},')


def test_annotated_validators_and_field_are_honoured() -> None:
    def tool(
        a: Annotated[str, BeforeValidator(str), AfterValidator(str.upper)],
        b: Annotated[int, Field(ge=1)] = 1,
        c: int = Field(5, le=9, description="what it is"),
        d: list[int] = Field(default_factory=list),  # noqa: B008 - pydantic's way
    ) -> None:
        pass

    schema = schema_of(tool)
    assert schema.canonical_text(schema.parse('{"a":"x"}')) == '{"a":"X","b":1,"c":5,"d":[]}'
    assert [code for code, _ in issue_codes(schema, '{"a":"x","b":0,"c":10}')] == [
        "greater_than_equal",
        "less_than_equal",
    ]


def test_two_calls_share_no_mutable_default() -> None:
    def tool(a: list[int] = [], b: Line = Line(sku="x")) -> None:  # noqa: B006, B008 - what is tested
        pass

    schema = schema_of(tool)
    (_, first), (_, second) = schema.bind(schema.parse("{}")), schema.bind(schema.parse("{}"))
    assert first == second
    assert first["a"] is not second["a"]
    assert first["b"] is not second["b"]


def test_injected_parameters_are_in_no_model_no_hash_no_schema() -> None:
    schema = schema_of(function_tools.order, "ctx")
    parsed = schema.parse('{"lines":[{"sku":"a"}]}')
    assert schema.canonical_text(parsed) == '{"lines":[{"amount":1,"sku":"a"}],"note":"-"}'
    assert set(schema.bind(parsed)[1]) == {"lines", "note"}
    assert set(schema.export()["properties"]) == {"lines", "note"}
    assert issue_codes(schema, '{"lines":[],"ctx":{}}') == [("extra_forbidden", ("ctx",))]
    assert [code for code, _ in issue_codes(schema, '{"lines":[],"note":"toolong"}')] == ["string_too_long"]


async def coroutine(a: int) -> int:
    return a


class Service:
    def method(self, a: int) -> int:
        return a

    @classmethod
    def made(cls, a: int) -> int:
        return a

    @staticmethod
    def free(a: int) -> int:
        return a

    def __call__(self, a: int) -> int:
        return a


@pytest.mark.parametrize(
    "function",
    [
        coroutine,
        Service().method,
        Service.made,
        Service.free,
        decorated(coroutine),
        decorated(Service().method),
        lambda: 1,
    ],
)
def test_functions_bound_methods_and_wrapped_ones_are_accepted(function: Any) -> None:
    schema = schema_of(function)
    names = list(inspect.signature(function).parameters)
    parsed = schema.parse('{"a":1}' if names else "{}")
    assert schema.bind(parsed) == ((), {"a": 1} if names else {})


def test_a_wrapped_function_resolves_names_where_it_was_defined() -> None:
    schema = schema_of(decorated(function_tools.order), "ctx")
    assert set(schema.export()["properties"]) == {"lines", "note"}


def generator(a: int) -> Iterator[int]:
    yield a


async def async_generator(a: int) -> AsyncIterator[int]:
    yield a


def var_args(*rest: int) -> None:
    pass


def var_keywords(**rest: int) -> None:
    pass


def unannotated(a, b: int) -> None:  # type: ignore[no-untyped-def] # noqa: ANN001 - what is tested
    pass


def sets(a: set[int]) -> None:
    pass


def wrong_default(a: int, b: str = None) -> None:  # type: ignore[assignment] # noqa: RUF013 - what is tested
    pass


def aliased(a: Annotated[int, Field(alias="b")]) -> None:
    pass


def aliased_default(a: int = Field(1, validation_alias="b")) -> None:
    pass


def reads_others(a: int, b: int = Field(default_factory=lambda data: data["a"])) -> None:
    pass


def positional_injected(ctx: object, /, a: int) -> None:
    pass


def refused_by_pydantic(a: Annotated[int, Field(discriminator="x")]) -> None:
    pass


wraps_partial = functools.wraps(functools.partial(wrong_default))(lambda *a: None)


@pytest.mark.parametrize(
    ("function", "injected", "said"),
    [
        (generator, (), "a generator runs after the call has been checked"),
        (async_generator, (), "a generator runs after the call has been checked"),
        (decorated(generator), (), "a generator runs after the call has been checked"),
        (var_args, (), "rest: var-args take what nobody declared"),
        (var_keywords, (), "rest: var-args take what nobody declared"),
        (unannotated, (), "a: it has no annotation: annotate it, or declare it as injected"),
        (Service.method, (), "self: it has no annotation: annotate it, or declare it as injected (for a method"),
        (function_tools.unresolved, (), "x: its annotation mentions a name that is not resolved (Context)"),
        (sets, (), "a: set: a set has no order"),
        (wrong_default, (), "b: its default does not fit: it holds NoneType, not exactly str"),
        (aliased, (), "a: its Field has an alias"),
        (aliased_default, (), "a: its Field has an alias"),
        (reads_others, (), "b: its default_factory reads other fields"),
        (positional_injected, ("ctx",), "ctx: an injected parameter is passed by keyword"),
        (coroutine, ("b",), "b: it is declared as injected, but the function has no such parameter"),
        (refused_by_pydantic, (), "pydantic refuses its signature"),
        (functools.partial(coroutine, a=1), (), "a partial is no plain function"),
        (Service(), (), "a Service is no plain function"),
        (Service, (), "a type is no plain function"),
        (len, (), "a builtin_function_or_method is no plain function"),
        (wraps_partial, (), "it wraps a partial"),
    ],
)
def test_what_cannot_be_done_right_is_refused_with_place_and_cure(
    function: Any, injected: tuple[str, ...], said: str
) -> None:
    assert said in refused(function, *injected)


def test_registration_and_parsing_do_not_run_the_function() -> None:
    def tool(a: int) -> None:
        raise AssertionError

    schema = schema_of(tool)
    schema.bind(schema.parse('{"a":1}'))


def test_a_model_parameter_is_judged_whole() -> None:
    class Excluded(BaseModel):
        to: str = Field(exclude=True)

    def tool(x: Excluded) -> None:
        pass

    schema = schema_of(tool)
    assert schema.canonical_text(schema.parse('{"x":{"to":"a"}}')) == '{"x":{"to":"a"}}'


def test_a_function_that_wraps_itself_is_refused() -> None:
    def tool(x: int) -> None: ...

    tool.__wrapped__ = tool  # type: ignore[attr-defined] - what is tested
    with pytest.raises(ToolRegistrationError, match="it wraps itself"):
        FunctionSchema(tool, tool_name="tool")
