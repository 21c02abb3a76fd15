"""Tables in the documents say what the code says: commands, reserved reasons, sentences, exit statuses, tests."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

import typer

from aioc_opa.cli.exit_status import ExitStatus
from aioc_opa.cli.main import app
from aioc_opa.core.limits import ARGUMENT_LIMITS, HARD_MAX_DEPTH
from aioc_opa.core.policy_question import MAX_BODY_BYTES
from aioc_opa.core.public_reasons import public_reason
from aioc_opa.core.reasons import ALLOWED, NO_RULE_ALLOWS, Reason
from aioc_opa.engines.opa_server_settings import DEFAULT_MAX_CONNECTIONS, DEFAULT_MAX_RESPONSE_BYTES
from aioc_opa.guard_settings import DEFAULT_DEADLINE_SECONDS
from aioc_opa.permit import MAX_PERMIT_SECONDS
from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

TEST = re.compile(r"`((?:tests|rego)/[\w/]+\.(?:py|rego))::(\w+)`")


def section(document: str, heading: str) -> str:
    text = (ROOT / document).read_text(encoding="utf-8")
    start = re.search(rf"^#+ {re.escape(heading)}$", text, re.MULTILINE)
    assert start is not None, f"{document} has no section {heading!r}"
    rest = text[start.end() :]
    end = re.search(r"^#+ ", rest, re.MULTILINE)
    return rest[: end.start()] if end else rest


def rows(text: str) -> list[list[str]]:
    """Cells of the table in `text`, without its two head lines."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" |")] for line in lines[2:]]


def commands(group: Any, prefix: str) -> Iterator[tuple[str, str]]:
    for command in group.commands.values():
        if hasattr(command, "commands"):
            yield from commands(command, f"{prefix}{command.name} ")
        else:
            yield f"{prefix}{command.name}", command.help.partition("\n")[0].rstrip(".").split(". ")[0]


def test_the_readme_lists_every_command_in_the_words_of_its_help() -> None:
    listed = {cells[0].strip("`"): cells[1].rstrip(".") for cells in rows(section("README.md", "Commands"))}
    assert listed == dict(commands(typer.main.get_command(app), "aioc-opa "))


def test_the_contract_lists_exactly_the_reserved_reasons_and_their_sentences() -> None:
    table = rows(section("docs/contract.md", "Reserved reasons"))
    assert [cells[0].strip("`") for cells in table] == [reason.value for reason in Reason]
    for cells in table:
        assert cells[2] == public_reason(Reason(cells[0].strip("`"))), cells[0]


def test_the_contract_names_the_two_reasons_that_are_no_codes() -> None:
    text = section("docs/contract.md", "Decision")
    assert f"`{ALLOWED}`" in text
    assert f"`{NO_RULE_ALLOWS}`" in text


def test_the_contract_lists_the_limits_as_they_are() -> None:
    listed = {cells[0]: cells[1] for cells in rows(section("docs/contract.md", "Limits"))}
    assert listed == {
        "argument text": f"{ARGUMENT_LIMITS.max_bytes:,} bytes",
        "nesting (`{}` is 1)": f"{ARGUMENT_LIMITS.max_depth}, at most {HARD_MAX_DEPTH}",
        "values and keys": f"{ARGUMENT_LIMITS.max_nodes:,}",
        "question to the engine": f"{MAX_BODY_BYTES:,} bytes",
        "response of OPA": f"{DEFAULT_MAX_RESPONSE_BYTES:,} bytes",
        "connections to OPA": f"{DEFAULT_MAX_CONNECTIONS}",
        "one whole decision": f"{DEFAULT_DEADLINE_SECONDS:g} s",
        "a permit": f"{MAX_PERMIT_SECONDS:g} s",
    }


def test_the_readme_lists_the_exit_statuses() -> None:
    listed = {int(number) for number in re.findall(r"\b(\d+)\b", section("README.md", "Exit statuses"))}
    assert listed == {int(status) for status in ExitStatus}


def test_the_tests_that_the_documents_name_as_proof_exist() -> None:
    named: set[tuple[str, str]] = set()
    for document in (ROOT / "docs").rglob("*.md"):
        named |= set(TEST.findall(document.read_text(encoding="utf-8")))
    assert len(named) > 20
    for file, function in sorted(named):
        text = (ROOT / file).read_text()
        if file.endswith(".rego"):
            assert re.search(rf"^{function} if ", text, re.MULTILINE), f"{file}::{function}"
            continue
        tree = ast.parse(text)
        defined = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
        assert function in defined, f"{file}::{function}"


def test_each_line_of_the_threat_model_has_its_proof() -> None:
    for cells in rows(section("docs/threat-model.md", "Who may lie")):
        assert TEST.search(cells[-1]) or cells[-1].startswith("none:"), cells[:2]


def test_the_two_commands_are_targets_of_the_makefile() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    text = section("README.md", "Two commands")
    assert set(re.findall(r"`make ([a-z]+)`", text)) >= {"run", "test"}
    assert {"run", "test"} <= targets
