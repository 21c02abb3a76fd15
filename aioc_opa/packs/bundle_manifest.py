"""The ``.manifest`` of a bundle (https://www.openpolicyagent.org/docs/management-bundles#bundle-file-format)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from aioc_opa.errors import PolicyLoadError
from aioc_opa.packs.data_documents import decode_document

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from aioc_opa.core.json_value import JsonObject, JsonValue

_KNOWN: Final = frozenset({"revision", "roots", "rego_version", "metadata"})
_MAX_REVISION: Final = 512


@dataclass(frozen=True, slots=True)
class BundleManifest:
    """What a bundle says about itself.

    Attributes:
        revision: the publisher's name for this version; empty when there is none.
        roots: prefixes of ``data`` that the bundle owns; None means all.
        metadata: what its publisher added.
    """

    revision: str = ""
    roots: tuple[str, ...] | None = None
    metadata: JsonObject = field(default_factory=dict)

    def check_roots(self, source: str, packages: Mapping[str, tuple[str, ...]], data: JsonObject) -> None:
        """Refuse modules and data outside `roots`, as OPA does when it activates a bundle.

        Raises:
            PolicyLoadError: one lies outside.
        """
        for name, package in packages.items():
            if not self._owns(package):
                raise PolicyLoadError(f"{source}: {name}: lies outside the roots of .manifest")
        for path in _leaves(data, ()):
            if path and not self._owns(path):  # no path: there is no data
                raise PolicyLoadError(f"{source}: data.{'.'.join(path)} lies outside the roots of .manifest")

    def _owns(self, path: tuple[str, ...]) -> bool:
        for root in self.roots or ():
            segments = tuple(segment for segment in root.split("/") if segment)
            if path[: len(segments)] == segments:
                return True
        return False


def read_bundle_manifest(source: str, content: bytes | None) -> BundleManifest:
    """Read ``.manifest``; without one, a manifest that says nothing.

    Raises:
        PolicyLoadError: it is not one, or asks for what is not supported (Wasm, Rego v0).
    """
    if content is None:
        return BundleManifest()
    document = decode_document(source, ".manifest", content)
    unknown = sorted(document.keys() - _KNOWN)
    if unknown:
        raise PolicyLoadError(f"{source}: .manifest: key {unknown[0]!r} is not supported")
    if document.get("rego_version", 1) != 1:
        raise PolicyLoadError(f"{source}: .manifest: rego_version must be 1")
    revision = document.get("revision", "")
    if not isinstance(revision, str) or len(revision) > _MAX_REVISION:
        raise PolicyLoadError(f"{source}: .manifest: revision must be a string of at most {_MAX_REVISION} characters")
    metadata = document.get("metadata", {})
    if not isinstance(metadata, dict):
        raise PolicyLoadError(f"{source}: .manifest: metadata must be an object")
    return BundleManifest(revision, _roots(source, document.get("roots")), metadata)


def _roots(source: str, roots: JsonValue) -> tuple[str, ...] | None:
    if roots is None:
        return None
    if not isinstance(roots, list):
        raise PolicyLoadError(f"{source}: .manifest: roots must be a list of strings")
    found = tuple(root for root in roots if isinstance(root, str))
    if len(found) != len(roots):
        raise PolicyLoadError(f"{source}: .manifest: roots must be a list of strings")
    return found


def _leaves(value: JsonValue, path: tuple[str, ...]) -> Iterable[tuple[str, ...]]:
    if isinstance(value, dict) and value:
        for key, below in value.items():
            yield from _leaves(below, (*path, key))
    else:
        yield path
