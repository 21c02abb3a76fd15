"""From a class with fields to a node: pydantic models, RootModels, dataclasses of both kinds, TypedDicts.

What an instance can hold beyond its fields is refused here where the class shows it: private attributes, slots,
a built-in base class, `InitVar`s. What it shows only at run time the walk finds.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
import types
import typing
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import pydantic
import typing_extensions
from pydantic.dataclasses import is_pydantic_dataclass, rebuild_dataclass
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from aioc_opa.core.canonical_form.instance_state import own_slots, refuse_detours, refuse_hidden_state
from aioc_opa.core.canonical_form.nodes import AnyJson, Node, Record, RecordField, RootOf
from aioc_opa.core.canonical_form.refusal import AnnotationRefusedError
from aioc_opa.core.canonical_form.scalar_types import CURES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Place = tuple[str, ...]

_QUALIFIERS: Final = (typing.Required, typing.NotRequired, typing_extensions.ReadOnly)


class _Read(Protocol):
    def __call__(self, annotation: Any, place: Place, *, open_extras: bool) -> Node: ...


class StaticDefault(NamedTuple):
    """A default that pydantic takes as it is, so that it has to be what the annotation says."""

    place: Place
    node: Node
    value: object


class Classes:
    """Reads classes, each once for each way in which extra keys are treated around it."""

    def __init__(self, read: _Read) -> None:
        self._read = read
        self._known: dict[tuple[type, bool], Record | RootOf] = {}
        self.defaults: list[StaticDefault] = []
        self.roots: list[tuple[Place, RootOf]] = []

    def read(self, cls: Any, place: Place, *, open_extras: bool) -> Node | None:
        """The node of a class with fields, or None if `cls` is something else.

        Raises:
            AnnotationRefusedError: its instances can hold more than its fields, or a field is refused.
        """
        if not isinstance(cls, type) or typing.get_origin(cls) is not None:
            return None
        key = (cls, open_extras)
        if key in self._known:
            return self._known[key]
        if issubclass(cls, pydantic.BaseModel) and cls not in CURES:
            return self._model(cls, key, place)
        if typing_extensions.is_typeddict(cls):
            return self._typed_dict(cls, key, place)
        if dataclasses.is_dataclass(cls):
            return self._dataclass(cls, key, place)
        if issubclass(cls, tuple) and hasattr(cls, "_fields"):
            raise AnnotationRefusedError(place, f"{cls.__name__} is a named tuple, a list in JSON: declare a dataclass")
        return None

    def _model(self, cls: type[pydantic.BaseModel], key: tuple[type, bool], place: Place) -> Node:
        refuse_hidden_state(cls, pydantic.BaseModel.__slots__, place)
        if cls.__private_attributes__:
            raise AnnotationRefusedError(
                place, f"{cls.__name__} has private attributes, which policy cannot see: make them fields"
            )
        if not cls.__pydantic_complete__:
            _complete(cls, cls.model_rebuild, place)
        _refuse_config(cls, cls.model_config, place)
        infos = cls.__pydantic_fields__
        refuse_detours(cls, infos, slotted=False, place=place)
        if issubclass(cls, pydantic.RootModel):
            root = self._known[key] = RootOf(cls)
            self.roots.append((place, root))
            root.root = self._field(infos["root"], place, cls.model_config, open_extras=False)
            return root
        record = self._known[key] = Record(cls, "model")
        open_inside = cls.model_config.get("extra") == "allow"
        self._fields(record, infos, cls.model_config, place, open_extras=open_inside)
        if open_inside:
            extra = _extra_annotation(cls, place)
            record.extra = self._read(extra, (*place, "[*]"), open_extras=True)
        return record

    def _dataclass(self, cls: type, key: tuple[type, bool], place: Place) -> Node:
        own = getattr(cls, "__pydantic_config__", None)
        config: Mapping[str, Any] = own or {}
        open_inside = key[1] if own is None else config.get("extra") == "allow"
        _refuse_config(cls, config, place)
        names = [field.name for field in dataclasses.fields(cls)]
        hints = _hints(cls, place)
        for name, hint in hints.items():
            if isinstance(hint, dataclasses.InitVar) or hint is dataclasses.InitVar:
                raise AnnotationRefusedError((*place, name), "an InitVar is gone after the parse: make it a field")
        slotted = cls.__dictoffset__ == 0
        refuse_hidden_state(cls, names if slotted else (), place)
        if slotted and set(names) != {slot for base in cls.__mro__ for slot in own_slots(base)}:
            raise AnnotationRefusedError(place, f"{cls.__name__} has fields that are no slots: give each a slot")
        refuse_detours(cls, names, slotted=slotted, place=place)
        record = self._known[key] = Record(cls, "slotted" if slotted else "dataclass")
        if is_pydantic_dataclass(cls):
            if not cls.__pydantic_complete__:
                _complete(cls, lambda: rebuild_dataclass(cls), place)
            infos: dict[str, FieldInfo] = {name: cls.__pydantic_fields__[name] for name in names}
        else:
            infos = {field.name: _stdlib_info(field, hints[field.name]) for field in dataclasses.fields(cls)}
        self._fields(record, infos, config, place, open_extras=open_inside)
        if open_inside:
            record.extra = AnyJson()
        return record

    def _typed_dict(self, cls: type, key: tuple[type, bool], place: Place) -> Node:
        own = getattr(cls, "__pydantic_config__", None)
        open_inside = key[1] if own is None else own.get("extra") == "allow"
        record = self._known[key] = Record(cls, "typed_dict")
        required: Iterable[str] = getattr(cls, "__required_keys__", ())
        for name, hint in _hints(cls, place).items():
            always, annotation = name in required, hint
            metadata: tuple[object, ...] = ()
            while (origin := typing_extensions.get_origin(annotation)) in _QUALIFIERS or metadata_of(annotation):
                if origin is typing.Required or origin is typing.NotRequired:
                    always = origin is typing.Required
                metadata = (*metadata_of(annotation), *metadata)
                annotation = typing_extensions.get_args(annotation)[0]
            if metadata:
                annotation = typing.Annotated[(annotation, *metadata)]
            node = self._read(annotation, (*place, name), open_extras=open_inside)
            record.fields.append(RecordField(name, name, node, has_default=not always, always_written=always))
        if open_inside:
            record.extra = AnyJson()
        return record

    def _fields(
        self,
        record: Record,
        infos: Mapping[str, FieldInfo],
        config: Mapping[str, Any],
        place: Place,
        *,
        open_extras: bool,
    ) -> None:
        for name, info in infos.items():
            node = self._field(info, (*place, name), config, open_extras=open_extras)
            record.fields.append(RecordField(name, name, node, has_default=not info.is_required()))

    def _field(self, info: FieldInfo, place: Place, config: Mapping[str, Any], *, open_extras: bool) -> Node:
        node = self._read(
            typing.Annotated[(info.annotation, *info.metadata)] if info.metadata else info.annotation,
            place,
            open_extras=open_extras,
        )
        validated = config.get("validate_default") if info.validate_default is None else info.validate_default
        if not validated and info.default is not PydanticUndefined and info.default is not ...:
            self.defaults.append(StaticDefault(place, node, info.default))
        return node


def _refuse_config(cls: type, config: Mapping[str, Any], place: Place) -> None:
    if config.get("use_enum_values"):
        raise AnnotationRefusedError(
            place, f"{cls.__name__} sets use_enum_values, so that its Enum fields hold other types: declare a Literal"
        )


def _complete(cls: type, rebuild: Any, place: Place) -> None:
    try:
        rebuild()
    except Exception as error:  # noqa: BLE001 - evaluating annotations runs code of the application
        name = getattr(error, "name", None) or type(error).__name__
        raise AnnotationRefusedError(
            place, f"{cls.__name__} mentions a name that is not resolved ({name}): define it, then call model_rebuild()"
        ) from None


def _hints(cls: type, place: Place) -> dict[str, Any]:
    try:
        return typing_extensions.get_type_hints(cls, include_extras=True)
    except Exception as error:  # noqa: BLE001 - evaluating annotations runs code of the application
        name = getattr(error, "name", None) or type(error).__name__
        raise AnnotationRefusedError(
            place, f"{cls.__name__} mentions a name that is not resolved ({name}): define it at module level"
        ) from None


def metadata_of(annotation: Any) -> tuple[object, ...]:
    """What `Annotated` adds; nothing for anything else."""
    return tuple(annotation.__metadata__) if typing.get_origin(annotation) is typing.Annotated else ()


def resolved(annotation: Any, module: str, what: str, place: Place) -> Any:
    """`annotation` with every name in it looked up in `module`.

    Raises:
        AnnotationRefusedError: a name is not there.
    """
    holder = types.SimpleNamespace(__annotations__={"it": annotation})
    names = vars(sys.modules[module]) if module in sys.modules else {}
    try:
        return typing.get_type_hints(holder, globalns=names, include_extras=True)["it"]
    except Exception as error:  # noqa: BLE001 - evaluating annotations runs code of the application
        name = getattr(error, "name", None) or type(error).__name__
        raise AnnotationRefusedError(
            place, f"{what} mentions a name that is not resolved ({name}): define it at module level"
        ) from None


def _stdlib_info(field: dataclasses.Field[Any], hint: Any) -> FieldInfo:
    """What pydantic makes of a field of a stdlib dataclass."""
    if field.default is not dataclasses.MISSING:
        return FieldInfo.from_annotated_attribute(hint, field.default)
    if field.default_factory is not dataclasses.MISSING:
        return FieldInfo.from_annotated_attribute(hint, pydantic.Field(default_factory=field.default_factory))
    return FieldInfo.from_annotation(hint)


def _extra_annotation(cls: type[pydantic.BaseModel], place: Place) -> Any:
    """What `__pydantic_extra__: dict[str, X]` says of the extras: X, or Any."""
    for base in cls.__mro__:
        if base is pydantic.BaseModel:
            break
        annotation = inspect.get_annotations(base).get("__pydantic_extra__")
        if annotation is not None:
            annotation = resolved(annotation, base.__module__, f"{cls.__name__}.__pydantic_extra__", place)
            return typing.get_args(annotation)[1]
    return Any
