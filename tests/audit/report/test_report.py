"""`aioc-opa audit report`: what is counted is what was verified, and what cannot be known is said."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from aioc_opa.audit import report_reading
from aioc_opa.audit.report import page_of
from aioc_opa.audit.report_charts import axis_end
from aioc_opa.audit.report_html import html_text
from aioc_opa.audit.report_markdown import escaped, markdown_text
from aioc_opa.audit.sources import FolderSource
from aioc_opa.audit.sql import SqlSink
from aioc_opa.audit.trail import AuditTrail
from aioc_opa.cli.main import run
from aioc_opa.core.audit_report.collector import Figures
from tests.audit.logs import KEY, anchor_of, event
from tests.audit.report.month import DAY, JULY, MINUTE, SCRIPT, Log, approval

if TYPE_CHECKING:
    from pathlib import Path

Captured = pytest.CaptureFixture[str]


def report(log: Path, *options: str | Path, expect: int = 0) -> None:
    assert run(["audit", "report", str(log), *map(str, options)]) == expect


def markdown(capsys: Captured, log: Path, *options: str | Path, expect: int = 0) -> str:
    report(log, "--format", "markdown", *options, expect=expect)
    return capsys.readouterr().out


def small(folder: Path) -> Path:
    log = Log()
    for number in range(20):
        log.decision(JULY + number * MINUTE, request_id=f"{number:032x}")
    log.checkpoint(JULY + 30 * MINUTE)
    return log.write(folder)


def path_of(folder: Path) -> Path:
    return folder / "api-1.00000001.jsonl"


def test_the_same_log_and_period_give_the_same_page(log: Path, keys: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        report(log, "--keys", keys, "--out", tmp_path / name, "--since", "2026-07-03T00:00:00Z")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600


def test_the_period_holds_what_export_gives_for_it(log: Path, capsys: Captured) -> None:
    period = ("--since", "2026-07-10T00:00:00Z", "--until", "2026-07-11T02:00:00+02:00")
    assert run(["audit", "export", str(log), *period]) == 0
    exported = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    decided = [each for each in exported if each["kind"] == "tool_policy" or each["kind"] == "access"]
    text = markdown(capsys, log, *period)
    assert f"| decisions | {len(decided)} |  |" in text
    assert "from 2026-07-10T00:00:00.000Z to before 2026-07-11T00:00:00.000Z" in text


def test_only_the_tenants_that_are_asked_for_are_counted_and_that_is_said(tmp_path: Path, capsys: Captured) -> None:
    log = Log()
    for tenant in ("acme", "acme", "other", SCRIPT):
        log.decision(JULY, tenant=tenant)
    text = markdown(capsys, log.write(tmp_path), "--tenant", "acme", "--tenant", SCRIPT)
    assert "| decisions | 3 |" in text
    assert "Only events of these tenants: \\<script\\>document.title" in text
    assert "Events of other tenants" in text


def test_a_changed_record_is_found_and_the_page_says_so_above_its_figures(
    tmp_path: Path, keys: Path, capsys: Captured
) -> None:
    folder = small(tmp_path)
    lines = path_of(folder).read_text().splitlines(keepends=True)
    path_of(folder).write_text("".join(lines[:5] + lines[6:]))
    text = markdown(capsys, folder, "--keys", keys, expect=1)
    assert "| verification | 1 found | see below |" in text
    assert "gap" in text
    assert "count what stands there now" in text
    assert "| decisions | 19 |" in text


def test_without_keys_the_page_says_that_nothing_was_verified(tmp_path: Path, capsys: Captured) -> None:
    text = markdown(capsys, small(tmp_path))
    assert "| verification | not done | no public key was given |" in text
    assert "whoever can write the log can have written these figures" in text


def test_lines_that_are_no_records_of_the_writer_are_not_counted(tmp_path: Path, capsys: Captured) -> None:
    folder = small(tmp_path)
    other = Log("api-2")
    other.decision(JULY, tool_name="foreign")
    with path_of(folder).open("a") as file:
        file.write("no record\n" + "".join(f"{line}\n" for line in other.lines) + '{"being":"written')
    report(folder, "--format", "markdown", expect=1)
    out, err = capsys.readouterr()
    assert "Not counted: 3 lines" in out
    assert "foreign" not in out
    assert "something was found" in err


def test_anchors_and_expected_writers_are_part_of_the_verification(
    tmp_path: Path, keys: Path, capsys: Captured
) -> None:
    folder = small(tmp_path / "log")
    note = tmp_path / "note"
    anchor_of(folder, note)
    text = markdown(capsys, folder, "--keys", keys, "--anchor", note, "--anchor-keys", keys)
    assert "| verification | nothing found | against 1 anchor |" in text
    assert "What an anchor knows could not have been changed" in text
    text = markdown(capsys, folder, "--keys", keys, "--expect-writer", "api-9", expect=1)
    assert "missing_writer" in text
    path_of(folder).write_text("".join(path_of(folder).read_text().splitlines(keepends=True)[:9]))
    assert "truncated" in markdown(capsys, folder, "--keys", keys, "--anchor", note, "--anchor-keys", keys, expect=1)


def test_a_database_gives_the_same_figures(tmp_path: Path, keys: Path, capsys: Captured) -> None:
    path = tmp_path / "audit.db"
    with AuditTrail(SqlSink(str(path)), writer="one", key=KEY) as trail:
        for number in range(3):
            trail.record(event(number))
    text = markdown(capsys, path, "--keys", keys)
    assert "| decisions | 3 |" in text
    assert "| issue_refund | 0 | 0 | 3 | 3 |" in text


def test_gaps_of_these_records_are_named(tmp_path: Path, capsys: Captured) -> None:
    log = Log(mode="best_effort")
    log.add(JULY, {"type": "events_dropped", "count": 7})
    log.decision(JULY, "deny", "undeclared", proposal_ref=None, identity=None, run_id=None)
    log.event(JULY + MINUTE, kind="execution_started", execution_id="e", tool_name="pay")
    period = ("--since", "2026-06-01T00:00:00Z", "--until", "2026-08-01T00:00:00Z")
    text = markdown(capsys, log.write(tmp_path), *period)
    for said in (
        "Up to 7 events that the writers say they do not have",
        "1 writer in best-effort mode could not write",
        "The period before 2026-07-01T00:00:00.000Z",
        "The period after 2026-07-01T00:01:00.000Z",
        "no pack declares, and that the log has not copied: 1 decision.",
        "no reference of its hash: 1 decision.",
        "no principal: 1 decision.",
        "The end of 1 execution is not here",
        "It draws no legal conclusion",
    ):
        assert said in text, said


def test_an_empty_period_has_an_honest_page(tmp_path: Path, keys: Path, capsys: Captured) -> None:
    text = markdown(capsys, small(tmp_path), "--keys", keys, "--since", "2027-01-01T00:00:00Z")
    assert "Nothing of this kind is in the records of this period" in text
    assert "No approval is in the records" in text
    assert "No decision of policy is in these records" in text
    assert "| decisions | 0 |" in text


def test_a_torn_end_that_is_not_repaired_is_a_gap(tmp_path: Path, keys: Path, capsys: Captured) -> None:
    folder = small(tmp_path)
    with path_of(folder).open("a") as file:
        file.write('{"at":"2026')
    assert "cut off at the end of a log: 11 bytes" in markdown(capsys, folder, "--keys", keys)


def test_tables_are_bounded_and_say_what_they_leave_out(tmp_path: Path, capsys: Captured) -> None:
    log = Log()
    for number in range(60):
        name = f"name-{number:02d}"
        log.decision(
            JULY + number, "deny", f"code_{number}", tool_name=name, identity=name, engine=name,
            policy_revision=f'{{"b":"{number}"}}', bundle_digest=name,
        )  # fmt: skip
        approval(log, number, JULY + DAY, wait_ms=MINUTE, used=False)
        log.event(
            JULY + 2 * DAY, kind="approval_vote", decision="approved", voters=(name,), approval_id=f"apr_{59:032x}"
        )
        log.event(JULY + 2 * DAY, kind="execution_started", execution_id=name, tool_name=name)
    text = markdown(capsys, log.write(tmp_path), "--top", "3")
    assert text.count("| other (58 more)") >= 3
    assert "The last 30 of 61 by first appearance" in text
    assert "The latest 40 by the time of their request; 20 more are counted above" in text
    assert "and 20 more" in text
    assert "approved and 55 more" in text


def test_names_that_were_let_go_of_are_said_on_the_page(tmp_path: Path) -> None:
    figures = Figures()
    figures.tools._capacity = 4  # type: ignore[misc] - final for everybody else
    figures.approvals._capacity = figures.revisions._capacity = 2  # type: ignore[misc] - likewise
    log = Log()
    for number in range(8):
        log.decision(JULY, tool_name=f"t{number}", approval_id=f"apr_{number:032x}", policy_revision=f"r{number}")
    reading = report_reading.read(FolderSource(log.write(tmp_path)), figures, keys=None, progress=lambda _: None)
    text = markdown_text(page_of(reading))
    assert "numbers of single names are at least these" in text
    assert "other (up to" in text
    assert "one may count as two" in text
    assert "More revisions than a report keeps: 6 decisions" in text


def test_progress_is_told_by_lines(tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_reading, "PROGRESS_LINES", 10)
    report(small(tmp_path), "--format", "markdown")
    out, err = capsys.readouterr()
    assert err.splitlines() == ["aioc-opa: 10 lines read", "aioc-opa: 20 lines read"]
    assert "lines read" not in out


def test_markdown_reads_nothing_out_of_names(tmp_path: Path, capsys: Captured) -> None:
    log = Log()
    for name in ("a|b", "[x](http://evil.example)", "<b>bold</b>", "`code`", "**x**", "@everyone", "a\nb"):
        log.decision(JULY, tool_name=name)
    text = markdown(capsys, log.write(tmp_path))
    for shown in ("a\\|b", "\\[x\\](http\\:", "\\<b\\>bold", "\\`code\\`", "\\*\\*x\\*\\*", "\\@everyone", "a\\\\nb"):
        assert f"| {shown}" in text
    assert "http:" not in text


@pytest.mark.parametrize(
    "name",
    [
        "issue_refund",
        "sha256:ab",
        "2026-07-10T09:00:00.000Z",
        "api-1",
        "v1.2.3",
        "a=b",
        "AT&T",
        "a (b)",
        "1+1",
        "why?!",
        "-",
    ],
)
def test_markdown_leaves_ordinary_texts_as_they_are(name: str) -> None:
    assert escaped(name) == name


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("_x_", "\\_x\\_"), ("a__b", "a\\_\\_b"), ("kim@acme.example", "kim\\@acme.example"), ("mailto:a", "mailto\\:a"),
        ("www.x.y", "www\\.x.y"), ("&lt;", "\\&lt;"), ("==x==", "\\=\\=x\\=\\="), ("++x++", "\\+\\+x\\+\\+"),
        ("#12", "\\#12"), ("# x", "\\# x"), ("- x", "\\- x"), ("{{ x }}", "\\{\\{ x \\}\\}"), (":smile:", "\\:smile:"),
        ("$x$", "\\$x\\$"), ("~~x~~", "\\~\\~x\\~\\~"), ("ftp://x", "ftp\\://x"),
    ],
)  # fmt: skip
def test_markdown_escapes_what_it_would_read(name: str, written: str) -> None:
    assert escaped(name) == written


@pytest.mark.parametrize(
    ("options", "expect", "said"),
    [
        (("--anchor", "x"), 2, "need --keys"),
        (("--expect-writer", "x"), 2, "need --keys"),
        (("--since", "soon"), 2, "--since"),
        (("--since", "2026-07-02T00:00:00Z", "--until", "2026-07-01T00:00:00Z"), 2, "before --until"),
        (("--top", "0"), 2, "--top"),
        (("--keys", "/nowhere"), 3, "/nowhere"),
    ],
)
def test_wrong_usage_is_said(log: Path, capsys: Captured, options: tuple[str, ...], expect: int, said: str) -> None:
    report(log, *options, expect=expect)
    out, err = capsys.readouterr()
    assert (out, said in err) == ("", True)


def test_a_report_is_never_written_over(log: Path, tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "july.html"
    path.write_text("mine")
    report(log, "--out", path, expect=3)
    assert path.read_text() == "mine"
    assert "never written over" in capsys.readouterr().err


def test_html_and_markdown_say_the_same(log: Path) -> None:
    reading = report_reading.read(FolderSource(log), Figures(), keys=None, progress=lambda _: None)
    page = page_of(reading)
    html, text = html_text(page), markdown_text(page)
    for section in page.sections:
        assert f">{section.title}</h2>" in html
        assert f"## {section.title}\n" in text


@pytest.mark.parametrize(("most", "end"), [(1, 1), (3, 4), (7, 8), (9, 10), (11, 20), (41, 50), (999, 1000)])
def test_axes_end_with_a_nice_number(most: int, end: int) -> None:
    assert axis_end(most) == end
