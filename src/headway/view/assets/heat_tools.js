/** Keyboard control and buttons of a heat map. */

import { button, el } from "./dom.js";

/** The cell that a key moves to. @param {KeyboardEvent} event @returns {[number, number]|null} */
export function moved(event, [row, column], rows, columns) {
  const far = event.ctrlKey ? Infinity : 1;
  const by = {
    ArrowUp: [-far, 0],
    ArrowDown: [far, 0],
    ArrowLeft: [0, -far],
    ArrowRight: [0, far],
    PageUp: [-10, 0],
    PageDown: [10, 0],
    Home: [0, -Infinity],
    End: [0, Infinity],
  }[event.key];
  if (!by) return null;
  const within = (value, n) => Math.max(0, Math.min(n - 1, value));
  return [within(row + by[0], rows), within(column + by[1], columns)];
}

/** The buttons that belong to a heat map, and its scale. @param {import("./heatmap.js").HeatMap} map */
export function heatTools(map, scale) {
  const press = (words, label, action) => button(words, action, { "aria-label": label });
  const bright = el("input", {
    type: "checkbox",
    on: { change: () => map.brighten(bright.checked) },
  });
  return el(
    "div",
    { class: "tools" },
    scale,
    el("label", { class: "check" }, bright, "brighten small"),
    el(
      "span",
      { class: "choices" },
      press("−", "zoom out", () => map.magnify(1 / 1.6)),
      press("fit", "fit the window", () => map.magnify(0)),
      press("+", "zoom in", () => map.magnify(1.6)),
    ),
  );
}
