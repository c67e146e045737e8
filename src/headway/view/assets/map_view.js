/** One head, or a mean, as a heat map, beside the words that the chosen word attends to. */

import { el, figure, isolated, replace, token } from "./dom.js";
import { largest } from "./attention.js";
import { bar } from "./bars.js";
import { AXES, inWords } from "./focus.js";
import { heatTools } from "./heat_tools.js";
import { HeatMap } from "./heatmap.js";

/** @param {HTMLElement} host @param {import("./inspection_page.js").App} app */
export function mapView(host, app) {
  let focus = null;
  let grid = null;
  const caption = el("strong");
  const axes = el("span", { class: "key" });
  const scale = el("span", { class: "key" });
  const readout = el("p", { class: "readout" });
  const ranking = el("div");
  const progress = el("progress", { "aria-label": "computing", hidden: true });
  const map = new HeatMap({
    label: "attention weights; arrow keys move from cell to cell, plus and minus zoom",
    pointed(row, column, kept) {
      if (kept) app.store.set({ row, column });
      else tell(row, column);
    },
  });
  replace(
    host,
    el(
      "div",
      { class: "beside" },
      el(
        "figure",
        { class: "card" },
        el("figcaption", {}, caption, axes, progress),
        map.node,
        heatTools(map, scale),
      ),
      el("aside", { class: "card" }, readout, ranking),
    ),
  );

  function tell(row, column) {
    const weight = grid.row(row)[column];
    const [word, other] = [focus.part.rowTokens[row], focus.part.columnTokens[column]];
    replace(
      readout,
      el("span", { class: "pair" }, token(word), " → ", token(other)),
      el("output", { class: "big", "data-weight": String(weight) }, figure(weight)),
    );
    replace(ranking, rank(focus.part, grid.row(row), row, column));
    return `${isolated(word)} to ${isolated(other)}: ${figure(weight)}`;
  }

  function update(next) {
    focus = next;
    const { kind, output, layer, head, part, row, column } = focus;
    const asked = app.inspection.grid(kind, output, layer, head);
    if (asked !== grid) {
      grid = asked;
      replace(caption, inWords(focus));
      replace(axes, `rows: ${AXES[kind][0]} · columns: ${AXES[kind][1]}`);
      map.show(grid, part.rowTokens, part.columnTokens, (done) => {
        progress.hidden = done;
        progress.max = grid.rows;
        progress.value = grid.rows - grid.left;
        replace(scale, "0", el("span", { class: "scale" }), figure(grid.peak, 2));
      });
    }
    map.choose(row, column);
    app.announce(tell(row, column));
  }
  return { update, refresh: () => map.refresh(), stop: () => map.stop() };
}

/** The words with most weight in a row, best first, and the weight of the others. */
function rank(part, weights, row, column) {
  const first = largest(weights, 8);
  const rest = 1 - first.reduce((sum, j) => sum + weights[j], 0);
  const line = (j) =>
    bar(
      token(part.columnTokens[j]),
      weights[j] / weights[first[0]],
      figure(weights[j]),
      j === column,
    );
  const others = part.columns - first.length;
  return [
    el("h3", {}, token(part.rowTokens[row]), " looks at"),
    el("ol", { class: "bars" }, first.map(line)),
    others > 0 &&
      el("p", { class: "quiet small" }, `${others} others together ${figure(Math.max(0, rest))}`),
  ];
}
