/** Draws the curves and the attention maps of a report; its text is in the page already. */

import { el, empty, figure, isolated, replace, token } from "./dom.js";
import { forecastChart, forecastKeys, lineClass, lineKey } from "./forecast_chart.js";
import { Grid } from "./grid.js";
import { heatTools } from "./heat_tools.js";
import { HeatMap } from "./heatmap.js";
import { whenColoursChange } from "./paint.js";
import { SeriesWindow } from "./series_window.js";
import { inWords } from "./time_axis.js";
import { trainingCharts } from "./training_charts.js";

const WIDE = 16; // a map of more columns takes the whole width

const byId = (id) => document.getElementById(id);

/**
 * @param {{title: string, rows: string[], columns: string[], weights: (number|null)[][]}} picture
 *   null is a weight that is not finite
 */
function attentionFigure({ title, rows, columns, weights }) {
  const caption = el("figcaption", {}, el("strong", { dir: "auto" }, title));
  if (!rows.length || !columns.length)
    return { node: el("figure", { class: "card" }, caption, empty("No tokens.")), refresh() {} };
  const grid = new Grid(rows.length, columns.length, (row, out) =>
    out.set(weights[row].map((weight) => weight ?? NaN)),
  );
  const scale = el("span", { class: "key" });
  const readout = el("p", { class: "readout quiet" }, "Point at a cell, or use the arrow keys.");
  const map = new HeatMap({
    label: `${title}; arrow keys move from cell to cell, plus and minus zoom`,
    cell: null,
    pointed(row, column, kept) {
      const weight = grid.row(row)[column];
      const [word, other] = [rows[row], columns[column]];
      replace(
        readout,
        el("span", { class: "pair" }, token(word), " → ", token(other)),
        el("output", { "data-weight": String(weight) }, figure(weight)),
      );
      if (!kept) return;
      map.choose(row, column);
      byId("said").textContent = `${isolated(word)} to ${isolated(other)}: ${figure(weight)}`;
    },
  });
  map.show(grid, rows, columns, () =>
    replace(scale, "0", el("span", { class: "scale" }), figure(grid.peak, 2)),
  );
  const node = el(
    "figure",
    { class: columns.length > WIDE ? "card wide" : "card" },
    caption,
    map.node,
    readout,
    heatTools(map, scale),
  );
  return { node, refresh: () => map.refresh() };
}

/** The last window of the test or validation data. */
function forecastFigure(raw) {
  const shown = new SeriesWindow(raw);
  const announce = (words) => (byId("said").textContent = words);
  const chart = forecastChart(shown, { height: 280, announce });
  const usual = shown.lines.filter(({ id }) => shown.usual.includes(id));
  const node = el(
    "figure",
    { class: "card" },
    el(
      "figcaption",
      {},
      el("strong", { dir: "auto" }, `${shown.title} · ${shown.horizon} steps from ${inWords(shown.times[shown.n])}`),
      el(
        "span",
        { class: "keys" },
        forecastKeys(shown),
        usual.map((line) => lineKey(`series-line ${lineClass(shown, line)}`, line.name)),
      ),
    ),
    chart.parts,
  );
  chart.show({ from: shown.recent, lines: shown.usual });
  return { node, refresh: chart.refresh };
}

const data = JSON.parse(byId("data").textContent);
const figures = data.pictures.map(attentionFigure);
const forecasts = data.forecasts.map(forecastFigure);
if (byId("forecasts"))
  replace(
    byId("forecasts"),
    forecasts.map(({ node }) => node),
  );
if (byId("charts")) replace(byId("charts"), trainingCharts(data.rows, data.metrics));
if (byId("pictures"))
  replace(
    byId("pictures"),
    figures.map(({ node }) => node),
  );
whenColoursChange(() => [...figures, ...forecasts].forEach(({ refresh }) => refresh()));
document.documentElement.dataset.ready = "true";
