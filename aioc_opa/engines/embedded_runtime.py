"""`regorus` behind one door: its import, its version, and an engine made of modules and data.

Who publishes the wheel, and how to build the same from upstream's crate: docs/decisions/embedded-engine.md.
"""

from __future__ import annotations

import json
from importlib import import_module, metadata
from typing import TYPE_CHECKING, Any, Final

from aioc_opa.engines.rego_guard.builtins import builtins
from aioc_opa.errors import EngineConfigurationError, PolicyLoadError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aioc_opa.core.json_value import JsonObject

_DISTRIBUTIONS: Final = ("gordon-to-regorus", "regorus", "regoruspy")
"""Names under which the same source is packaged: the wheel that the extra installs, and a build of one's own."""

# regorus' own defaults refuse generated files: routes have long lines. Bytes a file, columns a line, lines a file.
_MAX_COLUMNS: Final = 1_000_000
_MAX_FILE_BYTES: Final = 16 * 1024 * 1024
_MAX_LINES: Final = 1_000_000


def load_regorus() -> Any:
    """The module `regorus`, of the one version that the load checks were made for.

    Raises:
        EngineConfigurationError: it is not installed, or is another version.
    """
    try:
        module = import_module("regorus")
    except ImportError as error:
        raise EngineConfigurationError(
            "the embedded engine needs regorus: install the extra, `pip install 'aioc-opa[embedded]'`"
        ) from error
    name = installed_version()
    if name != builtins().engine:
        raise EngineConfigurationError(
            f"the embedded engine's load checks were made for {builtins().engine}, but {name} is installed: "
            "install the extra, `pip install 'aioc-opa[embedded]'`"
        )
    return module


def installed_version() -> str:
    """``"regorus 0.13.0"``, or ``"regorus of an unknown version"``."""
    for distribution in _DISTRIBUTIONS:
        try:
            return f"regorus {metadata.version(distribution)}"
        except metadata.PackageNotFoundError:
            continue
    return "regorus of an unknown version"


def new_engine(modules: Mapping[str, str], data: JsonObject) -> Any:
    """An engine with `modules` and `data`. It belongs to the calling thread for good: regorus panics on another.

    Builtin errors are strict: that is regorus' default, and its Python binding has no switch for it.

    Raises:
        PolicyLoadError: regorus cannot parse a module or take the data; the message names the file.
    """
    engine = load_regorus().Engine()
    engine.set_policy_length_config(max_col=_MAX_COLUMNS, max_file_bytes=_MAX_FILE_BYTES, max_lines=_MAX_LINES)
    engine.set_gather_prints(True)
    problem = _fill(engine, modules, data)
    if problem is not None:
        # A traceback keeps frames, and another thread's garbage collection may free them: not with an engine in them.
        del engine
        raise PolicyLoadError(problem)
    return engine


def _fill(engine: Any, modules: Mapping[str, str], data: JsonObject) -> str | None:
    """Put modules and data into `engine`; what is wrong with them, or None."""
    for path, source in modules.items():
        try:
            engine.add_policy(path, source)
        except RuntimeError as error:
            return f"{path}: the embedded engine cannot read this module: {error_text(error)}"
    try:
        engine.add_data_json(json.dumps(data))
    except RuntimeError as error:
        return f"the embedded engine cannot take the data: {error_text(error)}"
    return None


def error_text(error: BaseException) -> str:
    """The message of a regorus error without its backtrace. It can hold argument values: for operators only."""
    return str(error).partition("\nStack backtrace:")[0].strip()
