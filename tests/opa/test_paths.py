"""`paths.below` says the same on both engines, of every pair of odd segments, and what Python's own rules say."""

from __future__ import annotations

import json
import posixpath
import subprocess
from typing import TYPE_CHECKING, Any, Final

import regorus

if TYPE_CHECKING:
    from pathlib import Path

SEGMENTS: Final = ("", "/", ".", "..", "...", "ws", "a", "\\", "\n", "\x00", "\x7f", "é", "😀", "%2e%2e", "~", "/ws")
ROOTS: Final = ("/ws", "/ws/", "/", "", "ws", "/ws//", "/ws/..", None)
MODULE: Final = """package asked

import data.aioc.lib.paths

below := [i | some i, pair in input.pairs; paths.below(pair[0], pair[1])]
"""


def pairs() -> list[tuple[Any, Any]]:
    joined = [f"{front}{a}/{b}" for front in ("", "/", "/ws/") for a in SEGMENTS for b in SEGMENTS]
    return [(path, root) for path in [*SEGMENTS, *joined, None, 5] for root in ROOTS]


def is_below(path: Any, root: Any) -> bool:
    if not isinstance(path, str) or root not in {"/ws", "/ws/", "/"} or posixpath.normpath(path) != path:
        return False
    odd = any(character in "\\\x7f" or character < " " for character in path)
    one = path.startswith("/") and not path.startswith("//")  # two slashes are a place of their own in POSIX
    return one and posixpath.commonpath([path, root]) == posixpath.normpath(root) and not odd


def test_below_is_the_same_on_both_engines_and_means_what_it_says(
    repository: Path, tmp_path: Path, opa_binary: Path
) -> None:
    library = repository / "rego/aioc/lib/paths/paths.rego"
    (tmp_path / "asked.rego").write_text(MODULE)
    (tmp_path / "input.json").write_text(json.dumps({"pairs": pairs()}))
    output = subprocess.run(
        [opa_binary, "eval", "-d", library, "-d", "asked.rego", "-i", "input.json", "--strict-builtin-errors", "-f", "json",
         "data.asked.below"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    on_opa = json.loads(output.stdout)["result"][0]["expressions"][0]["value"]
    engine = regorus.Engine()
    engine.add_policy("paths.rego", library.read_text())
    engine.add_policy("asked.rego", MODULE)
    engine.set_input_json(json.dumps({"pairs": pairs()}))
    assert engine.eval_rule("data.asked.below") == on_opa
    below = [
        number
        for number, (path, root) in enumerate(pairs())
        if is_below(path, root) and path.rstrip("/") != str(root).rstrip("/")
    ]
    assert len(below) > 100
    assert on_opa == below
