"""The HTML report in a real browser: what is on it, what hostile names do (nothing), and what its policy stops."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from aioc_opa.audit.report_html import POLICY
from aioc_opa.cli.main import run
from tests.audit.report.month import BIDI, IMAGE, LONG, SCRIPT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.audit.report.browser import Browser

ROWS = "[...document.querySelectorAll('#{} tbody tr')].map(row => [...row.children].map(cell => cell.textContent))"


@pytest.fixture(scope="module")
def page(browser: Browser, log: Path, keys: Path, tmp_path_factory: pytest.TempPathFactory) -> Browser:
    """The month's report, open."""
    path = tmp_path_factory.mktemp("report") / "july.html"
    assert run(["audit", "report", str(log), "--keys", str(keys), "--out", str(path)]) == 0
    browser.open(path)
    return browser


def test_every_section_of_the_issue_is_on_the_page(page: Browser) -> None:
    titles = page.value("[...document.querySelectorAll('h2')].map(title => title.textContent)")
    assert titles == [
        "At a glance", "Decisions over time", "By tool", "By reason", "Refused by the runtime itself", "By principal",
        "Approvals", "Carried out", "Policy in force", "Verification", "What this log cannot show",
    ]  # fmt: skip
    links = page.value("[...document.querySelectorAll('nav a')].filter(a => document.querySelector(a.hash)).length")
    assert links == len(titles)


def test_the_figures_are_those_of_the_log(page: Browser) -> None:
    tools = {row[0]: row[2:] for row in page.value(ROWS.format("tools"))}
    assert tools[SCRIPT] == ["60", "1", "0", "61"]
    assert tools["other (13 more)"][0].isdigit()
    assert next(iter(tools)) == "search_flights"
    tiles = page.value("[...document.querySelectorAll('.tile strong')].map(tile => tile.textContent)")
    total, allowed, held, denied = (int(tile.replace("\u202f", "")) for tile in tiles[:4])
    assert total == allowed + held + denied
    over_time = page.value(ROWS.format("time"))
    assert len(over_time) == 31
    assert sum(int(row[-1].replace("\u202f", "")) for row in over_time) == total
    assert tiles[-1] == "nothing found"


def test_approvals_say_who_and_how_long(page: Browser) -> None:
    rows = page.value(ROWS.format("approvals"))
    used = next(row for row in rows if row[1].startswith("apr_") and row[5] == "used")
    assert used[2:5] == ["issue_refund", "support-bot", "ann approved"]
    assert used[6] in {"20 s", "4 min", "40 min", "5 h", "2 d"}
    assert any(row[0] == "ann" for row in rows)


def test_each_chart_has_a_name_and_a_table_with_its_numbers(page: Browser) -> None:
    assert page.value("document.querySelectorAll('svg[role=img]').length") > 40
    unnamed = "[...document.querySelectorAll('svg[role=img]')].filter(svg => !svg.getAttribute('aria-label')).length"
    assert page.value(unnamed) == 0
    assert page.value("document.querySelectorAll('.plot g title').length") == 31
    assert page.value("[...document.querySelectorAll('svg')].filter(svg => !svg.closest('section')).length") == 0
    assert page.value("[...document.querySelectorAll('table')].filter(table => !table.caption).length") == 0
    assert page.value("document.documentElement.lang") == "en"


def test_hostile_names_are_text_and_do_nothing(page: Browser) -> None:
    assert page.value("document.title") == "Audit report: tool calls of AI agents"
    assert (
        page.value("document.querySelectorAll('script, img, iframe, object, link, a:not([href^=\"#\"])').length") == 0
    )
    assert (
        page.value("[...document.querySelectorAll('*')].some(e => [...e.attributes].some(a => /^on/.test(a.name)))")
        is False
    )
    names = page.value("[...document.querySelectorAll('bdi')].map(name => name.textContent)")
    assert {SCRIPT, IMAGE, LONG, BIDI.replace("\u202e", "\\u202e")} <= set(names)
    assert "\u202e" not in page.value("document.documentElement.outerHTML")
    assert page.complaints() == []
    assert [url.partition(":")[0] for url in page.requested()] == ["file"]


@pytest.mark.parametrize("width", [1280, 420])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_the_window_and_follows_the_scheme(page: Browser, repository: Path, width: int, scheme: str) -> None:
    page.size(width)
    page.scheme(scheme)
    assert page.value("document.documentElement.scrollWidth") <= width
    paper = page.value("getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(255, 255, 255)") is (scheme == "light")
    drawn = page.value(
        "[...document.querySelectorAll('svg rect')].every(r => r.getBoundingClientRect().width > 0 "
        "|| !r.checkVisibility())"
    )
    assert drawn is True
    # No name runs over the column beside it.
    over = "[...document.querySelectorAll('tbody th')].filter(cell => cell.scrollWidth > cell.clientWidth + 1).length"
    assert page.value(over) == 0
    page.screenshot(repository / "build" / "screenshots" / f"audit-report-{width}-{scheme}.png")


def test_the_pages_policy_stops_scripts_styles_and_requests(browser: Browser, log: Path, tmp_path: Path) -> None:
    made = tmp_path / "made.html"
    run(["audit", "report", str(log), "--out", str(made)])
    injected = (
        "<script>document.title = 'pwned'</script><img src='http://127.0.0.1:9/x.png' onerror='document.title=1'>"
        "<style>h1 { color: rgb(1, 2, 3) }</style><h1 id='marked' style='display: none'>x</h1>"
        "<iframe src='data:text/html,x'></iframe></main>"
    )
    text = made.read_text()
    assert POLICY.startswith("default-src 'none'")
    assert text.count("</main>") == 1
    changed = tmp_path / "changed.html"
    changed.write_text(text.replace("</main>", injected))
    browser.open(changed)
    assert browser.value("document.title") == "Audit report: tool calls of AI agents"
    assert browser.value("getComputedStyle(document.querySelector('h1')).color") != "rgb(1, 2, 3)"
    assert browser.value("getComputedStyle(document.querySelector('#marked')).display") == "block"
    assert browser.value("getComputedStyle(document.querySelector('main')).maxWidth") == "1120px"  # ours is let in
    stopped = " ".join(browser.complaints())
    assert stopped.count("Content Security Policy") >= 4
    assert not any(url.startswith("http") for url in browser.requested() if "127.0.0.1" not in url)
