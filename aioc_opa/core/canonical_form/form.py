"""The canonical form of one tool's arguments: compiled once from their annotation, shared by all threads."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from aioc_opa.core.canonical_form.compile_writer import WriterCompiler
from aioc_opa.core.canonical_form.export_schema import export_schema
from aioc_opa.core.canonical_form.nodes import Node, Record
from aioc_opa.core.canonical_form.overlap import kinds
from aioc_opa.core.canonical_form.read_annotation import AnnotationReader
from aioc_opa.core.canonical_form.refusal import AnnotationRefusedError, ValueRefusedError, shown
from aioc_opa.core.canonical_form.settle import SettleCompiler
from aioc_opa.core.canonical_form.write_state import WriteState
from aioc_opa.core.canonical_json import NotCanonicalError, canonical_text
from aioc_opa.errors import ToolRegistrationError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aioc_opa.core.json_value import JsonObject


class CanonicalForm:
    """Writes, settles and describes values of one annotation."""

    def __init__(self, root: Node, compiler: WriterCompiler) -> None:
        self._root = root
        self._write = compiler.writer(root)
        self._settle = SettleCompiler().settler(root)

    def text(self, value: object) -> str:
        """RFC 8785 text of the canonical value, made by a fresh walk each time.

        Raises:
            NotCanonicalError: with the place of the first thing that is refused.
        """
        try:
            text = self._write(value, WriteState(), 1)
        except ValueRefusedError as error:
            path, problem = tuple(reversed(error.trail)), error.problem
        except RecursionError:
            path, problem = (), "the caller's stack leaves no room to walk it"
        except RuntimeError:  # "dictionary changed size during iteration"
            path, problem = (), "it was changed by someone else while it was read"
        else:
            if not text.isascii():
                _refuse_surrogates(text)
            return text
        raise NotCanonicalError(path, problem)

    def settle(self, value: object) -> None:
        """Make every field of a fresh parse count as set, and every mutable default its own. In place, once.

        Raises:
            NotCanonicalError: it is too deep or too large to be written.
            Exception: whatever copying a default raises.
        """
        if self._settle is not None:
            try:
                self._settle(value, WriteState(), 1)
            except ValueRefusedError as error:
                problem = error.problem
            else:
                return
            raise NotCanonicalError((), problem)

    def export(self) -> JsonObject:
        """JSON Schema 2020-12 of the canonical value."""
        return export_schema(self._root)


def _refuse_surrogates(text: str) -> None:
    """RFC 8785 section 3.2.2.2: a lone surrogate is an error. Looked for once, and located only if there is one."""
    try:
        text.encode()
    except UnicodeEncodeError:
        canonical_text(json.loads(text))  # raises, with the place
        raise


def compile_form(annotation: Any, *, tool_name: str, names: Mapping[str, str] | None = None) -> CanonicalForm:
    """Compile the canonical form of a tool's arguments.

    Args:
        annotation: a model, dataclass, TypedDict or other type whose JSON is an object.
        tool_name: for the error.
        names: for a model with generated field names: the name of each in the canonical value.

    Raises:
        ToolRegistrationError: naming the tool, the place and the cure.
    """
    reader = AnnotationReader()
    place: tuple[str, ...] = ()
    try:
        root = reader.read(annotation, place, open_extras=False)
        if names is not None and isinstance(root, Record):
            root.fields = [replace(field, name=names[field.attribute]) for field in root.fields]
        reader.finish()
        _check_root(root)
        compiler = WriterCompiler()
        form = CanonicalForm(root, compiler)
        for place, node, default in reader.classes.defaults:
            _check_default(CanonicalForm(node, compiler), place, default)
    except AnnotationRefusedError as error:
        place, problem = error.place, error.problem
    except Exception as error:  # noqa: BLE001 - reading annotations runs code of the application
        problem = f"its annotation cannot be read ({type(error).__name__}): declare plain classes"
    else:
        return form
    if names is not None and place:
        place = (names.get(place[0], place[0]), *place[1:])
    raise ToolRegistrationError(f"tool {tool_name!r}: {shown(place)}: {problem}")


def _check_root(root: Node) -> None:
    if kinds(root) != {"object"}:
        raise AnnotationRefusedError((), "a tool's arguments are one JSON object: declare a model, or a dict")


def _check_default(form: CanonicalForm, place: tuple[str, ...], default: object) -> None:
    """Pydantic does not validate a default, so it has to be right as it is written."""
    try:
        private = copy.deepcopy(default)
        form.settle(private)
        form.text(private)
    except NotCanonicalError as error:
        raise AnnotationRefusedError(
            (*place, *(f"[{part}]" for part in error.path)), f"its default does not fit: {error.problem}"
        ) from None
    except Exception as error:  # noqa: BLE001 - copying may run code of the application
        raise AnnotationRefusedError(place, f"its default cannot be copied ({type(error).__name__})") from None
