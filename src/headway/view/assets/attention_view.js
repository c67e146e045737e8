/** The attention tab: selection of layer and head, and four views. */

import { choices, el, empty, keepFocus, replace, select } from "./dom.js";
import { focusOf } from "./focus.js";
import { allHeads } from "./all_heads.js";
import { KINDS } from "./inspection.js";
import { linesView } from "./lines_view.js";
import { mapView } from "./map_view.js";
import { pairView, pickers } from "./pair_view.js";

const MODES = {
  map: ["Map", mapView],
  lines: ["Lines", linesView],
  all: ["All heads", allHeads],
  pair: ["Query × key", pairView],
};

/** @param {HTMLElement} host @param {import("./inspection_page.js").App} app */
export function attentionView(host, app) {
  const controls = el("div", { class: "controls" });
  const body = el("div", { class: "stack" });
  replace(host, controls, body);
  let shown = null;
  let view = null;

  function update() {
    const focus = focusOf(app.inspection, app.store.values);
    if (!focus) {
      replace(controls);
      replace(body, noAttention(app));
      view = shown = null;
      return;
    }
    const mode = app.store.values.mode in MODES ? app.store.values.mode : "map";
    keepFocus(controls, () => drawControls(controls, app, focus, mode));
    if (shown !== mode) {
      shown = mode;
      view?.stop?.();
      replace(body);
      view = MODES[mode][1](body, app);
    }
    view.update(focus);
  }
  return { update, refresh: () => view?.refresh(), stop: () => view?.stop?.() };
}

/** The reason why there is nothing to show. */
export function noAttention(app) {
  if (app.inspection.isLeftOut(app.store.values.output)) {
    return empty(
      app.live
        ? "Asking for the attention of this output …"
        : "The attention of this output was left out to keep the file small; choose the best output.",
    );
  }
  const family = app.inspection.run.family;
  return empty(`This model has no attention to look at${family ? ` (family ${family})` : ""}.`);
}

function drawControls(controls, app, focus, mode) {
  const set = (key) => (value) => app.store.set({ [key]: value });
  replace(
    controls,
    choices(
      "Way to look",
      Object.entries(MODES)
        .filter(([id]) => id !== "all" || focus.parts.length * focus.part.heads > 1)
        .map(([id, [name]]) => [id, name]),
      mode,
      set("mode"),
    ),
    focus.kinds.length > 1 &&
      choices(
        "Attention",
        focus.kinds.map((kind) => [kind, KINDS[kind]]),
        focus.kind,
        set("kind"),
      ),
    mode !== "all" && layerAndHead(app, focus, mode === "map", mode !== "lines"),
    mode === "pair" && focus.part.isDot && pickers(app, focus.part, focus.row, focus.column),
  );
}

/** Pickers of layer and head; with `means` also their averages. */
export function layerAndHead(app, focus, means, withHead = true) {
  const { parts, part } = focus;
  const layer = means ? focus.layer : parts.indexOf(part);
  const layers = parts.map((p, i) => [String(i), `layer ${p.layer + 1}`]);
  const heads = Array.from({ length: part.heads }, (_, h) => [String(h), `head ${h + 1}`]);
  if (means && layers.length > 1) layers.push(["mean", "mean of layers"]);
  if (means && heads.length > 1) heads.unshift(["mean", "mean of heads"]);
  const head = means ? focus.head : focus.oneHead;
  return [
    layers.length > 1 &&
      select("Layer", layers, String(layer), (value) => app.store.set({ layer: value })),
    withHead &&
      heads.length > 1 &&
      select("Head", heads, String(head), (value) => app.store.set({ head: value })),
  ];
}
