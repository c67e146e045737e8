/** Attention step by step: selection of word, head and stage. */

import { button, choices, el, inSight, keepFocus, replace, token } from "./dom.js";
import { layerAndHead, noAttention } from "./attention_view.js";
import { focusOf } from "./focus.js";
import { KINDS } from "./inspection.js";
import { pickers } from "./pair_view.js";
import { STAGES } from "./stages.js";

/** @param {HTMLElement} host @param {import("./inspection_page.js").App} app */
export function stepsView(host, app) {
  function draw() {
    const focus = focusOf(app.inspection, app.store.values);
    if (!focus) return replace(host, noAttention(app));
    const { part, row } = focus;
    const at = Math.max(0, Math.min(app.store.values.stage, STAGES.length - 1));
    focus.column = Math.min(focus.column, part.reach(row) - 1);
    replace(
      host,
      el(
        "div",
        { class: "controls" },
        focus.kinds.length > 1 &&
          choices(
            "Attention",
            focus.kinds.map((k) => [k, KINDS[k]]),
            focus.kind,
            (kind) => app.store.set({ kind }),
          ),
        layerAndHead(app, focus, false),
        pickers(app, part, row, focus.column),
      ),
      stageBar(app, at),
      el(
        "section",
        { class: "card stage", "data-stage": at + 1 },
        el(
          "h3",
          {},
          el("span", { class: "count" }, `${at + 1} of ${STAGES.length}`),
          " ",
          STAGES[at][0],
        ),
        STAGES[at][1](app, focus),
      ),
      moves(app, focus, at),
    );
    inSight(host.querySelector(".stages"), host.querySelector(".stages [aria-checked=true]"));
  }
  const update = () => keepFocus(host, draw);
  return { update, refresh: update };
}

function stageBar(app, at) {
  const names = STAGES.map(([name], i) => [
    String(i),
    [el("span", { class: "count" }, i + 1), " ", name],
  ]);
  const bar = choices("Step", names, String(at), (value) =>
    app.store.set({ stage: Number(value) }),
  );
  bar.classList.add("stages");
  return bar;
}

function moves(app, focus, at) {
  const go = (stage) => () => app.store.set({ stage });
  const isLast = at === STAGES.length - 1;
  const next = focus.row + 1;
  return el(
    "div",
    { class: "moves" },
    button("← back", go(at - 1), { disabled: at === 0, "data-keep": "back" }),
    !isLast && button("next →", go(at + 1), { class: "primary", "data-keep": "next" }),
    isLast &&
      next < focus.part.rows &&
      button(
        ["on to ", token(focus.part.rowTokens[next]), " →"],
        () => app.store.set({ row: next, stage: 0 }),
        {
          class: "primary",
          "data-keep": "next",
        },
      ),
  );
}
