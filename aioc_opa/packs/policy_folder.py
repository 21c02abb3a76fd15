"""Load a policy: a folder, or a bundle ``.tar.gz``, into modules and data that any engine can take (design 5).

What holds for a `LoadedPolicy`:

1. Every module's package is its folder, and every data key lies in its file's folder. So a file's place says what it
   can change, and an auditor can tell from names who owns what.
2. Below ``aioc`` only the library's own places exist, and nothing sits in a folder that is shared by several of them:
   no pack can reach into another, into the owners, or into the decision.
3. Manifests are valid, and the generated routes are those of these owners and manifests.
4. The library's own folders hold the library, and nothing else.
5. `revision` names exactly these bytes.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aioc_opa.core.canonical_json import canonical_text
from aioc_opa.errors import PolicyLoadError
from aioc_opa.packs.bundle_manifest import read_bundle_manifest
from aioc_opa.packs.data_documents import decode_document, merge_documents
from aioc_opa.packs.library_files import check_library
from aioc_opa.packs.module_head import ModuleHeadError, package_of
from aioc_opa.packs.namespace import check_data_place, check_module_place
from aioc_opa.packs.policy_files import MANIFEST, SIGNATURES, read_policy_files
from aioc_opa.packs.routes import check_routes, has_routes

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from aioc_opa.core.json_value import JsonObject, JsonValue

EXTRA_DATA: Final = "data.json"
"""Where `extra_data` is put: the data document at the root, the only place that is nobody's folder."""


@dataclass(frozen=True, slots=True)
class LoadedPolicy:
    """A policy that was read and checked, as one value.

    Attributes:
        modules: relative POSIX path to Rego source; tests left out.
        data: all data, merged and rooted by folder as OPA does.
        files: relative path to content of everything that was loaded, extra data included: to stage and to hash.
        revision: the bundle manifest's revision when a bundle names one, else ``sha256:`` of the RFC 8785 text of
            ``{path: sha256}`` over `files` (design 3.3).
    """

    modules: Mapping[str, str]
    data: JsonObject
    files: Mapping[str, bytes]
    revision: str


def load_policy(
    path: Path,
    *,
    extra_data: Mapping[str, JsonValue] | None = None,
    unsafe_ignore_signature: bool = False,
    unsafe_changed_library: bool = False,
) -> LoadedPolicy:
    """Read and check the policy at `path`, its routes and library included.

    Args:
        path: a folder, or a bundle ``.tar.gz``.
        extra_data: more data, rooted at ``data``; may not touch ``aioc``, nor what the policy gives itself.
        unsafe_ignore_signature: take a signed bundle although its signature is not verified here (OPA verifies it,
            with ``--verification-key``).
        unsafe_changed_library: take a policy whose library is not the one of this package, with a warning: whoever
            changed it can allow what no owner allows.

    Raises:
        PolicyLoadError: something is refused; the message names the file and what to do.
    """
    policy = read_policy(path, extra_data=extra_data, unsafe_ignore_signature=unsafe_ignore_signature)
    if has_routes(policy.modules):
        check_library(str(path), policy.modules, unsafe_changed_library=unsafe_changed_library)
        check_routes(str(path), policy.modules, policy.data)
    return policy


