/** How the model learned: curves of the log and what it answered on the way; live it follows. */

import { el, empty, figure, replace, sentence, short } from "./dom.js";
import { lineChart } from "./chart.js";

const AGAIN = 5000; // milliseconds between two looks at a run that may be in progress
const PLAIN = new Set([
  "step",
  "epoch",
  "minutes",
  "loss",
  "valid_loss",
  "lr",
  "tokens_per_second",
  "norm",
]);
const NAMES = {
  exact: "Exact match",
  bleu: "BLEU",
  chrf: "chrF",
  ter: "TER",
  accuracy: "Accuracy",
  macro_f1: "Macro F1",
};

/** @param {HTMLElement} host @param {import("./main.js").App} app */
export function trainingView(host, app) {
  const charts = el("div", { class: "halves" });
  const samples = el("div");
  const when = el("span", { class: "key" });
  const table = el("div");
  const slider = el("input", {
    type: "range",
    min: 0,
    "aria-label": "moment of the training",
    on: { input: () => app.store.set({ sample: Number(slider.value) }) },
  });
  let moments = [];
  let rows = null;
  let timer = 0;
  let number = 0; // of the newest look

  function draw(next) {
    rows = next;
    if (!rows?.length) {
      replace(host, empty("There is no training log."));
      return;
    }
    if (!charts.isConnected) replace(host, charts, samples);
    replace(charts, curves(rows));
    makeSamples();
  }

  /** The slider stays the same element, or it could not be dragged. */
  function makeSamples() {
    moments = rows.filter((row) => row.samples?.length);
    slider.max = String(moments.length - 1);
    if (!moments.length) return replace(samples);
    if (slider.isConnected) return drawSamples();
    replace(
      samples,
      el(
        "section",
        { class: "card" },
        el("h3", {}, "Answers over time"),
        el("div", { class: "controls" }, slider, when),
        el("div", { class: "scroll" }, table),
      ),
    );
    drawSamples();
  }

  function drawSamples() {
    const { sample } = app.store.values;
    const at = sample < 0 || sample >= moments.length ? moments.length - 1 : sample;
    const { step, minutes } = moments[at];
    slider.value = String(at);
    const time = Number.isFinite(minutes) ? `, ${figure(minutes, 1)} min` : "";
    replace(when, `step ${short(step)}${time}`);
    replace(table, sampleTable(moments[at].samples));
  }

  function update(changed) {
    const given = app.inspection.raw.training?.rows;
    if (!changed && (given || !app.live)) draw(given ?? []);
    else if (changed?.has("sample") && moments.length) drawSamples();
    if (changed?.has("model")) clearTimeout(timer);
    if (app.live && (!timer || changed?.has("model"))) follow();
  }

  async function follow() {
    timer = setTimeout(follow, AGAIN);
    const mine = ++number;
    const next = await app.live.training();
    const isNew = next?.length !== rows?.length || next?.at(-1)?.step !== rows?.at(-1)?.step;
    if (next && mine === number && isNew) draw(next);
  }
  return {
    update,
    refresh() {},
    stop() {
      clearTimeout(timer);
      timer = 0;
      number++;
    },
  };
}

function points(rows, key) {
  const x = rows.some((row) => Number.isFinite(row.minutes) && row.minutes > 0)
    ? "minutes"
    : "step";
  return thin(
    rows
      .filter((row) => Number.isFinite(row[key]) && Number.isFinite(row[x]))
      .map((row) => ({ x: row[x], y: row[key] })),
  );
}

/** At most a few hundred points: of neighbours the lowest and the highest remain. */
function thin(all, most = 600) {
  if (all.length <= most) return all;
  const kept = [];
  for (let b = 0, n = most / 2; b < n; b++) {
    const bucket = all.slice(
      Math.floor((b * all.length) / n),
      Math.floor(((b + 1) * all.length) / n),
    );
    const sorted = [...bucket].sort((p, q) => p.y - q.y);
    kept.push(...[sorted[0], sorted[sorted.length - 1]].sort((p, q) => p.x - q.x));
  }
  return kept;
}

function curves(rows) {
  const metrics = new Set();
  for (const row of rows) {
    if (!("valid_loss" in row)) continue;
    for (const [key, value] of Object.entries(row))
      if (!PLAIN.has(key) && Number.isFinite(value)) metrics.add(key);
  }
  const xName = rows.some((row) => Number.isFinite(row.minutes) && row.minutes > 0)
    ? "minutes of training"
    : "step";
  const wanted = [
    ["Loss", { loss: "training", valid_loss: "validation" }],
    ...[...metrics].map((key) => [
      `${NAMES[key] ?? key} on validation data`,
      { [key]: "validation" },
    ]),
    ["Learning rate", { lr: "learning rate" }],
    ["Speed", { tokens_per_second: "tokens per second" }],
  ];
  return wanted.map(([title, lines]) => {
    const series = Object.entries(lines).map(([key, name]) => ({
      name,
      points: points(rows, key),
    }));
    const present = series.filter((line) => line.points.length);
    return present.length ? lineChart(title, present, xName) : null;
  });
}

/** @param {[string, string, string?][]} samples input, output and what was expected */
function sampleTable(samples) {
  const head = ["Input", "Output", "Expected"].map((name) => el("th", { scope: "col" }, name));
  const lines = samples.map(([source, output, expected]) =>
    el(
      "tr",
      {},
      el("td", {}, sentence(source)),
      el(
        "td",
        { class: expected === undefined ? null : output === expected ? "good" : "bad" },
        sentence(output),
      ),
      el("td", {}, sentence(expected ?? "")),
    ),
  );
  return el(
    "table",
    { class: "rows" },
    el("thead", {}, el("tr", {}, head)),
    el("tbody", {}, lines),
  );
}
