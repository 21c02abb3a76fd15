"""Which Python types are scalars here, and what to do about the commonest that are not.

Every type is matched exactly. A type missing from both tables is refused with a general cure.
"""

from __future__ import annotations

import collections
import collections.abc
import datetime as dt
import decimal
import fractions
import pathlib
import re
import uuid
from types import NoneType
from typing import TYPE_CHECKING, Any, Final

import pydantic

if TYPE_CHECKING:
    from aioc_opa.core.canonical_form.nodes import ScalarKind

SCALARS: Final[dict[Any, ScalarKind]] = {
    None: "null",
    NoneType: "null",
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    decimal.Decimal: "decimal",
    uuid.UUID: "uuid",
    dt.date: "date",
    dt.time: "time",
    dt.datetime: "datetime",
    # pydantic's names for a constraint on one of these; the values are of the plain type.
    pydantic.AwareDatetime: "datetime",
    pydantic.NaiveDatetime: "datetime",
    pydantic.PastDatetime: "datetime",
    pydantic.FutureDatetime: "datetime",
    pydantic.PastDate: "date",
    pydantic.FutureDate: "date",
    pydantic.EmailStr: "string",
}

_UNORDERED: Final = (
    "a set has no order, so one value would have many texts: declare a list, with a validator for doubles"
)
_BYTES: Final = "bytes are not JSON: declare a str and decode it in the tool"
_SECRET: Final = (
    "a secret prints as stars, so that all secrets would be one value: "  # noqa: S105 - a sentence, no secret
    "inject it (it is then outside the hash), or declare a str if policy and approvers may see it"
)
_LAZY: Final = "an iterator is validated while the tool runs, after it was judged: declare a list"
_CODE: Final = "it is code, not data: inject it"
_MAPPING: Final = "it says more than its JSON does: declare a dict with str keys"

CURES: Final[dict[Any, str]] = {
    set: _UNORDERED,
    frozenset: _UNORDERED,
    collections.abc.Set: _UNORDERED,
    collections.abc.MutableSet: _UNORDERED,
    bytes: _BYTES,
    bytearray: _BYTES,
    memoryview: _BYTES,
    pydantic.SecretStr: _SECRET,
    pydantic.SecretBytes: _SECRET,
    pydantic.Secret: _SECRET,
    pydantic.ImportString: "parsing it imports code before policy is asked: declare a Literal of what may be named",
    collections.abc.Iterable: _LAZY,
    collections.abc.Iterator: _LAZY,
    collections.abc.Generator: _LAZY,
    collections.abc.Callable: _CODE,
    type: _CODE,
    collections.deque: "it is written like a list: declare a list",
    collections.OrderedDict: _MAPPING,
    collections.defaultdict: _MAPPING,
    collections.Counter: _MAPPING,
    dt.timedelta: "declare the number of seconds as an int, or a str",
    dt.tzinfo: "declare a str with the zone's name",
    pathlib.Path: "declare a str, and make the path in the tool",
    complex: "declare its two parts as floats",
    fractions.Fraction: "declare a Decimal or a str",
    re.Pattern: "declare a str, and compile it in the tool",
    pydantic.BaseModel: "declare the concrete model, not BaseModel",
    pydantic.ByteSize: "declare an int",
}

GENERAL_CURE: Final = "declare a plain JSON type, a model or a dataclass, and convert in the tool"
"""For a type that neither table knows."""
