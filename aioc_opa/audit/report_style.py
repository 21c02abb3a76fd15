"""The style sheet of the HTML report. The page's policy lets in nothing else: it names the digest of this text."""

from __future__ import annotations

from typing import Final

STYLE: Final = """
:root { color-scheme: light dark; --paper: #ffffff; --card: #f5f6f8; --ink: #1a1d21; --soft: #5a626c; --line: #d7dbe0;
  --allow: #2471b8; --hold: #e0a100; --deny: #b3234a; --neutral: #68727e; --good: #1c7a43; --warn: #94620a; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #14171b; --card: #1e2228; --ink: #e6e9ed; --soft: #a3acb7; --line: #363c45;
    --allow: #5aa5e8; --hold: #f0b93a; --deny: #ee6b8b; --neutral: #97a1ad; --good: #62c98b; --warn: #e2b25c; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 70rem; margin: 0 auto; padding: 1.5rem 1.25rem 4rem; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .25rem; }
h2 { font-size: 1.2rem; margin: 2.5rem 0 .75rem; padding-top: .75rem; border-top: 1px solid var(--line); }
p { margin: .5rem 0; max-width: 48rem; }
.lead, .note, .tile small, .axis, .legend { color: var(--soft); }
.note, figcaption { font-size: .85rem; }
nav { display: flex; flex-wrap: wrap; gap: .25rem 1rem; margin: 1rem 0 0; font-size: .9rem; }
a { color: var(--allow); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(8.4rem, 1fr)); gap: .6rem; margin: 1rem 0; }
.tile { background: var(--card); border-left: 4px solid var(--neutral); border-radius: 4px; padding: .6rem .8rem;
  display: flex; flex-direction: column; }
.tile.allow { border-color: var(--allow); } .tile.deny { border-color: var(--deny); }
.tile.approval_required { border-color: var(--hold); }
.tile strong { font-size: 1.5rem; line-height: 1.2; font-variant-numeric: tabular-nums; }
.tile span { font-size: .85rem; } .tile small { font-size: .8rem; min-height: 1.2em; }
.notice { border-left: 4px solid var(--neutral); background: var(--card); border-radius: 4px; padding: .6rem .8rem; }
.notice.good { border-color: var(--good); } .notice.warn { border-color: var(--warn); }
.notice.bad { border-color: var(--deny); }
.notice b { margin-right: .4em; } .good b { color: var(--good); } .warn b { color: var(--warn); }
.bad b { color: var(--deny); }
.scroll { overflow-x: auto; margin: .75rem 0; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
caption { text-align: left; font-weight: 600; padding: .25rem 0; }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem .3rem 0; border-bottom: 1px solid var(--line); }
thead th { color: var(--soft); font-weight: 600; font-size: .8rem; vertical-align: bottom; }
tbody th { font-weight: 400; min-width: 7rem; max-width: 24rem; overflow-wrap: anywhere; }
td { overflow-wrap: anywhere; min-width: 6.5rem; max-width: 22rem; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; min-width: 0; }
td.when, th.when { white-space: nowrap; font-variant-numeric: tabular-nums; }
td.bar, th.bar { width: 32%; min-width: 6rem; max-width: none; }
td.bar svg { display: block; width: 100%; height: 1.05rem; margin-top: .15rem;
  background: var(--card); border-radius: 2px; }
code { font: .92em/1.4 ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
svg .allow, .key .allow { fill: var(--allow); } svg .approval_required { fill: var(--hold); }
svg .deny { fill: var(--deny); } svg .neutral { fill: var(--neutral); }
figure { margin: .75rem 0; }
.plot { display: grid; grid-template-columns: auto 1fr; gap: .25rem .5rem; }
.plot svg { width: 100%; height: 14rem; background: var(--card); border-radius: 3px; display: block; }
.plot .grid { stroke: var(--line); stroke-width: 1; vector-effect: non-scaling-stroke; }
.axis { display: flex; justify-content: space-between; font-size: .8rem; font-variant-numeric: tabular-nums; }
.axis.up { flex-direction: column; text-align: right; margin: -.6em 0; } .axis.along { grid-column: 2; }
.legend { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; font-size: .85rem; list-style: none;
  margin: .5rem 0; padding: 0; }
.legend svg { width: .8em; height: .8em; margin-right: .4em; }
details { margin: .5rem 0; } summary { cursor: pointer; }
li { max-width: 48rem; margin: .2rem 0; }
@media (max-width: 40rem) {
  main { padding: 1rem .75rem 3rem; } .plot svg { height: 10rem; } th, td { padding-right: .5rem; }
  .axis.along span.between { display: none; } .tile strong { font-size: 1.25rem; }
  .tiles { grid-template-columns: repeat(2, 1fr); gap: .5rem; } .tile small { min-height: 0; }
  table { font-size: .82rem; } tbody th { min-width: 9.25rem; } td.bar, th.bar { min-width: 3.5rem; width: auto; }
}
@media print { main { max-width: none; } nav { display: none; } tr, figure, .tile { break-inside: avoid; } }
"""
