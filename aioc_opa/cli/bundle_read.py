"""`aioc-opa bundle inspect` and `bundle diff`: what an auditor reads."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.table import Table
from rich.text import Text

from aioc_opa.cli import logs
from aioc_opa.cli.bundle_options import (
    DEFAULT_ALGORITHM,
    AlgorithmOption,
    Form,
    FormOption,
    OpaBinaryOption,
    PublicKeyOption,
    ScopeOption,
    verification,
)
from aioc_opa.cli.exit_status import ExitStatus
from aioc_opa.cli.tables import say_table
from aioc_opa.cli.terminal import json_line, say, shown
from aioc_opa.engines.local_opa_signature import verified_copy
from aioc_opa.engines.opa_binary import find_opa_binary
from aioc_opa.errors import PolicyLoadError
from aioc_opa.packs.bundle_checks import BundleCheck
from aioc_opa.packs.bundle_diff import diff_document
from aioc_opa.packs.bundle_diff_sections import diff_sections
from aioc_opa.packs.bundle_file import BundleFile, read_bundle
from aioc_opa.packs.bundle_parsed import parse_bundle
from aioc_opa.packs.bundle_report import bundle_document
from aioc_opa.packs.bundle_sections import Section, inspect_sections

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from aioc_opa.core.json_value import JsonObject
    from aioc_opa.engines.local_opa_signature import BundleVerification
    from aioc_opa.engines.opa_binary import OpaBinary

INSPECT_HELP: Final = """Say what is in a bundle: what an auditor reads before it decides anything.

Packages, entrypoints, the METADATA of every rule, owners, the tools that each pack decides and what can come of a
call, the approvals that can be asked for, declared needs, builtins that reach out or vary, data tables, roots,
signature, digest. What can come of a call is an upper bound, read from the text of the rules (docs/bundles.md).

\b
Exit status: 0 said; 1 --public-key, and the signature does not hold; 2 wrong usage; 3 the bundle is refused.

\b
Examples:
  aioc-opa bundle inspect tools.tar.gz --public-key signing.pub.pem
  aioc-opa bundle inspect tools.tar.gz --format markdown > tools.markdown
"""

DIFF_HELP: Final = """Say what changes from one bundle to another, in the words of `bundle inspect`.

Tools whose possible outcomes change stand first, then approvals and their terms, rules with their source, the order
of else branches, imports, data values, METADATA. Spaces and comments are no change of a rule; every file of which the
content differs is listed with its digests.

\b
Exit status: 0 the same content; 1 other content, or the counter goes back; 2 wrong usage; 3 a bundle is refused.

\b
Example:
  aioc-opa bundle diff accepted.tar.gz new.tar.gz
"""

_LONGEST_CELL: Final = 2000


def inspect(
    bundle: Annotated[Path, typer.Argument(metavar="BUNDLE", help="The .tar.gz.")],
    *,
    public_key: PublicKeyOption = None,
    algorithm: AlgorithmOption = DEFAULT_ALGORITHM,
    scope: ScopeOption = None,
    form: FormOption = Form.TABLE,
    opa_binary: OpaBinaryOption = None,
) -> None:
    """The command; see `INSPECT_HELP`."""
    logs.configure(verbose=False)
    demanded = verification(public_key, algorithm, scope)
    binary = find_opa_binary(opa_binary)
    found = read_bundle(bundle)
    signature = _signature(found, demanded, binary)
    document = bundle_document(parse_bundle(found, opa_binary=binary.path), signature=signature)
    _print(document, inspect_sections, form)
    raise typer.Exit(int(ExitStatus.DIFFERENT if signature.ok is False else ExitStatus.OK))


def diff(
    before: Annotated[Path, typer.Argument(metavar="BEFORE", help="The .tar.gz in force.")],
    after: Annotated[Path, typer.Argument(metavar="AFTER", help="The .tar.gz that is to replace it.")],
    *,
    form: FormOption = Form.TABLE,
    opa_binary: OpaBinaryOption = None,
) -> None:
    """The command; see `DIFF_HELP`."""
    logs.configure(verbose=False)
    binary = find_opa_binary(opa_binary).path
    old, new = (parse_bundle(read_bundle(path), opa_binary=binary) for path in (before, after))
    document = diff_document(old, new)
    _print(document, diff_sections, form)
    same = document["sameContent"] and not document["rollback"]
    raise typer.Exit(int(ExitStatus.OK if same else ExitStatus.DIFFERENT))


def _signature(bundle: BundleFile, demanded: BundleVerification | None, binary: OpaBinary) -> BundleCheck:
    if demanded is None:
        return BundleCheck("signature", None, "not verified: no key was given")
    if bundle.statement.part:
        return BundleCheck("signature", None, "a part of a policy: `bundle verify` verifies it beside the others")
    try:
        with tempfile.TemporaryDirectory(prefix="aioc-opa-verify-") as folder:
            copy = verified_copy(Path(bundle.source), demanded, binary=binary, into=Path(folder))
            if read_bundle(copy).files != bundle.files:
                return BundleCheck("signature", ok=False, text="the file changed while it was read")
    except PolicyLoadError as error:
        return BundleCheck("signature", ok=False, text=str(error))
    return BundleCheck("signature", ok=True, text="OPA verifies it with the given key")


def _print(document: JsonObject, sections: Callable[[JsonObject], Iterator[Section]], form: Form) -> None:
    if form is Form.JSON:
        say(json_line(document))
        return
    for section in sections(document):
        (_markdown if form is Form.MARKDOWN else _table)(section)


def _table(section: Section) -> None:
    say(section.title)
    if not section.rows:
        say(f"  {section.empty}\n")
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2), show_edge=False, header_style="")
    for column in section.columns:
        table.add_column(column, overflow="fold")
    for row in section.rows:
        table.add_row(*(Text(shown(text, longest=_LONGEST_CELL)) for text in row))
    say_table(table)
    _say_what_is_cut(section)
    say("")


def _markdown(section: Section) -> None:
    say(f"## {section.title}\n")
    if not section.rows:
        say(f"{section.empty}\n")
        return
    say(f"| {' | '.join(section.columns)} |\n|{' --- |' * len(section.columns)}")
    for row in section.rows:
        say(f"| {' | '.join(_plain(text) for text in row)} |")
    say("")
    _say_what_is_cut(section)


def _say_what_is_cut(section: Section) -> None:
    cut = sum(len(text) > _LONGEST_CELL for row in section.rows for text in row)
    if cut:
        say(f"{cut} of these are cut after {_LONGEST_CELL} characters (…): `--format json` has them whole\n")


def _plain(text: str) -> str:
    """Text that is no markup: a title in METADATA comes from whoever wrote the policy."""
    escaped = shown(text, longest=_LONGEST_CELL)
    return "".join(f"\\{character}" if character in "\\`*_{}[]<>()#+!|~&" else character for character in escaped)
