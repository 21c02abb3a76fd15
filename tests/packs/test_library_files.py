"""The library in a policy is the one of this package, and the routes lie alone (design 5: one owner a tool)."""

from __future__ import annotations

import json
import shutil
import subprocess
from importlib.resources import files
from typing import TYPE_CHECKING

import pytest

from aioc_opa.errors import PolicyLoadError
from aioc_opa.packs.library_files import DIGESTS_FILE, UnsafeChangedLibraryWarning, library_digests
from aioc_opa.packs.policy_folder import load_policy, read_policy
from aioc_opa.packs.routes_file import write_routes
from tests.packs.folders import manifest, pack_module, rule, write

if TYPE_CHECKING:
    from pathlib import Path


HEAD = "import future.keywords.not\n\n"
ALLOWS = 'contains v if { v := {"code": "x"} }\n'


@pytest.fixture
def library(repository: Path, tmp_path: Path) -> Path:
    """A copy of the library with one pack of our own."""
    folder = tmp_path / "policy"
    for part in ("aioc/lib", "aioc/tool_policy"):
        shutil.copytree(repository / "rego" / part, folder / part)
    write(
        folder,
        {
            "aioc/packs/mine/mine.rego": pack_module("mine", rule("allow", "t", 'verdicts.allow("fine")')),
            "aioc/packs/mine/data.json": {"manifest": manifest("t", codes=("fine",))},
            "aioc/owners/data.json": {"t": "mine"},
        },
    )
    assert write_routes(folder)
    return folder


def test_the_list_is_that_of_the_library(repository: Path) -> None:
    listed = json.loads(files("aioc_opa.packs").joinpath(DIGESTS_FILE).read_text("utf-8"))
    current = library_digests(read_policy(repository / "rego").modules)
    assert listed == current, "run scripts/generate-library-digests"
    assert len(current) > 5


def test_a_part_of_the_library_is_enough(library: Path) -> None:
    assert load_policy(library).modules  # without handoff_policy


@pytest.mark.parametrize(
    ("name", "module", "problem"),
    [
        ("aioc/routes/zz.rego", f"package aioc.routes\n\n{HEAD}allow {ALLOWS}", "could route tools that nobody owns"),
        ("aioc/routes/sub/zz.rego", f"package aioc.routes.sub\n\n{HEAD}x := 1\n", "could route tools"),
        ("aioc/tool_policy/zz.rego", f"package aioc.tool_policy\n\n{HEAD}_allows {ALLOWS}", "is no file of the library"),
        ("aioc/tool_policy/sub/zz.rego", f"package aioc.tool_policy.sub\n\n{HEAD}x := 1\n", "is no file of the library"),
        ("aioc/tool_access/zz.rego", f"package aioc.tool_access\n\n{HEAD}x := 1\n", "is no file of the library"),
        ("aioc/handoff_policy/zz.rego", f"package aioc.handoff_policy\n\n{HEAD}x := 1\n", "is no file of the library"),
        ("aioc/lib/zz.rego", f"package aioc.lib\n\n{HEAD}routing.f(x) := x\n", "is no file of the library"),
        ("aioc/lib/zz/zz.rego", f"package aioc.lib.zz\n\n{HEAD}x := 1\n", "is no file of the library"),
        ("aioc/lib/money/zz.rego", f"package aioc.lib.money\n\n{HEAD}x := 1\n", "is no file of the library"),
    ],
)  # fmt: skip
def test_a_module_beside_the_librarys_own_is_refused(library: Path, name: str, module: str, problem: str) -> None:
    write(library, {name: module})
    with pytest.raises(PolicyLoadError, match=f"{name}: .*{problem}"):
        load_policy(library)


def test_a_module_of_the_library_that_was_changed_or_taken_away_is_refused(library: Path) -> None:
    verdicts = library / "aioc/lib/verdicts/verdicts.rego"
    text = verdicts.read_text()
    verdicts.write_text(f"{text}\n# a comment\n")
    with pytest.raises(PolicyLoadError, match=r"verdicts\.rego: is not the library's of this version"):
        load_policy(library)
    verdicts.rename(verdicts.with_name("renamed.rego"))
    with pytest.raises(PolicyLoadError, match=r"renamed\.rego: is no file of the library"):
        load_policy(library)
    with pytest.warns(UnsafeChangedLibraryWarning, match=r"verdicts\.rego: is missing from its folder"):
        load_policy(library, unsafe_changed_library=True)


def test_who_changes_the_library_says_so_and_is_warned(library: Path) -> None:
    write(library, {"aioc/lib/zz/zz.rego": f"package aioc.lib.zz\n\n{HEAD}x := 1\n"})
    with pytest.warns(UnsafeChangedLibraryWarning, match=r"aioc/lib/zz/zz\.rego") as caught:
        assert load_policy(library, unsafe_changed_library=True).modules
    assert caught[0].filename == __file__
    write(library, {"aioc/routes/zz.rego": f"package aioc.routes\n\n{HEAD}x := 1\n"})
    with pytest.raises(PolicyLoadError, match="lies beside"):
        load_policy(library, unsafe_changed_library=True)


def test_it_holds_in_a_bundle_too(library: Path, opa_binary: Path, tmp_path: Path) -> None:
    def built() -> Path:
        bundle = tmp_path / "b.tar.gz"
        subprocess.run([opa_binary, "build", "-b", library, "-o", bundle], check=True, capture_output=True)
        return bundle

    assert load_policy(built()).modules
    write(library, {"aioc/tool_policy/zz.rego": f"package aioc.tool_policy\n\n{HEAD}_allows {ALLOWS}"})
    with pytest.raises(PolicyLoadError, match="is no file of the library"):
        load_policy(built())


def test_a_policy_without_the_library_has_its_own_entrypoint(tmp_path: Path) -> None:
    module = f"package aioc.tool_policy\n\n{HEAD}decision := 1\n"
    assert load_policy(write(tmp_path, {"aioc/tool_policy/own.rego": module})).modules
