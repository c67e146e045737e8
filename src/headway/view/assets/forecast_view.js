/** The forecast tab: the chart with its further lines, and where each patch looks. */

import { button, choices, el, keepFocus, replace, sentence } from "./dom.js";
import { forecastChart, forecastKeys, lineClass, lineKey } from "./forecast_chart.js";
import { attentionFigure, lookFrom, noAttention } from "./patch_figure.js";
import { inWords } from "./time_axis.js";

const NONE = "none";

/** @param {HTMLElement} host @param {import("./inspection_page.js").App} app */
export function forecastView(host, app) {
  const data = app.inspection.window;
  const { store } = app;
  const pick = lookFrom(app);
  const chart = forecastChart(data, { announce: app.announce, picked: pick });
  const switches = el("div", { class: "switches" });
  const zoom = el("div");
  const attention = app.inspection.kinds(0).length ? attentionFigure(app, data, pick) : null;
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
    attention?.node ?? noAttention(app.inspection),
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
