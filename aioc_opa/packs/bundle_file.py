"""Read a bundle that `aioc-opa bundle build` made, and hold it to what it says of itself.

What holds for a `BundleFile`, whoever made the archive:

1. It is a whole archive of Rego modules in their packages' folders, one ``data.json`` and a manifest: no delta bundle,
   no compiled policy, no tests.
2. Nothing lies outside the roots.
3. The digest in its revision is that of its content, and the counter is that of its statement.

Not checked here: the signature, the expiry, and whether an older bundle is served again (`bundle_verification`).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from aioc_opa.core.bundles.content import content_digest
from aioc_opa.core.bundles.revision import Revision
from aioc_opa.core.bundles.roots import Path as DataPath
from aioc_opa.core.bundles.roots import root_path, root_problem
from aioc_opa.errors import PolicyLoadError
from aioc_opa.models.bundle_statement import BundleStatement
from aioc_opa.packs.bundle_manifest import read_bundle_manifest
from aioc_opa.packs.data_documents import decode_document
from aioc_opa.packs.module_head import ModuleHeadError, package_of
from aioc_opa.packs.namespace import check_module_place
from aioc_opa.packs.policy_files import MANIFEST, SIGNATURES, read_policy_files

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from aioc_opa.core.json_value import JsonObject
    from aioc_opa.packs.bundle_manifest import BundleManifest

DATA: Final = "data.json"
METADATA: Final = "aioc"
"""The key of the statement in the manifest's `metadata`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleFile:
    """A bundle that keeps the promises of this module.

    Attributes:
        source: its path, for messages.
        archive_sha256: of the file: signed and unsigned, compressed otherwise, it is another.
        files: everything that counts, signature included.
        modules: path to Rego source.
        packages: of each module.
        data: the data document.
        roots: what it owns.
        statement: what its publisher says.
        revision: of the manifest.
    """

    source: str
    archive_sha256: str
    files: Mapping[str, bytes]
    modules: Mapping[str, str]
    packages: Mapping[str, DataPath]
    data: JsonObject
    roots: tuple[DataPath, ...]
    statement: BundleStatement
    revision: Revision

    @property
    def is_signed(self) -> bool:
        """Whether there is a signature, whatever it is worth."""
        return SIGNATURES in self.files


def require_bundle_file(path: Path) -> None:
    """See that there is a file at `path`, whatever is in it.

    Raises:
        PolicyLoadError: there is none.
    """
    if not path.is_file():
        raise PolicyLoadError(f"{path}: no such bundle (a .tar.gz file)")


def read_bundle(path: Path) -> BundleFile:
    """Read the bundle at `path`.

    Raises:
        PolicyLoadError: it is none, or is not what it says; the message names the place.
    """
    source = str(path)
    require_bundle_file(path)
    files = read_policy_files(path, whole=True)
    if MANIFEST not in files:
        raise PolicyLoadError(f"{source}: has no .manifest: build it with `aioc-opa bundle build`")
    manifest = read_bundle_manifest(source, files[MANIFEST])
    statement = _statement(source, manifest)
    modules = {name: _text(source, name, files[name]) for name in files if name.endswith(".rego")}
    stray = sorted(files.keys() - modules.keys() - {DATA, MANIFEST, SIGNATURES})
    if stray:
        raise PolicyLoadError(f"{source}: {stray[0]}: all data of a bundle stands in {DATA} at its top")
    packages = {name: _package(source, name, text) for name, text in modules.items()}
    data = decode_document(source, DATA, files[DATA]) if DATA in files else {}
    if not manifest.roots or "" in manifest.roots:
        raise PolicyLoadError(f"{source}: .manifest: roots must name what the bundle owns")
    if problem := root_problem(manifest.roots):
        raise PolicyLoadError(f"{source}: .manifest: {problem}")
    manifest.check_roots(source, packages, data)
    digest = content_digest(modules=modules, data=data, roots=manifest.roots)
    if digest != statement.digest:
        raise PolicyLoadError(f"{source}: the content is not the one of its digest: it was changed, or is not whole")
    revision = Revision(statement.counter, digest)
    if manifest.revision != str(revision):
        raise PolicyLoadError(f"{source}: .manifest: the revision is not the counter and digest of the statement")
    return BundleFile(
        source=source,
        archive_sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
        files=files,
        modules=modules,
        packages=packages,
        data=data,
        roots=tuple(root_path(root) for root in manifest.roots),
        statement=statement,
        revision=revision,
    )


def _statement(source: str, manifest: BundleManifest) -> BundleStatement:
    if manifest.metadata.keys() != {METADATA}:
        raise PolicyLoadError(f"{source}: .manifest: has no statement of its publisher in metadata.{METADATA} alone")
    try:
        return BundleStatement.model_validate(manifest.metadata[METADATA], by_alias=True, by_name=False)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(str(part) for part in ("metadata", METADATA, *first["loc"]))
        raise PolicyLoadError(f"{source}: .manifest: {place}: {first['msg'].removeprefix('Value error, ')}") from None


def _text(source: str, name: str, content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise PolicyLoadError(f"{source}: {name}: is not UTF-8 (byte {error.start})") from None


def _package(source: str, name: str, text: str) -> DataPath:
    try:
        package = package_of(text)
    except ModuleHeadError as error:
        raise PolicyLoadError(f"{source}: {name}: {error}") from error
    if tuple(name.split("/")[:-1]) != package:
        raise PolicyLoadError(f"{source}: {name}: package {'.'.join(package)} is not its folder's")
    check_module_place(source, name, package)
    return package
