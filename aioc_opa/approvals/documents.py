"""Reading the JSON files that approvals trust: keys and people. Every refusal names the file and the place in it.

Whoever can write the file decides whose votes count, and whoever can write its folder can put another in its place
(`rights`).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from pydantic import ValidationError

from aioc_opa.approvals.rights import require_rights
from aioc_opa.core.json_path import path_key
from aioc_opa.core.limits import JsonLimits
from aioc_opa.core.strict_json import StrictJsonError, decode
from aioc_opa.errors import InputFileError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from aioc_opa.models.wire import WireModel

_Document = TypeVar("_Document", bound="WireModel")

_WORDS: Final = {
    "missing": "is missing",
    "extra_forbidden": "is not known here; is it misspelt?",
    "tuple_type": "must be an array",
    "list_type": "must be an array",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "string_type": "must be a string",
    "bool_type": "must be true or false",
    "string_too_short": "must not be empty",
    "too_short": "must not be empty",
}
"""By pydantic's type of an error, whose own words are about Python. Nothing here may be shorter than one, if at all."""

_LIMITS: Final = JsonLimits(max_bytes=64 * 1024 * 1024, max_depth=8, max_nodes=1_000_000)


def read_document(path: str | Path, model: type[_Document], *, private: bool = False) -> _Document:
    """The strict JSON object in a file, as a closed model.

    Args:
        path: of the file.
        model: what the file must be.
        private: whether only its owner may have any right to it, and whether a symbolic link is refused.

    Raises:
        InputFileError: it cannot be read, others may do what they must not, or it is something else. No value of the
            file is in the message.
    """
    content = _read(Path(path), private=private)
    try:
        value = decode(content, _LIMITS)
    except StrictJsonError as error:
        at = "" if error.offset is None else f" at character {error.offset}"
        raise InputFileError(
            f"{path}: not strict JSON{at}: {_place(error.path)}: {error.message} ({error.code})"
        ) from None
    if type(value) is not dict:
        raise InputFileError(f"{path}: $: the top level must be an object (not_an_object)")
    try:
        return model.model_validate(value, by_alias=True, by_name=False)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        words = _WORDS.get(first["type"], first["msg"])
        raise InputFileError(f"{path}: {_place(first['loc'])}: {words}") from None


def _read(path: Path, *, private: bool) -> bytes:
    # Without O_NONBLOCK a named pipe would hold the process until somebody writes into it.
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (os.O_NOFOLLOW if private else 0)
    try:
        if private and path.is_symlink():
            raise InputFileError(f"{path}: a symbolic link; name the file itself")
        with open(os.open(path, flags), "rb") as file:  # noqa: PTH123 - Path.open cannot take a descriptor
            require_rights(path, os.fstat(file.fileno()), private=private)
            return file.read(_LIMITS.max_bytes + 1)
    except (OSError, ValueError) as error:  # ValueError: a null character in the path
        reason = error.strerror if isinstance(error, OSError) else None
        raise InputFileError(f"{path}: cannot be read: {reason or type(error).__name__}") from None


def _place(path: Iterable[str | int]) -> str:
    return "$" + "".join(f"[{part}]" if type(part) is int else f".{path_key(str(part))}" for part in path)
