/** The forecast tab: the chart with its further lines, and where each patch looks. */

import { button, choices, el, empty, figure, keepFocus, replace, sentence } from "./dom.js";
import { largest } from "./attention.js";
import { bar } from "./bars.js";
import { forecastChart, forecastKeys, lineClass, lineKey } from "./forecast_chart.js";
import { patchAt, queryOf, stripsOf } from "./patch_look.js";
import { patchStrips } from "./patch_strips.js";
import { inWords, stretch } from "./time_axis.js";

const NONE = "none";
const LISTED = 8;

/** @param {HTMLElement} host @param {import("./inspection_page.js").App} app */
export function forecastView(host, app) {
  const data = app.inspection.window;
  const { store } = app;
  const pick = (step) => store.set(selection(app.inspection, patchAt(app.inspection, step)));
  const chart = forecastChart(data, { announce: app.announce, picked: pick });
  const switches = el("div", { class: "switches" });
  const zoom = el("div");
  const attention = app.inspection.kinds(0).length ? attentionFigure(app, pick) : null;
  replace(
    host,
    el(
      "figure",
      { class: "card" },
      el(
        "figcaption",
        {},
        el("strong", {}, sentence(data.title), ` · ${data.horizon} steps from ${inWords(data.times[data.n])}`),
        el("span", { class: "keys" }, forecastKeys(data)),
      ),
      chart.parts,
      el("div", { class: "tools" }, switches, zoom),
    ),
    attention?.node ?? empty(noAttention(app.inspection)),
  );

  function update() {
    const shown = shownLines(store, data);
    chart.show({ from: store.values.zoom === "all" ? data.begin : data.recent, lines: shown });
    keepFocus(switches, () => drawSwitches(switches, store, data, shown));
    keepFocus(zoom, () =>
      replace(
        zoom,
        data.recent > data.begin &&
          choices(
            "History",
            [
              ["recent", "recent"],
              ["all", "all it reads"],
            ],
            store.values.zoom,
            (value) => store.set({ zoom: value }),
          ),
      ),
    );
    attention?.update();
  }
  return {
    update,
    refresh() {
      chart.refresh();
      attention?.refresh();
    },
  };
}

function noAttention(inspection) {
  const family = inspection.run.family;
  return `This model has no attention to look at${family ? ` (family ${family})` : ""}.`;
}

/** The ids of the further lines that are shown. */
function shownLines(store, data) {
  const { lines } = store.values;
  if (!lines) return data.usual;
  return lines.split(",").filter((id) => data.lines.some((line) => line.id === id));
}

function drawSwitches(host, store, data, shown) {
  const toggle = (id) => {
    const next = shown.includes(id) ? shown.filter((other) => other !== id) : [...shown, id];
    store.set({ lines: next.join(",") || NONE });
  };
  const one = (line) =>
    button(
      [
        lineKey(`series-line ${lineClass(data, line)}`, line.name),
        line.kind === "held" &&
          el("span", { class: "count" }, `±${data.write(line.effect)}`),
      ],
      () => toggle(line.id),
      {
        class: "switch",
        "aria-pressed": String(shown.includes(line.id)),
        "data-keep": line.id,
        title:
          line.kind === "held"
            ? `the forecast if ${line.name} stood still; the largest difference is ${data.write(line.effect)}`
            : `the forecast of a simple model: ${line.name}`,
      },
    );
  const group = (name, kind) => {
    const lines = data.lines.filter((line) => line.kind === kind);
    return (
      lines.length > 0 &&
      el("div", { class: "switch-group" }, el("span", { class: "key" }, name), lines.map(one))
    );
  };
  replace(host, group("Beside it", "floor"), group("Held still", "held"));
}

/** The keys of the store for a patch, so that the tab Attention has it too. */
function selection(inspection, id) {
  const { kind, row } = queryOf(inspection, id);
  return row === null ? { patch: "" } : { patch: id, kind, row };
}

function attentionFigure(app, pick) {
  const { inspection, store } = app;
  const data = inspection.window;
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
      query.row !== null &&
        button("whole forecast", () => store.set({ patch: "" }), { class: "small-button" }),
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
