"""The style sheet that every page carries inside it: light, dark and paper.

Python strings rather than a file beside it, so that no packaging can lose it. Pictures that stand
alone carry the colours and the rules of charts only.
"""

COLOURS = """\
/* Colours are chosen for a contrast of at least 4.5 to 1 between text and ground, in both
   schemes. */
:root {
  --ground: #f7f6f3; --card: #ffffff; --ink: #1d2024; --muted: #5c636c; --rule: #e2dfd8;
  --faint: #f0eee9; --heat: #1b5a96; --good: #1f7344; --bad: #b3321f; --series-0: #1b5a96;
  --series-1: #b4531a; --series-2: #2c7a4b; --series-3: #7a4a9c;
  --series-4: #7d6608; --series-5: #b02a6b;
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Helvetica Neue", Arial,
    "Noto Sans CJK SC", "PingFang SC", "Microsoft YaHei", sans-serif;
  --mono: ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "Liberation Mono",
    monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #131518; --card: #1b1e22; --ink: #e7e5e1; --muted: #a2a8b0; --rule: #33373d;
    --faint: #23272c; --heat: #6fb1f0; --good: #74c794; --bad: #f08c78; --series-0: #79b4ef;
    --series-1: #eb9e6c; --series-2: #7fca9b; --series-3: #c3a0e4;
    --series-4: #d4b954; --series-5: #f08fbd;
  }
}
"""

CHART = """\
.chart text { fill: var(--muted); font: 12px var(--sans); font-variant-numeric: tabular-nums; }
.chart .grid { stroke: var(--rule); stroke-width: 1; }
.chart .base { stroke: var(--muted); stroke-width: 1; }
.line { fill: none; stroke-width: 1.9; stroke-linejoin: round; stroke-linecap: round; }
.s0 { stroke: var(--series-0); }
.s1 { stroke: var(--series-1); stroke-dasharray: 6 4; }
.s2 { stroke: var(--series-2); stroke-dasharray: 2 4; }
.s3 { stroke: var(--series-3); stroke-dasharray: 9 3 2 3; }
.s4 { stroke: var(--series-4); stroke-dasharray: 14 4; }
.s5 { stroke: var(--series-5); stroke-dasharray: 9 3 2 3 2 3; }
.dot { stroke: none; }
.dot.s0 { fill: var(--series-0); }
.dot.s1 { fill: var(--series-1); }
.dot.s2 { fill: var(--series-2); }
.dot.s3 { fill: var(--series-3); }
.dot.s4 { fill: var(--series-4); }
.dot.s5 { fill: var(--series-5); }
.hit { fill: transparent; stroke: none; }
.hit:hover { fill: var(--ink); fill-opacity: 0.25; }
"""

