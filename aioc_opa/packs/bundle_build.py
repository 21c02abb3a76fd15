"""Build a bundle of a policy folder with `opa build`.

In this order, and nothing is written when one of them fails:

1. the lint finds no error in the whole folder, stale routes and builtins beyond ``capabilities.json`` included;
2. the loader takes it;
3. `opa build` compiles it under ``capabilities.json``: without network, clock and chance;
4. what is packed is what `opa build` wrote, under roots that own every path that is there or that a pack declares.
"""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from aioc_opa.core.bundles.content import content_digest
from aioc_opa.core.bundles.revision import Revision
from aioc_opa.core.bundles.roots import root_problem, within
from aioc_opa.core.canonical_json import canonical_text
from aioc_opa.core.rfc3339 import parse_rfc3339
from aioc_opa.errors import PolicyLoadError
from aioc_opa.models.bundle_statement import BundleStatement
from aioc_opa.packs.bundle_file import DATA, METADATA
from aioc_opa.packs.bundle_parts import WHOLE, Part, part_roots
from aioc_opa.packs.bundle_writer import bundle_archive
from aioc_opa.packs.lint.finding import exit_code
from aioc_opa.packs.lint.linted import run_opa
from aioc_opa.packs.lint.runner import lint_policy
from aioc_opa.packs.policy_files import MANIFEST
from aioc_opa.packs.policy_folder import load_policy, read_policy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from aioc_opa.packs.policy_folder import LoadedPolicy

_MOST_FINDINGS: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleTerms:
    """What the publisher says about a bundle; attributes as in `BundleStatement`."""

    name: str
    counter: int
    minimum_counter: int = 0
    owners: Sequence[str]
    created_at: str | None = None
    expires_at: str | None = None


@dataclass(frozen=True, slots=True)
class BuiltBundle:
    """A bundle, not yet in a file.

    Attributes:
        archive: the ``.tar.gz``: the same bytes for the same content and statement.
        revision: its name.
    """

    archive: bytes
    revision: Revision


def build_bundle(
    folder: Path, terms: BundleTerms, *, opa_binary: Path, part: Part = WHOLE, checked: bool = False
) -> BuiltBundle:
    """Build the policy in `folder`, or a part of it, into a bundle.

    Args:
        folder: the policy: the one that holds ``aioc/``.
        terms: of the statement.
        opa_binary: the `opa` that lints, compiles and builds.
        part: what of the policy the bundle holds; by default all of it.
        checked: the lint has just found no error, so it is not run again.

    Raises:
        PolicyLoadError: something is refused; the message says what and where.
    """
    if not checked:
        require_clean(folder, opa_binary)
    policy = load_policy(folder)
    if MANIFEST in policy.files:
        raise PolicyLoadError(f"{folder}: {MANIFEST}: remove it: the build writes the manifest")
    built = _opa_build(folder, policy, opa_binary)
    roots = part_roots(str(folder), built, part)
    modules = {name: text for name, text in built.modules.items() if part.holds(roots, tuple(name.split("/")[:-1]))}
    data = within(built.data, roots)
    if not modules and not data:
        raise PolicyLoadError(f"{folder}: nothing of the policy lies in this part")
    texts = ["/".join(root) for root in roots]
    if problem := root_problem(texts):
        raise PolicyLoadError(f"{folder}: {problem}")
    digest = content_digest(modules=modules, data=data, roots=texts)
    statement = _statement(terms, digest, is_part=part.is_part)
    _require_unexpired(statement)
    revision = Revision(statement.counter, digest)
    manifest = {
        "revision": str(revision),
        "roots": texts,
        "rego_version": 1,
        "metadata": {METADATA: statement.model_dump(mode="json", by_alias=True, exclude_none=True)},
    }
    files = {name: text.encode() for name, text in modules.items()}
    archive = bundle_archive(
        {**files, DATA: canonical_text(data).encode(), MANIFEST: canonical_text(manifest).encode()}
    )
    return BuiltBundle(archive, revision)


def require_clean(folder: Path, opa_binary: Path) -> None:
    """Refuse a policy folder in which the lint finds an error.

    Raises:
        PolicyLoadError: it does; the message has the findings.
    """
    findings = lint_policy(folder, opa_binary=opa_binary)
    if exit_code(findings):
        errors = [str(finding) for finding in findings if finding.severity == "error"]
        more = len(errors) - _MOST_FINDINGS
        lines = [*errors[:_MOST_FINDINGS], *([f"and {more} more"] if more > 0 else [])]
        raise PolicyLoadError("\n".join([f"{folder}: `aioc-opa lint` finds errors, so no bundle is built:", *lines]))


def _statement(terms: BundleTerms, digest: str, *, is_part: bool) -> BundleStatement:
    try:
        return BundleStatement(
            name=terms.name,
            counter=terms.counter,
            minimum_counter=terms.minimum_counter,
            digest=digest,
            owners=tuple(terms.owners),
            created_at=terms.created_at,
            expires_at=terms.expires_at,
            part=is_part,
        )
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "statement"
        raise PolicyLoadError(f"bundle: {place}: {first['msg'].removeprefix('Value error, ')}") from None


def _require_unexpired(statement: BundleStatement) -> None:
    """Nobody would accept it; whoever builds it has mistaken the year, or a clock is wrong."""
    moment = None if statement.expires_at is None else parse_rfc3339(statement.expires_at)
    if moment is not None and moment <= datetime.now(UTC):
        raise PolicyLoadError(f"bundle: expiresAt: {statement.expires_at} has passed: the bundle would be refused")


def _opa_build(folder: Path, policy: LoadedPolicy, opa_binary: Path) -> LoadedPolicy:
    """What `opa build` makes of the policy, read back."""
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="aioc-opa-build-")))
        capabilities = stack.enter_context(
            resources.as_file(resources.files("aioc_opa.packs").joinpath("capabilities.json"))
        )
        staged = place / "policy"
        _write(staged, policy.files)
        archive = place / "built.tar.gz"
        done = run_opa(
            opa_binary, "build", f"--capabilities={capabilities}", f"--output={archive}", "--bundle", ".", cwd=staged
        )
        if done.returncode != 0:
            said = (done.stderr or done.stdout).strip()
            raise PolicyLoadError(f"{folder}: opa build refuses the policy: {said}")
        return read_policy(archive)


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