def read_policy(
    path: Path, *, extra_data: Mapping[str, JsonValue] | None = None, unsafe_ignore_signature: bool = False
) -> LoadedPolicy:
    """As `load_policy`, without rules 3 and 4: for the generator of routes and for the lint, which say what is wrong.

    Raises:
        PolicyLoadError: as `load_policy`.
    """
    source = str(path)
    files = read_policy_files(path)
    if SIGNATURES in files and not unsafe_ignore_signature:
        raise PolicyLoadError(
            f"{source}: is signed, and signatures are not verified here: let OPA verify it (opa run --bundle … "
            "--verification-key …; authorize and replay with --public-key; LocalOpaEngine with verification), "
            "or load the unsigned folder"
        )
    files.pop(SIGNATURES, None)
    manifest = read_bundle_manifest(source, files.get(MANIFEST))
    archive = path.is_file()
    sources = {name: _text(source, name, content) for name, content in files.items() if name.endswith(".rego")}
    if not sources:
        raise PolicyLoadError(f"{source}: holds no Rego module (*.rego)")
    prefix, packages = _packages(source, sources, archive=archive)
    modules = {name.removeprefix(prefix): text for name, text in sources.items()}
    files = {name.removeprefix(prefix) if name in sources else name: content for name, content in files.items()}
    if extra_data:
        files[EXTRA_DATA] = _with_extra_data(source, files.get(EXTRA_DATA), extra_data)
    documents = {n: decode_document(source, n, c) for n, c in files.items() if n.rpartition("/")[2] == "data.json"}
    for name, document in documents.items():
        check_data_place(source, name, document, whole_bundle=archive and name == "data.json")
    data = merge_documents(source, documents)
    _check_overlap(source, set(packages.values()), data)
    if manifest.roots is not None:
        manifest.check_roots(source, packages, data)
    files = dict(sorted(files.items()))
    return LoadedPolicy(modules, data, files, manifest.revision or _revision(files))


def _text(source: str, name: str, content: bytes) -> str:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise PolicyLoadError(f"{source}: {name}: is not UTF-8 (byte {error.start})") from error
    if text.startswith("\ufeff") or "\0" in text:
        raise PolicyLoadError(f"{source}: {name}: a byte order mark or a NUL is refused in Rego source")
    return text


def _packages(source: str, sources: Mapping[str, str], *, archive: bool) -> tuple[str, dict[str, tuple[str, ...]]]:
    """Package of each module by its path below the root; the prefix is what `opa build` put before all of them."""
    found: dict[str, tuple[str, ...]] = {}
    prefix: str | None = None
    for name, text in sources.items():
        try:
            package = package_of(text)
        except ModuleHeadError as error:
            raise PolicyLoadError(f"{source}: {name}: {error}") from error
        folder = tuple(name.split("/")[:-1])
        expected = "/".join((*package, ""))
        actual = "/".join((*folder, ""))
        if archive and prefix is None and actual.endswith(f"/{expected}"):
            prefix = actual.removesuffix(expected)
        prefix = prefix or ""
        if actual != prefix + expected:
            raise PolicyLoadError(
                f"{source}: {name}: package {'.'.join(package)} is not its folder's; "
                f"move it to {prefix}{expected} or change its package"
            )
        check_module_place(source, name, package)
        found[name.removeprefix(prefix)] = package
    return prefix or "", found


def _with_extra_data(source: str, present: bytes | None, extra_data: Mapping[str, JsonValue]) -> bytes:
    if "aioc" in extra_data:
        raise PolicyLoadError("extra data may not hold the key `aioc`: that belongs to the policy's own files")
    root = {} if present is None else decode_document(source, EXTRA_DATA, present)
    both = root.keys() & extra_data.keys()
    if both:
        raise PolicyLoadError(f"{source}: extra data gives {min(both)!r}, which the policy's {EXTRA_DATA} gives")
    return canonical_text({**root, **extra_data}).encode()


def _check_overlap(source: str, packages: set[tuple[str, ...]], data: JsonObject) -> None:
    """A value at or above a package would be merged with rules, or conflict with them, by each engine's own ideas."""
    for package in sorted(packages):
        value: JsonValue = data
        for depth, segment in enumerate(package):
            if not isinstance(value, dict):
                raise PolicyLoadError(
                    f"{source}: data.{'.'.join(package[:depth])} is a value, and package {'.'.join(package)} lies in it"
                )
            if segment not in value:
                break
            value = value[segment]


def _revision(files: Mapping[str, bytes]) -> str:
    listing: JsonObject = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    return "sha256:" + hashlib.sha256(canonical_text(listing).encode()).hexdigest()
