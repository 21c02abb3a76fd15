"""A real OPA with a small policy that does as the arguments say, and the files that a command takes."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from aioc_opa.cli.main import app
from tests.approvals.treasury import write_policy
from tests.audit.logs import KEY, event, trail, written
from tests.cli.approvals_office import Office
from tests.cli.approvals_service import SERVICE

POLICY = """package cases

import future.keywords.not

echoes := {"proposalHash": input.proposalHash, "requestId": input.requestId, "kind": input.kind}

terms := {
	"requirements": [{"code": "large", "approverRoles": ["manager", "owner"], "quorum": 2}],
	"separationOfDuties": true,
	"ttlSeconds": 600,
}

default top := "-"

top := data.limits.top

verdict := object.get(input.parsedArguments, "verdict", "")

decision := answer if {
	verdict == "allow"
	answer := object.union(echoes, {"decision": "allow", "reason": "allowed", "reasons": []})
}

decision := answer if {
	verdict == "deny"
	said := {"publicReason": input.parsedArguments.say}
	body := {"decision": "deny", "reason": "too_large", "reasons": ["odd", "too_large"]}
	answer := object.union(object.union(echoes, said), body)
}

decision := answer if {
	verdict == "hold"
	body := {"decision": "approval_required", "reason": "large", "reasons": ["large"], "approval": terms}
	answer := object.union(echoes, body)
}

decision := answer if {
	input.toolName == "aioc_opa_probe"
	answer := object.union(echoes, {"decision": "deny", "reason": "no_rule_allows", "reasons": []})
}

decision := answer if {
	verdict == "malformed"
	answer := {"decision": "allow"}
}

decision := answer if {
	verdict == "show"
	principal := object.get(input, "principal", {"identity": "-"})
	version := object.get(input, "toolVersion", "-")
	said := {"publicReason": concat("|", [input.decodeAssurance, version, principal.identity, top])}
	body := {"decision": "deny", "reason": "seen", "reasons": ["seen"]}
	answer := object.union(object.union(echoes, said), body)
}
"""

TOOLS = [
    {
        "name": "pay",
        "description": "Pay.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "verdict": {"type": "string"},
                "say": {"type": "string", "default": "Too large."},
                "amount": {"type": "integer"},
            },
            "required": ["verdict"],
        },
    }
]


def call(verdict: str = "allow", **others: Any) -> dict[str, Any]:
    made = {"agentName": "agent", "toolName": "pay", "rawArguments": json.dumps({"verdict": verdict})}
    return {name: value for name, value in {**made, **others}.items() if value is not None}


@dataclass(frozen=True)
class Files:
    """A folder with what a command takes."""

    folder: Path

    @property
    def tools(self) -> str:
        return str(self.folder / "tools.json")

    @property
    def policy(self) -> str:
        return str(self.folder / "policy")

    def write(self, name: str, content: Any) -> str:
        path = self.folder / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return str(path)

    def lines(self, name: str, contents: list[Any]) -> str:
        return self.write(name, "".join(json.dumps(content) + "\n" for content in contents))


@pytest.fixture
def files(tmp_path: Path) -> Files:
    made = Files(tmp_path)
    made.write("tools.json", TOOLS)
    (tmp_path / "policy" / "cases").mkdir(parents=True)
    (tmp_path / "policy" / "cases" / "cases.rego").write_text(POLICY)
    return made


@pytest.fixture(scope="session")
def opa(opa_binary: Path) -> Iterator[str]:
    """``unix:/path`` of a running OPA with `POLICY`."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "cases.rego").write_text(POLICY)
        socket = folder / "s"
        process = subprocess.Popen(
            [opa_binary, "run", "--server", f"--addr=unix://{socket}", "--log-level=error", "--skip-version-check",
             str(folder / "cases.rego")]
        )  # fmt: skip
        try:
            until = time.monotonic() + 30
            while not socket.exists():
                if process.poll() is not None or time.monotonic() > until:
                    pytest.fail("opa did not start", pytrace=False)
                time.sleep(0.02)
            yield f"unix:{socket}"
        finally:
            process.terminate()
            process.wait(10)


@pytest.fixture(autouse=True)
def _named_opa(monkeypatch: pytest.MonkeyPatch, opa_binary: Path) -> None:
    monkeypatch.setenv("AIOC_OPA_BIN", str(opa_binary))


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    status: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        (line,) = self.out.splitlines()
        found = json.loads(line)
        assert isinstance(found, dict)
        return found


Command = Callable[..., Ran]


@pytest.fixture
def aioc() -> Command:
    """Run a command in process. An exception that leaves the application fails the test."""

    def run(*arguments: str, stdin: str | bytes | None = None) -> Ran:
        result = CliRunner().invoke(app, list(arguments), input=stdin, catch_exceptions=False, prog_name="aioc-opa")
        return Ran(result.exit_code, result.stdout, result.stderr)

    return run


@pytest.fixture
def decide(aioc: Command, files: Files, opa: str) -> Command:
    """``authorize --json`` of one call against the running OPA."""

    def run(document: Any, *arguments: str) -> Ran:
        path = files.write("call.json", document)
        return aioc(
            "authorize", path, "--tools", files.tools, "--opa", opa, "--path", "cases/decision", "--json", *arguments
        )

    return run


@pytest.fixture
def rego(repository: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(repository / "rego", tmp_path / "rego"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A log of two writers, and its keys, in the current folder."""
    monkeypatch.chdir(tmp_path)
    KEY.save("writer.key")
    KEY.save_public("writer.json")
    written(tmp_path / "log", "one", count=6)
    with trail(tmp_path / "log", "two", mode="best_effort") as opened:
        opened.record(
            event(
                50,
                identity="\x1b[31m\u202ekim",
                tool_name="sha256:" + "0" * 64,
                decision="allow",
                reason="allowed",
                reasons=(),
            )
        )
        opened.record(
            event(51, identity="=cmd()", kind="execution_failed", tenant="other", approval_id="apr_" + "a" * 32)
        )
    return tmp_path


@pytest.fixture(scope="session")
def service_policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The treasury's policy."""
    return write_policy(tmp_path_factory.mktemp("treasury") / "policy")


@pytest.fixture
def service_office(
    tmp_path: Path, aioc: Command, service_policy: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Office]:
    """An office whose folder has an application, for `approvals resume --app service:…`."""
    made = Office(tmp_path, str(tmp_path / "approvals.db"), aioc)
    made.set_up("treasurer")
    (tmp_path / "policy").symlink_to(service_policy)
    (tmp_path / "service.py").write_text(SERVICE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    yield made
    service = sys.modules.pop("service", None)
    if service is not None:
        service.broker.store.close()
        service.engine.close()
