/** Thumbnails of all layers and heads of one type of attention; a click enlarges one. */

import { button, el, replace, rove } from "./dom.js";
import { KINDS } from "./inspection.js";
import { level, ramp } from "./paint.js";
import { inSlices } from "./slices.js";

const SIDE = 96; // pixels of a thumbnail; with more rows and columns a pixel shows the largest weight

/** @param {HTMLElement} host @param {import("./inspection_page.js").App} app */
export function allHeads(host, app) {
  const caption = el("strong");
  const progress = el("progress", { "aria-label": "computing", hidden: true });
  const table = el("div", { class: "thumbs", role: "group", "aria-label": "layers and heads" });
  replace(host, el("figure", { class: "card" }, el("figcaption", {}, caption, progress), table));
  rove(table, "button");
  let parts = null;
  let stop = () => {};
  let canvases = [];

  function update(focus) {
    if (parts === focus.parts) return;
    parts = focus.parts;
    replace(caption, `${KINDS[focus.kind]} attention, ${parts.length} × ${parts[0].heads} heads`);
    canvases = [];
    replace(
      table,
      parts.map((part, layer) => [
        el("span", { class: "key" }, `layer ${part.layer + 1}`),
        el(
          "div",
          { class: "thumb-row", style: { "--heads": part.heads } },
          Array.from({ length: part.heads }, (_, head) => thumb(layer, head)),
        ),
      ]),
    );
    table.querySelector("button").tabIndex = 0;
    refresh();
  }

  function thumb(layer, head) {
    const canvas = el("canvas", { width: 1, height: 1 });
    canvases.push([canvas, parts[layer], head]);
    return button(
      canvas,
      () => app.store.set({ mode: "map", layer: String(layer), head: String(head) }),
      {
        "aria-label": `layer ${parts[layer].layer + 1}, head ${head + 1}`,
        title: `layer ${parts[layer].layer + 1}, head ${head + 1}`,
        class: "thumb",
        tabindex: -1,
      },
    );
  }

  function refresh() {
    stop();
    progress.max = canvases.length;
    progress.value = 0;
    stop = inSlices(pictures(canvases, progress), { after: (done) => (progress.hidden = done) });
  }
  return { update, refresh, stop: () => stop() };
}

function* pictures(canvases, progress) {
  for (const [canvas, part, head] of canvases) {
    yield* picture(canvas, part, head);
    progress.value++;
  }
}

function* picture(canvas, part, head) {
  const [rows, columns] = [Math.min(SIDE, part.rows), Math.min(SIDE, part.columns)];
  const small = new Float32Array(rows * columns);
  const whole = new Float32Array(part.columns);
  let peak = 0;
  for (let i = 0; i < rows; i++) {
    part.compute(head, Math.floor((i * part.rows) / rows), whole);
    for (let j = 0; j < part.columns; j++) {
      const at = i * columns + Math.floor((j * columns) / part.columns);
      if (whole[j] > small[at]) small[at] = whole[j];
      if (whole[j] > peak) peak = whole[j];
    }
    if (i % 8 === 7) yield;
  }
  const image = new ImageData(columns, rows);
  const pixels = new Uint32Array(image.data.buffer);
  for (let at = 0; at < small.length; at++) pixels[at] = ramp(false)[level(small[at], peak, false)];
  canvas.width = columns;
  canvas.height = rows;
  canvas.getContext("2d").putImageData(image, 0, 0);
  yield;
}
