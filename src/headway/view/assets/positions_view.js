/** The position encodings as a picture, and the similarity of two positions. */

import { choices, el, empty, figure, replace } from "./dom.js";
import { Grid } from "./grid.js";
import { HeatMap } from "./heatmap.js";
import { rowOf, unpack } from "./tensor.js";
import { lineChart } from "./chart.js";

const KINDS = {
  sinusoidal: "Sines and cosines of falling frequency, added to the embedding.",
  learned: "One learned vector for each place, added to the embedding.",
  rotary:
    "Queries and keys are turned by angles that grow with the place; these are the sines and cosines of the angles.",
};

const NONE = {
  none: "Nothing tells this model in which order its words stand.",
  relative:
    "No place has a code of its own: each head adds to its scores what it has learned for the distance of two words.",
};

/** @param {HTMLElement} host @param {import("./inspection_page.js").App} app */
export function positionsView(host, app) {
  const { positions } = app.inspection.raw;
  const table = unpack(
    app.store.values.side === "output" && positions?.target ? positions.target : positions?.table,
  );
  if (!table) {
    replace(
      host,
      empty(
        NONE[positions?.kind] ??
          "This model has no positional encoding: it reads its words one after the other, or not in order.",
      ),
    );
    return { update() {}, refresh() {} };
  }
  const [n, width] = table.shape;
  const codes = new Grid(n, width, (row, out) => out.set(rowOf(table, row)));
  const products = new Grid(n, n, (row, out) => {
    const mine = rowOf(table, row);
    for (let j = 0; j < n; j++)
      out[j] = rowOf(table, j).reduce((sum, x, i) => sum + x * mine[i], 0);
  });
  const places = Array.from({ length: n }, (_, i) => String(i));
  const dimensions = Array.from({ length: width }, (_, i) => String(i));
  const said = [el("p", { class: "readout" }), el("p", { class: "readout" })];
  const curve = el("div");
  const code = new HeatMap({
    label: "positional encoding; arrow keys move from number to number",
    signed: true,
    pointed: (row, column, kept) =>
      tell(
        0,
        `place ${row}, dimension ${column}:`,
        codes.row(row)[column],
        kept && [code, row, column],
      ),
  });
  const dot = new HeatMap({
    label: "dot products of the codes of two places; arrow keys move from pair to pair",
    signed: true,
    pointed(row, column, kept) {
      tell(
        1,
        `place ${row} · place ${column} =`,
        products.row(row)[column],
        kept && [dot, row, column],
      );
      if (kept) app.store.set({ place: row });
    },
  });
  const card = (title, note, map, out) =>
    el(
      "figure",
      { class: "card" },
      el("figcaption", {}, el("strong", {}, title), el("span", { class: "key" }, note)),
      map.node,
      out,
    );
  replace(
    host,
    positions.target &&
      choices(
        "Side",
        [
          ["source", "Source"],
          ["output", "Output"],
        ],
        app.store.values.side,
        (side) => app.store.set({ side }),
      ),
    el(
      "p",
      {},
      KINDS[positions.kind] ?? positions.kind,
      positions.kind !== "learned" && positions.base ? ` Base ${positions.base}.` : "",
    ),
    el(
      "div",
      { class: "halves" },
      card("Codes", `rows: ${n} places · columns: ${width} dimensions`, code, said[0]),
      card("Dot products", diagonal(), dot, said[1]),
    ),
    curve,
  );

  function diagonal() {
    const values = Array.from({ length: n }, (_, i) => products.row(i)[i]);
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const note =
      high - low < 1e-3 * Math.abs(high)
        ? `diagonal ${figure(high, 2)}`
        : `diagonal ${figure(low, 2)} to ${figure(high, 2)}`;
    return positions.kind === "sinusoidal" ? `${note} (d/2 = ${width / 2})` : note;
  }

  function tell(which, words, value, chosen) {
    replace(said[which], words, " ", el("output", {}, figure(value)));
    if (chosen) {
      chosen[0].choose(chosen[1], chosen[2]);
      app.announce(`${words} ${figure(value)}`);
    }
  }

  function update(changed) {
    if (changed?.has("side")) return remount();
    const place = Math.max(0, Math.min(n - 1, app.store.values.place));
    const points = Array.from(products.row(place), (y, x) => ({ x, y }));
    replace(
      curve,
      lineChart(
        `How alike place ${place} is to the others`,
        [{ name: "dot product", points }],
        "place",
      ),
    );
  }
  function remount() {
    const next = positionsView(host, app);
    Object.assign(view, next);
    view.update();
  }
  const view = { update, refresh };
  code.show(codes, places, dimensions);
  dot.show(products, places, places);
  code.pointed(0, 0, false);
  dot.pointed(0, 0, false);
  function refresh() {
    code.refresh();
    dot.refresh();
    update();
  }
  return view;
}
