"""The private folder in which a local `opa` runs: only what was loaded and checked, readable by us alone.

`opa` is not pointed at the policy folder itself: there it would read what the loader left out or has not seen (tests,
a file that changed since). What is staged is the policy as it is held in memory, and so it is at every later start.

    <folder>/opa.sock                         the socket
    <folder>/local/.manifest                  the revision; the folder's name is the bundle's name in OPA's provenance
    <folder>/local/data.json                  all data, as the loader decoded and merged it
    <folder>/local/aioc/…/*.rego              the modules, without tests
    <folder>/local/aioc_local_engine/authz/   what this `opa` answers (https://www.openpolicyagent.org/docs/security)
"""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aioc_opa.errors import EngineConfigurationError, PolicyLoadError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from aioc_opa.engines.protocol import DecisionPath
    from aioc_opa.packs.policy_folder import LoadedPolicy

BUNDLE: Final = "local"
SOCKET: Final = "opa.sock"
OURS: Final = "aioc_local_engine"
"""The package that only this engine may define: a policy that names it is refused."""
AUTHZ_DECISION: Final = f"/{OURS}/authz/allow"

_MAX_SOCKET_PATH_BYTES: Final = 103
"""`sun_path` holds 108 bytes on Linux and 104 on macOS, a NUL included."""
_MODULE_PATH: Final = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9_.-]*/)*[A-Za-z0-9_][A-Za-z0-9_.-]*\.rego")

_AUTHZ: Final = """package {ours}.authz

import future.keywords.not

default allow := false

allow if {{
	input.method == "POST"
	input.path in {paths}
	input.params["strict-builtin-errors"] in {{[""], ["true"]}}
	every name, _ in input.params {{
		name in {{"strict-builtin-errors", "provenance"}}
	}}
}}

allow if {{
	input.method == "GET"
	input.path == ["health"]
}}
"""


def private_folder(parent: Path | None = None) -> Path:
    """Make a folder that is ours alone and whose socket's path is short enough.

    Args:
        parent: where; by default the first of ``XDG_RUNTIME_DIR``, the temporary folder and ``/tmp`` that serves.

    Raises:
        EngineConfigurationError: none serves.
    """
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    usual = [*([Path(runtime)] if runtime else []), Path(tempfile.gettempdir()), Path("/tmp")]  # noqa: S108 - mkdtemp makes it private
    problems = []
    for place in usual if parent is None else [parent]:
        try:
            folder = Path(tempfile.mkdtemp(prefix="aioc-opa-", dir=place.resolve()))
        except OSError as problem:
            problems.append(f"{str(place)!r}: {problem.strerror or problem}")
            continue
        length = len(os.fsencode(folder / SOCKET))
        if length <= _MAX_SOCKET_PATH_BYTES:
            return folder
        folder.rmdir()
        problems.append(
            f"{str(place)!r}: the path of a Unix socket in it takes {length} bytes, more than {_MAX_SOCKET_PATH_BYTES}"
        )
    raise EngineConfigurationError("no folder for the local opa's socket: " + "; ".join(problems))


class Staging:
    """What one local `opa` reads, checked once and written before every start.

    Args:
        policy: what was loaded.
        decision_paths: what our own authorization policy lets through; without them there is none of ours.

    Raises:
        PolicyLoadError: the policy cannot be staged faithfully.
    """

    def __init__(self, policy: LoadedPolicy, decision_paths: Sequence[DecisionPath] = ()) -> None:
        modules = dict(policy.modules)
        for path, text in modules.items():
            if _MODULE_PATH.fullmatch(path) is None or ".." in path or path.endswith("_test.rego"):
                raise PolicyLoadError(f"{path!r} is not the relative path of a Rego module, or is a test")
            if OURS in text:
                raise PolicyLoadError(f"{path}: the name {OURS} is reserved for the local engine")
        if OURS in policy.data:
            raise PolicyLoadError(f"data.{OURS} is reserved for the local engine")
        manifest = {"revision": policy.revision, "roots": [""], "rego_version": 1}
        try:
            files = {
                **{path: text.encode("utf-8") for path, text in modules.items()},
                "data.json": json.dumps(policy.data, allow_nan=False).encode("ascii"),
                ".manifest": json.dumps(manifest).encode("ascii"),
            }
        except (TypeError, ValueError) as problem:  # only for a LoadedPolicy that the loader did not make
            raise PolicyLoadError(f"the policy has no JSON or UTF-8 form: {problem}") from None
        if decision_paths:
            files[f"{OURS}/authz/authz.rego"] = _authz(decision_paths).encode("ascii")
        self._files: Final[Mapping[str, bytes]] = files

    def write(self, folder: Path) -> None:
        """Put the files into ``<folder>/local``, in the place of whatever is there.

        Raises:
            OSError: they cannot be written, or `folder` is not ours alone.
        """
        folder.mkdir(mode=0o700, exist_ok=True)  # a cleaner of /tmp may have taken it
        found = folder.lstat()
        private = stat.S_ISDIR(found.st_mode) and stat.S_IMODE(found.st_mode) == stat.S_IRWXU
        if not private or found.st_uid != os.geteuid():
            raise PermissionError(f"{folder} is not a folder of mode 700 that belongs to us")
        target = folder / BUNDLE
        if target.exists():
            shutil.rmtree(target)
        for name, content in self._files.items():
            file = target / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)


def _authz(decision_paths: Sequence[DecisionPath]) -> str:
    """The policy that OPA itself is asked about each request. `DecisionPath` has checked the segments."""
    paths = ", ".join(json.dumps(["v1", "data", *path.segments]) for path in decision_paths)
    return _AUTHZ.format(ours=OURS, paths=f"{{{paths}}}")