STYLE = (
    COLOURS
    + """\
* { box-sizing: border-box; }
body {
  margin: 0 auto; max-width: 72rem; padding: 3rem 1.5rem 4rem; background: var(--ground);
  color: var(--ink); font: 400 1rem/1.55 var(--sans); font-variant-numeric: tabular-nums;
  -webkit-text-size-adjust: 100%;
}
h1 { margin: 0; font-size: 2rem; line-height: 1.2; font-weight: 650; letter-spacing: -0.015em; }
h2 { margin: 0 0 1rem; font-size: 1.2rem; font-weight: 650; letter-spacing: -0.005em; }
h3 { margin: 1.5rem 0 0.6rem; font-size: 0.95rem; font-weight: 600; color: var(--muted); }
h2 + h3, h3:first-child { margin-top: 0; }
p { margin: 0 0 0.75rem; max-width: 44rem; }
.subtitle { margin: 0.5rem 0 0; color: var(--muted); font-size: 1.05rem; }
section { margin-top: 2.75rem; }
.quiet { color: var(--muted); }
.card {
  background: var(--card); border: 1px solid var(--rule); border-radius: 10px;
  padding: 1.1rem 1.25rem;
}

.facts {
  display: grid; grid-template-columns: repeat(auto-fill, minmax(8.5rem, 1fr));
  gap: 1.1rem 1.5rem; margin: 0;
}
.facts dt { color: var(--muted); font-size: 0.8rem; }
.facts dd { margin: 0.1rem 0 0; font-weight: 550; overflow-wrap: anywhere; }
.facts + .facts { margin-top: 1.1rem; padding-top: 1.1rem; border-top: 1px solid var(--rule); }

.scores {
  display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 17rem), 1fr));
  gap: 1rem;
}
.score .name { font-weight: 600; }
.score .value {
  font-size: 2.5rem; line-height: 1.15; font-weight: 650; letter-spacing: -0.02em;
}
.score .interval { color: var(--muted); font-size: 0.9rem; }
.signature {
  margin-top: 0.7rem; padding-top: 0.6rem; border-top: 1px solid var(--rule);
  color: var(--muted); font: 0.72rem/1.5 var(--mono); overflow-wrap: anywhere;
}

.charts {
  display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 27rem), 1fr));
  gap: 1rem;
}
figure { margin: 0; }
figcaption {
  display: flex; flex-wrap: wrap; align-items: baseline; gap: 0.2rem 1.1rem;
  margin-bottom: 0.6rem;
}
figcaption strong { font-weight: 600; margin-inline-end: auto; }
.key { color: var(--muted); font-size: 0.85rem; white-space: nowrap; }
.key b { color: var(--ink); font-weight: 600; }
.key svg { width: 1.5rem; height: 0.6rem; margin-inline-end: 0.35rem; }
.chart { display: block; width: 100%; max-width: 46rem; height: auto; overflow: visible; }
"""
    + CHART
    + """
.scroll { overflow-x: auto; }
table { border-collapse: collapse; }
.rows { width: 100%; font-size: 0.95rem; }
.rows th {
  padding: 0.55rem 0.9rem; text-align: start; font-size: 0.8rem; font-weight: 550;
  color: var(--muted); border-bottom: 1px solid var(--rule); white-space: nowrap;
}
.rows td {
  padding: 0.5rem 0.9rem; border-bottom: 1px solid var(--rule); vertical-align: top;
  text-align: start; min-width: 7rem; overflow-wrap: anywhere; white-space: pre-wrap;
}
.rows tr:last-child td { border-bottom: 0; }
.rows th.number, .rows td.number { min-width: 0; text-align: right; white-space: nowrap; }
.table-card { padding: 0.25rem 0.35rem; }
.good { color: var(--good); }
.bad { color: var(--bad); }
.mark { font-weight: 700; white-space: nowrap; }
.meter {
  display: inline-block; width: 3.5rem; height: 0.4rem; margin-inline-end: 0.6rem;
  border-radius: 1rem; background: var(--rule); overflow: hidden; vertical-align: 0.1em;
}
.percent { display: inline-block; min-width: 3.4em; }
.meter i { display: block; height: 100%; background: var(--series-0); }
.history + .history { margin-top: 1.5rem; }
.history h3 { color: var(--ink); }
.history .number { width: 6rem; }
.expected td { color: var(--muted); }

.pictures { display: flex; flex-wrap: wrap; align-items: flex-start; gap: 1rem; }
.pictures > * { max-width: 100%; }
.heat {
  border-collapse: separate; border-spacing: 1px; direction: ltr;
  font-size: max(9px, calc(var(--cell) * 0.52));
}
.heat th {
  font-weight: 450; color: var(--ink); white-space: nowrap; padding: 0;
  line-height: var(--cell);
}
.heat tbody th {
  text-align: right; padding-right: 0.5em; max-width: 18em; overflow: hidden;
  text-overflow: ellipsis;
}
.heat thead th {
  vertical-align: bottom; width: var(--cell); min-width: var(--cell); padding-bottom: 0.35em;
}
/* Sideways, bottom to top, every script alike: without text-orientation CJK would stand on
   its head. */
.heat thead span {
  writing-mode: vertical-rl; text-orientation: sideways; transform: rotate(180deg);
  line-height: var(--cell); max-height: 18em; overflow: hidden; text-overflow: ellipsis;
}
.heat thead span.letter { writing-mode: horizontal-tb; transform: none; }
.heat td {
  width: var(--cell); min-width: var(--cell); height: var(--cell);
  padding: 0; background: var(--faint); border-radius: 2px;
}
.heat thead td { background: none; }
.heat td i {
  display: block; width: 100%; height: var(--cell); background: var(--heat); border-radius: 2px;
}
.heat td:hover { outline: 2px solid var(--ink); }
.heat td.odd {
  background: repeating-linear-gradient(45deg, var(--bad) 0 2px, transparent 2px 5px);
}
.scale {
  display: inline-block; width: 6rem; height: 0.6rem; margin: 0 0.5rem; border-radius: 2px;
  background: linear-gradient(to right, var(--faint), var(--heat));
}

.notes ul { margin: 0 0 0.5rem; padding-inline-start: 1.2rem; max-width: 52rem; }
.notes li { margin: 0.2rem 0; }
.notes li::marker { color: var(--muted); }
.commands { display: grid; gap: 0.9rem; margin: 0; }
.commands dt code {
  display: block; padding: 0.55rem 0.8rem; background: var(--faint); border-radius: 6px;
  font: 0.88rem/1.5 var(--mono); white-space: pre-wrap; overflow-wrap: anywhere;
}
.commands dd { margin: 0.25rem 0 0; color: var(--muted); font-size: 0.9rem; }

@media (max-width: 40rem) { body { padding: 1.75rem 1rem 3rem; } h1 { font-size: 1.6rem; } }
@media print {
  :root {
    --ground: #ffffff; --card: #ffffff; --ink: #000000; --muted: #444444; --rule: #cccccc;
    --faint: #f2f2f2; --heat: #1b5a96; --good: #1f7344; --bad: #b3321f; --series-0: #1b5a96;
    --series-1: #b4531a; --series-2: #2c7a4b; --series-3: #7a4a9c;
    --series-4: #7d6608; --series-5: #b02a6b;
  }
  body { max-width: none; padding: 0; font-size: 10pt; }
  section { margin-top: 1.5rem; }
  h2, h3 { break-after: avoid; }
  figure, .score, tr, .commands > div { break-inside: avoid; }
  .charts { grid-template-columns: 1fr 1fr; }
  .scroll { overflow: visible; }
  .heat td, .heat td i, .meter, .meter i, .scale {
    print-color-adjust: exact; -webkit-print-color-adjust: exact;
  }
}
"""
)
