"""Small policy folders for tests."""

from __future__ import annotations

import json
import tarfile
from io import BytesIO
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

LIBRARY = ("aioc/lib", "aioc/tool_policy")


def write(root: Path, files: Mapping[str, Any]) -> Path:
    """Write files; what is not text or bytes is written as JSON."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return root


def archive(path: Path, files: Mapping[str, bytes], *, members: tuple[tarfile.TarInfo, ...] = ()) -> Path:
    """A .tar.gz with these files and raw members."""
    with tarfile.open(path, "w:gz") as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, BytesIO(content))
        for member in members:
            tar.addfile(member)
    return path


def manifest(*tools: str, context: Any = None, codes: tuple[str, ...] = (), **more: Any) -> dict[str, Any]:
    """A manifest that governs `tools`."""
    return {
        "version": "1",
        "title": "A test pack",
        "tools": {tool: {"context": {"type": "object"} if context is None else context} for tool in tools},
        "codes": list(codes),
        **more,
    }


def pack_module(pack: str, body: str = "") -> str:
    """A pack's module, which says that it is loaded."""
    return (
        f"package aioc.packs.{pack}\n\nimport data.aioc.lib.verdicts\nimport future.keywords.not\n\n"
        f"loaded := true\n\n{body}"
    )


def rule(effect: str, tool: str, verdict: str) -> str:
    """A rule of a pack for one tool."""
    return f'{effect} contains verdict if {{\n\tinput.toolName == "{tool}"\n\tverdict := {verdict}\n}}\n\n'
