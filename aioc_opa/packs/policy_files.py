"""Read the files of a policy folder or bundle archive, and nothing else: no link out, no traversal, no flood.

What is read is what OPA reads in bundle mode: ``*.rego``, ``data.json`` and ``.manifest``. Test modules are left
out. YAML data is refused: YAML 1.1 and 1.2 read ``on`` and ``no`` differently, and OPA changed over in 1.21.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aioc_opa.errors import PolicyLoadError
from aioc_opa.packs.bundle_archive import MAX_FILES, MAX_TOTAL_BYTES, archive_members

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aioc_opa.packs.bundle_archive import Content

MAX_MODULE_BYTES: Final = 32 * 1024 * 1024
"""One Rego module. Generated routes of 10,000 tools are the largest that were measured."""
MAX_DATA_BYTES: Final = 128 * 1024 * 1024
"""One ``data.json``. 100,000 identities take 13 MB."""

SIGNATURES: Final = ".signatures.json"
MANIFEST: Final = ".manifest"
DELTA: Final = "patch.json"
"""At the top of a bundle it makes it a delta: changes to data that no signature covers, to whatever is there."""

# Written by version control, editors and linters, or by Kubernetes (`..data`): never policy.
_SKIPPED_FOLDERS: Final = frozenset({".git", ".regal", ".github", ".vscode", ".idea", ".venv", "node_modules"})


class _Intake:
    """Collects files under the caps."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.files: dict[str, bytes] = {}
        self.total = 0

    def wants(self, path: str) -> bool:
        """Whether `path` is a file that is loaded; refuses what would be read otherwise than it looks."""
        folder, _, name = path.rpartition("/")
        lower = name.lower()
        if lower.startswith("data.") and lower.endswith((".yaml", ".yml")):
            raise PolicyLoadError(f"{self.source}: {path}: YAML data is refused; write it as data.json")
        if lower.endswith((".wasm",)) or (name == "plan.json" and not folder):
            raise PolicyLoadError(f"{self.source}: {path}: compiled policy is refused; ship Rego source")
        if path == DELTA:
            raise PolicyLoadError(
                f"{self.source}: {path}: a delta bundle is refused: it is unsigned; ship a whole bundle"
            )
        if name in {MANIFEST, SIGNATURES}:
            if folder:
                raise PolicyLoadError(f"{self.source}: {path}: belongs at the top of a bundle, not in a folder of it")
            return True
        loaded = (lower.endswith(".rego") and not lower.endswith("_test.rego")) or lower == "data.json"
        if loaded and any(part.startswith(".") for part in path.split("/")):
            raise PolicyLoadError(f"{self.source}: {path}: a hidden file is refused; rename or remove it")
        if loaded and not (path.isascii() and path.isprintable()):
            raise PolicyLoadError(f"{self.source}: {path!r}: names of policy files are ASCII, and printable")
        if loaded and name != lower:
            raise PolicyLoadError(f"{self.source}: {path}: names of policy files are lower case")
        return loaded

    def cap(self, path: str) -> int:
        """Bytes that the file at `path` may have."""
        return MAX_MODULE_BYTES if path.endswith(".rego") else MAX_DATA_BYTES

    def take(self, path: str, stream: Content) -> None:
        """Read one file, at most one byte past its cap."""
        if path in self.files:
            raise PolicyLoadError(f"{self.source}: {path}: occurs twice")
        if len(self.files) >= MAX_FILES:
            raise PolicyLoadError(f"{self.source}: more than {MAX_FILES} files")
        cap = self.cap(path)
        content = stream.read(cap + 1)
        if len(content) > cap:
            raise PolicyLoadError(f"{self.source}: {path}: larger than {cap} bytes")
        self.total += len(content)
        if self.total > MAX_TOTAL_BYTES:
            raise PolicyLoadError(f"{self.source}: more than {MAX_TOTAL_BYTES} bytes in all")
        self.files[path] = content


def read_policy_files(path: Path, *, whole: bool = False) -> dict[str, bytes]:
    """The policy files below the folder, or in the ``.tar.gz``, at `path`: relative POSIX path to content, sorted.

    Args:
        path: of the folder or the archive.
        whole: for an archive that another OPA will load: refuse all but policy in it, for OPA may load it: tests.

    Raises:
        PolicyLoadError: it cannot be read, or holds something that is refused.
    """
    try:
        if path.is_dir():
            files = _read_folder(path)
        elif path.is_file():
            files = _read_archive(path, whole=whole)
        else:
            raise PolicyLoadError(f"{path}: no such policy folder or bundle")
    except OSError as error:
        raise PolicyLoadError(f"{error.filename or path}: cannot be read: {error.strerror or error}") from error
    return dict(sorted(files.items()))


def _read_folder(root: Path) -> dict[str, bytes]:
    intake = _Intake(str(root))
    real_root = root.resolve()
    for relative in _walk(root, intake):
        if not intake.wants(relative):
            continue
        file = root / relative
        real = file.resolve()
        if not real.is_relative_to(real_root):
            raise PolicyLoadError(f"{root}: {relative}: the link leaves the policy folder")
        if not real.is_file():
            raise PolicyLoadError(f"{root}: {relative}: is not a regular file")
        with real.open("rb") as stream:
            intake.take(relative, stream)
    return intake.files


def _walk(root: Path, intake: _Intake) -> Iterator[str]:
    def fail(error: OSError) -> None:
        raise error

    for folder, subfolders, names in os.walk(root, onerror=fail):
        relative = Path(folder).relative_to(root).as_posix()
        prefix = "" if relative == "." else f"{relative}/"
        kept = [name for name in sorted(subfolders) if name not in _SKIPPED_FOLDERS and not name.startswith("..")]
        for name in kept:
            if Path(folder, name).is_symlink():
                raise PolicyLoadError(f"{intake.source}: {prefix}{name}: a linked folder is refused; copy it")
        subfolders[:] = kept
        for name in sorted(names):
            yield prefix + name


def _read_archive(path: Path, *, whole: bool) -> dict[str, bytes]:
    intake = _Intake(str(path))
    for relative, stream in archive_members(path):
        if stream is None:
            continue
        if intake.wants(relative):
            intake.take(relative, stream)
        elif whole and relative.lower().endswith(".rego"):
            # One revision would stand for two policies.
            raise PolicyLoadError(f"{path}: {relative!r}: a bundle has no test modules; OPA would load them as policy")
        elif whole:
            # OPA takes a file of any name that ends in ".manifest" for the manifest.
            raise PolicyLoadError(f"{path}: {relative!r}: a bundle has modules, data, manifest and signature only")
    return intake.files
