/** The training tab: curves of the log and sample outputs; a live page follows the run. */

import { el, empty, figure, replace, sentence, short } from "./dom.js";
import { trainingCharts } from "./training_charts.js";

const AGAIN = 5000; // milliseconds between two requests for a run that may be in progress

/** @param {HTMLElement} host @param {import("./inspection_page.js").App} app */
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
  let number = 0; // of the newest request

  function draw(next) {
    rows = next;
    if (!rows?.length) {
      replace(host, empty("There is no training log."));
      return;
    }
    if (!charts.isConnected) replace(host, charts, samples);
    replace(charts, trainingCharts(rows));
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

/** @param {[string, string, string?][]} samples input, output and reference */
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
