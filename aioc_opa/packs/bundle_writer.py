"""Write a bundle ``.tar.gz`` whose bytes follow from its files alone: sorted, without times, owners or a file name.

`opa build` does so too, but cannot put a signature inside.
"""

from __future__ import annotations

import gzip
import io
import tarfile
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_MODE: Final = 0o644
_LEVEL: Final = 9


def bundle_archive(files: Mapping[str, bytes]) -> bytes:
    """The archive of `files`, by path below the bundle's root."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in sorted(files.items()):
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), _MODE
            archive.addfile(member, io.BytesIO(content))
    return gzip.compress(plain.getvalue(), _LEVEL, mtime=0)
