"""Put the Rego library of `rego/` into the wheel. It lies in the source tree once, so the two cannot drift apart."""

from __future__ import annotations

import runpy
import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent


class BuildWithLibrary(build_py):
    """Copies `LIBRARY_PARTS` to ``aioc_opa/packs/library``. An editable install reads `rego/` itself."""

    def run(self) -> None:
        """As setuptools does, and the library."""
        super().run()
        if self.editable_mode:
            return
        target = Path(self.build_lib, "aioc_opa", "packs", "library")
        shutil.rmtree(target, ignore_errors=True)  # what an earlier build left
        for part in runpy.run_path(str(ROOT / "aioc_opa/packs/library_parts.py"))["LIBRARY_PARTS"]:
            shutil.copytree(ROOT / "rego" / part, target / part)


setup(cmdclass={"build_py": BuildWithLibrary})
