"""A policy folder as the lint sees it: parsed modules, annotations, manifests."""

from __future__ import annotations

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from aioc_opa.errors import PolicyLoadError
from aioc_opa.packs.lint.opa_errors import check_policy, error_findings
from aioc_opa.packs.lint.rego_tree import Node, Reference, line_of, path_of, references

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from aioc_opa.core.json_value import JsonObject
    from aioc_opa.packs.lint.finding import Finding
    from aioc_opa.packs.pack_manifest import PackManifest

_SECONDS: Final = 60
_SKIPPED: Final = frozenset({".git", ".regal", ".venv", "node_modules"})


@dataclass(frozen=True, slots=True)
class Module:
    """One parsed module.

    Attributes:
        file: path below the policy folder.
        tree: what `opa parse` prints.
        package: its segments.
    """

    file: str
    tree: Node
    package: tuple[str, ...]

    @property
    def folder(self) -> tuple[str, ...]:
        """Its folder, as segments."""
        return tuple(self.file.split("/")[:-1])

    @property
    def stem(self) -> str:
        """Its file's name without ``.rego``."""
        return self.file.rpartition("/")[2].removesuffix(".rego")

    @property
    def is_test(self) -> bool:
        """Whether it is a test, which no engine loads."""
        return self.stem.endswith("_test")

    @property
    def is_generated(self) -> bool:
        """Whether the generator of routes wrote it."""
        return self.file == "aioc/routes/routes.rego"

    @property
    def pack(self) -> str | None:
        """The pack that it belongs to."""
        in_pack = self.folder[:2] == ("aioc", "packs") and len(self.folder) > 2  # noqa: PLR2004 - aioc/packs/<pack>
        return self.folder[2] if in_pack and not self.is_test else None

    def rules(self) -> Iterator[Node]:
        """Its rules, the parts of an `else` chain one by one."""
        for rule in self.tree.get("rules", []):
            part = rule
            while part is not None:
                yield part
                part = part.get("else")

    def imports(self) -> dict[str, tuple[Any, ...]]:
        """The path that each imported name stands for."""
        found = {}
        for item in self.tree.get("imports", []):
            path = path_of(item["path"])
            found[item.get("alias") or path[-1]] = path
        return found

    def reads(self, node: Node) -> Iterator[Reference]:
        """The references below `node`, imported names written out."""
        imported = self.imports()
        for reference in references(node):
            head = imported.get(reference.path[0])
            yield reference if head is None else Reference((*head, *reference.path[1:]), reference.line)


def rule_name(rule: Node) -> str:
    """The name that a rule's head begins with."""
    return str(rule["head"]["ref"][0]["value"])


def rule_line(rule: Node) -> int:
    """The line of a rule."""
    return line_of(rule["head"], line_of(rule))


@dataclass(slots=True)
class LintedPolicy:
    """Everything that the rules look at.

    Attributes:
        root: the policy folder.
        modules: parsed, by file.
        annotations_read: whether the next two are known.
        annotated: places, as (file, line of the rule), that METADATA with words stands above.
        annotated_packages: packages that METADATA describes, in one of their files.
        data: merged data; None when it is refused.
        manifests: by pack; empty when they are refused.
        findings: what was found while reading.
    """

    root: Path
    modules: dict[str, Module] = field(default_factory=dict)
    annotations_read: bool = True
    annotated: set[tuple[str, int]] = field(default_factory=set)
    annotated_packages: set[tuple[str, ...]] = field(default_factory=set)
    data: JsonObject | None = None
    manifests: Mapping[str, PackManifest] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def pack_modules(self, pack: str) -> list[Module]:
        """The modules of a pack, tests left out."""
        return [module for module in self.modules.values() if module.pack == pack]


def run_opa(opa_binary: Path, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run `opa` with an empty environment.

    Raises:
        PolicyLoadError: it cannot be run, or does not end.
    """
    try:
        return subprocess.run(  # noqa: S603 - the caller names the binary; arguments are ours and file paths
            [str(opa_binary.resolve()), *arguments],
            cwd=cwd,
            env={},
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PolicyLoadError(f"{opa_binary}: cannot be run: {error}") from error


def rego_files(root: Path) -> list[str]:
    """Every Rego file below `root`, sorted, hidden folders left out."""
    files = (path.relative_to(root) for path in root.rglob("*.rego") if path.is_file())
    return sorted(path.as_posix() for path in files if not _SKIPPED.intersection(path.parts))


def parse_modules(policy: LintedPolicy, opa_binary: Path) -> None:
    """Parse every module into `policy`; what does not parse becomes a finding."""
    files = rego_files(policy.root)

    def parse(file: str) -> subprocess.CompletedProcess[str]:
        return run_opa(opa_binary, "parse", "--format", "json", "--json-include", "locations", file, cwd=policy.root)

    with ThreadPoolExecutor(max_workers=4) as pool:
        outputs = list(pool.map(parse, files))
    for file, output in zip(files, outputs, strict=True):
        if output.returncode != 0:
            found = error_findings(output, policy.root, "parse-error", "write what Rego can read", file=file)
            policy.findings.extend(found)
            continue
        tree = json.loads(output.stdout)
        package = tuple(str(part["value"]) for part in tree["package"]["path"][1:])
        policy.modules[file] = Module(file, tree, package)


def check_modules(policy: LintedPolicy, opa_binary: Path) -> None:
    """What does not compile becomes a finding: OPA refuses the whole policy for it."""
    run = partial(run_opa, opa_binary, cwd=policy.root)
    policy.findings.extend(check_policy(policy.root, run, _SKIPPED))


def read_annotations(policy: LintedPolicy, opa_binary: Path) -> None:
    """Where METADATA stands, from `opa inspect --annotations`; it fails for much that `opa check` refuses."""
    output = run_opa(opa_binary, "inspect", "--annotations", "--format", "json", ".", cwd=policy.root)
    if output.returncode != 0:
        policy.annotations_read = False
        if not policy.findings:
            found = error_findings(output, policy.root, "inspect-error", "run `opa inspect -a` on the folder")
            policy.findings.extend(found)
        return
    for item in json.loads(output.stdout).get("annotations") or []:
        annotations, location = item.get("annotations", {}), item.get("location", {})
        if not any(str(annotations.get(key, "")).strip() for key in ("title", "description")):
            continue
        policy.annotated.add((Path(location.get("file", "")).as_posix(), int(location.get("row", 0))))
        if annotations.get("scope") in {"package", "subpackages"}:
            policy.annotated_packages.add(tuple(str(part["value"]) for part in item.get("path", [])[1:]))
