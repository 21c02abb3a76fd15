"""The program as a shell sees it: help, no traceback, and no failure that looks like success."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa.cli import main
from aioc_opa.cli.deciding import never_runs
from aioc_opa.cli.exit_status import ExitStatus
from aioc_opa.cli.terminal import cell, json_line, shown, stdout_console
from tests.cli.conftest import Command, Files, call

if TYPE_CHECKING:
    from collections.abc import Iterator

COMMANDS = [
    ["authorize"], ["replay"], ["hash"], ["doctor"], ["schema", "export"], ["schema", "contract"], ["new", "policy"], ["new", "pack"], ["routes"], ["lint"], ["serve"],
    *(["approvals", each] for each in ("list", "show", "approve", "reject", "revoke", "dismiss", "resume", "recover", "purge", "access-log", "keygen")),
    *(["audit", each] for each in ("verify", "tail", "export", "report", "anchor", "keygen")),
    *(["bundle", each] for each in ("build", "sign", "verify", "inspect", "diff")),
]  # fmt: skip
PROGRAM = Path(sys.executable).parent / "aioc-opa"


def program(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=False, timeout=120, **options)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_has_help_with_examples_and_its_exit_statuses(aioc: Command, command: list[str]) -> None:
    found = aioc(*command, "--help")
    assert found.status == 0
    assert "Examples:" in found.out or "Example:" in found.out
    assert "aioc-opa " + " ".join(command) in found.out
    assert "Exit status:" in found.out
    assert aioc(*command, "-h").out == found.out


def test_the_commands_are_these(aioc: Command) -> None:
    listed = aioc("--help").out
    for command in COMMANDS:
        assert f"  {command[0]} " in listed
    for group in ([], ["schema"], ["new"], ["approvals"], ["audit"], ["bundle"]):
        assert aioc(*group).status != 0  # nothing was asked for
        assert "Example" in aioc(*group, "--help").out


def test_version(aioc: Command) -> None:
    assert aioc("--version").out.startswith("aioc-opa 0.")


def test_an_unknown_command_is_wrong_usage(aioc: Command) -> None:
    assert aioc("authorise").status == 2


# -- the last resort


class PanicError(BaseException):
    pass


@pytest.mark.parametrize("error", [RuntimeError("s3cret"), PanicError("s3cret"), MemoryError(), RecursionError()])
def test_what_nobody_expected_is_one_line_and_not_0(
    error: BaseException, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], files: Files
) -> None:
    def fails(*_: object) -> None:
        raise error

    monkeypatch.setattr("aioc_opa.cli.authorize.read_object", fails)
    status = main.run(["authorize", "call.json", "--tools", files.tools, "--policy", files.policy])
    captured = capsys.readouterr()
    assert status == 70
    assert captured.err == (
        f"aioc-opa: internal error ({type(error).__name__}); nothing was decided. Please report it with the command line\n"
    )
    assert captured.out == ""


def test_an_interrupt_is_130(monkeypatch: pytest.MonkeyPatch, files: Files) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("aioc_opa.cli.authorize.read_object", interrupted)
    assert main.run(["authorize", "call.json", "--tools", files.tools, "--policy", files.policy]) == 130


@pytest.mark.parametrize(
    ("stop", "status"), [(SystemExit("text"), 70), (SystemExit(None), 70), (KeyboardInterrupt(), 130)]
)
def test_an_application_that_ends_oddly_is_not_0(
    stop: BaseException, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ends(**_: object) -> None:
        raise stop

    monkeypatch.setattr(main, "app", ends)
    assert main.run([]) == status
    monkeypatch.setattr(main, "app", lambda **_: None)
    assert main.run([]) == 70


def test_main_exits_with_the_status(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(main, "run", lambda: 11)
    with pytest.raises(SystemExit) as caught:
        main.main()
    assert caught.value.code == 11


# -- as a real process


def test_make_run_replays_the_recorded_calls_in_process(repository: Path) -> None:
    """The command of `make run`, with no OPA to be found."""
    airline = "examples/airline"
    environment = {name: value for name, value in os.environ.items() if name != "AIOC_OPA_BIN"}
    found = program(
        "replay", f"{airline}/calls.jsonl", "--tools", f"{airline}/tools.json", "--policy", "rego", "--expect",
        f"{airline}/expected.jsonl", "--engine", "embedded",
        cwd=repository, env={**environment, "PATH": "/nowhere"},
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    assert "as expected: 572 of 572" in found.stdout
    assert len(found.stderr.splitlines()) == 1


def test_a_real_process_decides_from_standard_input(files: Files, opa: str) -> None:
    found = program(
        "authorize", "--tools", files.tools, "--opa", opa, "--path", "cases/decision", "--json",
        input=json.dumps(call("hold")),
    )  # fmt: skip
    assert found.returncode == 11
    assert json.loads(found.stdout)["outcome"] == "approval_required"


@pytest.fixture
def closed_pipe() -> Iterator[int]:
    reading, writing = os.pipe()
    os.close(reading)
    yield writing
    os.close(writing)


@pytest.mark.parametrize("command", ["authorize", "replay", "--help"])
def test_a_reader_that_goes_away_is_neither_success_nor_a_difference(
    command: str, files: Files, opa: str, closed_pipe: int
) -> None:
    path = files.lines("calls.jsonl", [{"id": "a", **call()}])
    options = [] if command == "--help" else [path, "--tools", files.tools, "--opa", opa, "--path", "cases/decision"]
    done = subprocess.run(
        [PROGRAM, command, *options], stdout=closed_pipe, stderr=subprocess.PIPE, text=True, check=False, timeout=60
    )
    assert done.returncode == ExitStatus.OUTPUT == 74
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_a_reader_of_both_outputs_that_goes_away_is_the_same(files: Files, opa: str, closed_pipe: int) -> None:
    path = files.lines("calls.jsonl", [{"id": "a", **call()}])
    command = [PROGRAM, "replay", path, "--tools", files.tools, "--opa", opa, "--path", "cases/decision"]
    assert subprocess.run(command, stdout=closed_pipe, stderr=closed_pipe, check=False, timeout=60).returncode == 74


def test_a_full_disk_below_standard_output_is_said(files: Files, opa: str) -> None:
    command = [PROGRAM, "authorize", files.write("call.json", call()), "--tools", files.tools, "--opa", opa]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=60)
    assert done.returncode == 74
    assert done.stderr.endswith("aioc-opa: the output cannot be written\n")


def test_an_interrupted_process_leaves_no_traceback(files: Files) -> None:
    process = subprocess.Popen(
        [PROGRAM, "authorize", "-", "--tools", files.tools, "--policy", files.policy, "--engine", "embedded"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    wait_channel = Path(f"/proc/{process.pid}/wchan")
    until = time.monotonic() + 30
    while "pipe" not in wait_channel.read_text() and time.monotonic() < until:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode not in (0, None)
    assert "Traceback" not in err


# -- what comes from data cannot act on a terminal


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("plain é 漢 🙂", "plain é 漢 🙂"),
        ("\x00\x07\x1b[2J\x7f\x9b", "\\u0000\\u0007\\u001b[2J\\u007f\\u009b"),
        ("a\nb\rc\td\u2028e\u2029", "a\\u000ab\\u000dc\\u0009d\\u2028e\\u2029"),
        ("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c", "\\u202a\\u202b\\u202c\\u202d\\u202e\\u2066\\u2067\\u2068\\u2069\\u200e\\u200f\\u061c"),
        ("\u200b\u200d\ufeff\u00ad", "\\u200b\\u200d\\ufeff\\u00ad"),
        ("\ud800", "\\ud800"),
        ("\U000e0041", "\\U000e0041"),
        ("[red]x[/red] :bomb:", "[red]x[/red] :bomb:"),
    ],
)  # fmt: skip
def test_shown_escapes_what_a_reader_does_not_see(text: str, seen: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(text) == seen
    stdout_console().print(cell(text))
    assert capsys.readouterr().out.strip() == seen


def test_long_data_is_cut_in_lines_for_people() -> None:
    assert shown("a" * 500) == "a" * 400 + "…"


def test_json_goes_out_in_ascii_without_control_characters() -> None:
    value = {"a": "\x1b\x7f\u202e é \U0001f642"}
    text = json_line(value)
    assert json.loads(text) == value
    assert all(" " <= character < "\x7f" for character in text)


def test_a_tool_of_the_command_line_never_runs() -> None:
    with pytest.raises(RuntimeError, match="does not run tools"):
        never_runs({})


def test_progress_is_shown_where_standard_error_is_a_terminal(
    files: Files, opa: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich takes it for a terminal
    path = files.lines("calls.jsonl", [{"id": "a", **call()}])
    rest = ["--tools", files.tools, "--opa", opa, "--path", "cases/decision"]
    assert main.run(["replay", path, *rest]) == 0
    assert "deciding" in capsys.readouterr().err
