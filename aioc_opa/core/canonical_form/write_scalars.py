"""Writers of single values. Every type is exact: a subclass may say one thing and be another."""

from __future__ import annotations

import datetime as dt
import decimal
import uuid
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Any, Final

import rfc8785
from pydantic_core import TzInfo

from aioc_opa.core.canonical_form.refusal import ValueRefusedError
from aioc_opa.core.canonical_form.write_state import QuickWriter, Writer, WriteState, not_declared
from aioc_opa.core.canonical_json import canonical_text
from aioc_opa.core.limits import MAX_SAFE_INTEGER

if TYPE_CHECKING:
    from aioc_opa.core.canonical_form.nodes import EnumMembers, PlainLiteral, ScalarKind

quoted: Final[QuickWriter] = encode_basestring
"""A str as RFC 8785 section 3.2.2.2 escapes it, which is how `json` does without ``ensure_ascii``."""

BOOLEANS: Final = {True: "true", False: "false"}


def write_null(value: Any, _state: WriteState, _depth: int) -> str:
    """None."""
    if value is None:
        return "null"
    raise not_declared(value, "None")


def write_boolean(value: Any, _state: WriteState, _depth: int) -> str:
    """A bool."""
    if type(value) is bool:
        return BOOLEANS[value]
    raise not_declared(value, "bool")


def write_integer(value: Any, _state: WriteState, _depth: int) -> str:
    """An int that binary64 keeps apart (RFC 8785 section 3.2.2.3, RFC 7493 section 2.2)."""
    if type(value) is int:
        if -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER:
            return repr(value)
        raise ValueRefusedError("an integer is beyond ±(2^53-1): pass it as a string")
    raise not_declared(value, "int")


def write_number(value: Any, state: WriteState, depth: int) -> str:
    """A finite float, or an int. 1 and 1.0 are one value, and so are 0 and -0."""
    if type(value) is float:
        if value.is_integer():
            if -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER:
                return repr(int(value))
        elif 1e-4 <= value < 1e16 or -1e16 < value <= -1e-4:  # noqa: PLR2004 - there `repr` is the ES6 form
            return repr(value)
        if value - value != 0:
            raise ValueRefusedError("NaN and infinities are not JSON: forbid them with allow_inf_nan=False")
        return rfc8785.dumps(value).decode()
    if type(value) is int:
        return write_integer(value, state, depth)
    raise not_declared(value, "float")


def write_string(value: Any, _state: WriteState, _depth: int) -> str:
    """A str."""
    if type(value) is str:
        return quoted(value)
    raise not_declared(value, "str")


def write_decimal(value: Any, _state: WriteState, _depth: int) -> str:
    """A finite Decimal as `str`: 1.0 and 1.00 are different texts, as they are to whoever prints them."""
    if type(value) is not decimal.Decimal:
        raise not_declared(value, "Decimal")
    if not value.is_finite():
        raise ValueRefusedError("NaN and infinities are not JSON: forbid them with allow_inf_nan=False")
    return f'"{str(value).upper()}"'  # a decimal context with capitals=0 would write an "e"


def write_uuid(value: Any, _state: WriteState, _depth: int) -> str:
    """A UUID as `str`."""
    if type(value) is not uuid.UUID:
        raise not_declared(value, "UUID")
    if value.is_safe is not uuid.SafeUUID.unknown:
        raise ValueRefusedError("its is_safe is set, which no text shows: build it without")
    return f'"{value!s}"'


def write_date(value: Any, _state: WriteState, _depth: int) -> str:
    """A date (no datetime) as ``YYYY-MM-DD``."""
    if type(value) is not dt.date:
        raise not_declared(value, "date")
    return f'"{value.isoformat()}"'


def write_time(value: Any, _state: WriteState, _depth: int) -> str:
    """A time with a fixed offset or none."""
    if type(value) is not dt.time:
        raise not_declared(value, "time")
    return _clock(value)


def write_datetime(value: Any, _state: WriteState, _depth: int) -> str:
    """A datetime with a fixed offset or none."""
    if type(value) is not dt.datetime:
        raise not_declared(value, "datetime")
    return _clock(value)


def _clock(value: dt.time | dt.datetime) -> str:
    """`isoformat`, once nothing is left out by it: a zone behind the offset, a zone's own name, the fold."""
    zone = value.tzinfo
    if zone is not None and type(zone) is not TzInfo:
        if type(zone) is not dt.timezone:
            raise ValueRefusedError(
                "its time zone is no fixed offset: convert it to UTC, or keep the zone's name beside it"
            )
        if zone.tzname(None) != dt.timezone(zone.utcoffset(None)).tzname(None):
            raise ValueRefusedError("its offset has a name of its own: use datetime.timezone without a name")
    if value.fold:
        raise ValueRefusedError("its fold is set, which no text shows: convert it to UTC")
    return f'"{value.isoformat()}"'


SCALAR_WRITERS: Final[dict[ScalarKind, Writer]] = {
    "null": write_null,
    "boolean": write_boolean,
    "integer": write_integer,
    "number": write_number,
    "string": write_string,
    "decimal": write_decimal,
    "uuid": write_uuid,
    "date": write_date,
    "time": write_time,
    "datetime": write_datetime,
}


def literal_writer(node: PlainLiteral) -> Writer:
    """One of the values that the `Literal` names, of the very type that it names."""
    texts = {(type(value), value): canonical_text(value) for value in node.values}

    def write_literal(value: Any, _state: WriteState, _depth: int) -> str:
        # The type is looked at first: only plain types are ever hashed.
        if (value is None or type(value) in (str, int, bool)) and (type(value), value) in texts:
            return texts[type(value), value]
        raise ValueRefusedError("it holds a value that its Literal does not name: declare what the validator returns")

    return write_literal


def enum_writer(node: EnumMembers) -> Writer:
    """One of the members, known by identity: no method of the Enum is asked."""
    texts = {id(member): (canonical_text(value), member, member._value_) for member, value in node.members}
    # The members are kept alive in it, so that no other object has their ids.
    declared = f"one of {len(texts)} member(s) of {node.cls.__name__}"

    def write_enum(value: Any, _state: WriteState, _depth: int) -> str:
        text, _, held = texts.get(id(value), (None, None, None))
        if text is None:
            raise not_declared(value, declared)
        if value._value_ is not held:
            raise ValueRefusedError("the value of its Enum member was changed: leave members as they were declared")
        return text

    return write_enum
