"""What the digest in a revision covers.

It is the RFC 8785 text of

    {"data": <all data, merged>, "modules": {<path>: <sha256 of its UTF-8 text>}, "roots": [<sorted>]}

So it names what decides, and nothing else: not the archive's bytes (gzip, order and times of members), not the
counter, the owners or the expiry. Equal content has an equal digest, whoever builds it and when.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from aioc_opa.core.canonical_json import canonical_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from aioc_opa.core.json_value import JsonObject


def content_digest(*, modules: Mapping[str, str], data: JsonObject, roots: Iterable[str]) -> str:
    """Lower-case hex SHA-256 of the content.

    Args:
        modules: path below the bundle's root to Rego source, as in the bundle; no tests.
        data: as OPA merges it; the manifest left out.
        roots: as in the manifest.

    Raises:
        NotCanonicalError: the data has no canonical JSON.
    """
    content = {
        "data": data,
        "modules": {path: hashlib.sha256(text.encode()).hexdigest() for path, text in modules.items()},
        "roots": sorted(roots),
    }
    return hashlib.sha256(canonical_text(content).encode()).hexdigest()
