"""`aioc-opa bundle sign`: sign a bundle, so that OPA and `bundle verify` can tell whose it is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from aioc_opa.cli import logs
from aioc_opa.cli.bundle_options import (
    DEFAULT_ALGORITHM,
    AlgorithmOption,
    OpaBinaryOption,
    OutOption,
    ScopeOption,
    write_whole,
)
from aioc_opa.cli.terminal import say, shown
from aioc_opa.engines.opa_binary import find_opa_binary
from aioc_opa.packs.bundle_sign import ALGORITHMS, sign_bundle

HELP: Final = """Sign a bundle that `bundle build` made, with `opa sign`.

The signature covers every file and the publisher's statement: counter, minimum counter, owners, expiry. The key is a
PEM file that nobody but its owner may read.

\b
Exit status: 0 written; 2 wrong usage; 3 the bundle is refused, or the key or `opa` cannot be used.

\b
Example:
  aioc-opa bundle sign tools.tar.gz --key signing.pem -o signed/tools.tar.gz
"""

BundleArgument = Annotated[Path, typer.Argument(metavar="BUNDLE", help="The .tar.gz.")]


def sign(
    bundle: BundleArgument,
    *,
    key: Annotated[Path, typer.Option("--key", metavar="PEM", help="The private key.")],
    out: OutOption,
    algorithm: AlgorithmOption = DEFAULT_ALGORITHM,
    scope: ScopeOption = None,
    opa_binary: OpaBinaryOption = None,
) -> None:
    """The command; see `HELP`."""
    logs.configure(verbose=False)
    if algorithm not in ALGORITHMS:
        raise typer.BadParameter(f"--algorithm: one of {', '.join(ALGORITHMS)}")
    binary = find_opa_binary(opa_binary).path
    write_whole(out, sign_bundle(bundle, key_file=key, opa_binary=binary, algorithm=algorithm, scope=scope or ""))
    say(f"{shown(out)}: signed with {algorithm}")
