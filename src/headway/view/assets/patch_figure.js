/** Where a model looks in a series: strips over the values, and the patches with most weight. */

import { button, el, empty, figure, replace } from "./dom.js";
import { largest } from "./attention.js";
import { bar } from "./bars.js";
import { patchAt, queryOf, stripsOf } from "./patch_look.js";
import { patchStrips } from "./patch_strips.js";
import { inWords, stretch } from "./time_axis.js";

const LISTED = 8;

/** Looks from the patch at a step. @param {import("./inspection_page.js").App} app */
export function lookFrom(app) {
  return (step) => app.store.set(selection(app.inspection, patchAt(app.inspection, step)));
}

/** What takes the place of the strips for a model without attention. */
export function noAttention(inspection) {
  const family = inspection.run.family;
  return empty(`This model has no attention to look at${family ? ` (family ${family})` : ""}.`);
}

/** The keys of the store for a patch, so that the tab Attention has it too. */
function selection(inspection, id) {
  const { kind, row } = queryOf(inspection, id);
  return row === null ? { patch: "" } : { patch: id, kind, row };
}

/**
 * The strips over a column of a series, and a list of the patches with the largest weights.
 * @param {import("./inspection_page.js").App} app
 * @param {import("./series_window.js").SeriesWindow} data
 * @param {(step: number) => void} pick called with a step to look from
 */
export function attentionFigure(app, data, pick) {
  const { inspection, store } = app;
  const about = el("span", { class: "key" });
  const back = el("span");
  const list = el("div");
  const readout = el("p", { class: "readout" });
  const strips = patchStrips(data, {
    pointed: (column) => tell(column),
    picked: pick,
    chosen: (strip) => store.set({ layer: strip.layer, head: strip.head || "mean" }),
  });
  let state = null;
  const node = el(
    "div",
    { class: "beside" },
    el(
      "figure",
      { class: "card" },
      el("figcaption", {}, el("strong", {}, "Where it looks"), about, back),
      strips.node,
      readout,
    ),
    el("aside", { class: "card" }, list),
  );

  function tell(column) {
    if (column === null) {
      const clicks = "Click a layer or head to choose it, a patch of the values to look from there.";
      return replace(readout, el("span", { class: "quiet small" }, clicks));
    }
    const [first, last] = data.raw.patches[column];
    const words = first < 0 ? "class vector" : stretch(data.times[first], data.times[last]);
    const weight = strips.weight(column);
    replace(
      readout,
      el("strong", {}, words),
      el("output", { "data-weight": String(weight) }, figure(weight)),
      first >= 0 && el("span", { class: "key" }, valuesIn(data, first, last)),
    );
    app.announce(`${words}: ${figure(weight)}`);
  }

  function update() {
    const query = queryOf(inspection, store.values.patch);
    const all = stripsOf(inspection, query, store.values.layer);
    const { layer, head } = store.values;
    const wanted = (strip) => strip.layer === layer && (strip.head || "mean") === head;
    const chosen = all.find(wanted) ?? all[0];
    state = { strips: all, chosen, query };
    strips.show(state);
    replace(about, lookingFrom(inspection, query));
    replace(
      back,
      query.id &&
        button(data.horizon ? "whole forecast" : "whole series", () => store.set({ patch: "" }), { class: "small-button" }),
    );
    drawList();
    tell(null);
  }

  function drawList() {
    const weights = Float32Array.from(data.raw.patches, (_, column) => strips.weight(column));
    const first = largest(weights, LISTED).filter((column) => weights[column] > 0);
    const rest = weights.reduce((sum, weight) => sum + weight, 0);
    const others = rest - first.reduce((sum, column) => sum + weights[column], 0);
    replace(
      list,
      el("h3", {}, `${nameOf(state)} looks most at`),
      el(
        "ol",
        { class: "bars patches" },
        first.map((column) => {
          const [begin, end] = data.raw.patches[column];
          const name = begin < 0 ? "class vector" : shortStretch(data, begin, end);
          return bar(el("span", {}, name), weights[column] / weights[first[0]], figure(weights[column], 3));
        }),
      ),
      weights.length > first.length &&
        el("p", { class: "quiet small" }, `${weights.length - first.length} others together ${figure(Math.max(0, others), 3)}`),
    );
  }
  return { node, update, refresh: () => strips.refresh() };
}

function lookingFrom(inspection, { kind, row, span }) {
  const data = inspection.window;
  if (row === null)
    return kind === "cross" ? "from all patches that are written" : "from all patches together";
  if (span === null) return "from the state that gives the output";
  const words = span[0] < 0 ? "the class vector" : stretch(data.times[span[0]], data.times[span[1]]);
  return `from ${words}`;
}

function nameOf({ chosen }) {
  if (chosen.layer === "rollout") return "The whole model";
  const layer = `Layer ${Number(chosen.layer) + 1}`;
  return chosen.isLayer ? layer : `${layer}, head ${Number(chosen.head) + 1}`;
}

/** The beginning of a patch, which is enough in a list. */
function shortStretch(data, first) {
  return inWords(data.times[first]).replace(/ \d{4}/, "");
}

function valuesIn(data, first, last) {
  const values = data.values.slice(first, last + 1).filter((value) => value !== null);
  if (!values.length) return first >= data.n ? "not known yet" : "no values";
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return low === high ? data.write(low) : `${data.write(low)} to ${data.write(high)}`;
}
