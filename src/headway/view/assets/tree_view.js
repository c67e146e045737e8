/** The beam search: candidates step by step, with lines to their parents. */

import { button, el, empty, figure, isolated, percent, replace, token } from "./dom.js";
import { BOX, Tree } from "./tree.js";
import { drawBox, drawLine, font, legend } from "./tree_paint.js";
import { Viewport } from "./viewport.js";

const MOST = 620; // height of the window
const PACE = 700; // milliseconds of a step when it plays
const FATES = { kept: "kept in the beam", ended: "finished, put aside", pruned: "pruned" };

/** @param {HTMLElement} host @param {import("./inspection_page.js").App} app */
export function treeView(host, app) {
  const { trace, search } = app.inspection.raw;
  if (!trace?.steps?.length) {
    replace(
      host,
      empty(
        app.inspection.isEmpty
          ? "Nothing has been searched yet."
          : "No search was recorded: this answer was not made by a beam search.",
      ),
    );
    return { update() {}, refresh() {} };
  }
  const tree = new Tree(trace, app.inspection.begin);
  const last = tree.steps.length - 1;
  let [zoom, size, hovered, timer] = [1, [0, 0], null, 0];
  let path = new Set();
  const details = el("aside", { class: "card" });
  const words = el("span", { class: "key" });
  const slider = el("input", {
    type: "range",
    min: 0,
    max: last,
    "aria-label": "step of the search",
    on: { input: () => go(Number(slider.value)) },
  });
  const play = button("▶ play", toggle, { class: "primary" });
  const pruned = el("input", {
    type: "checkbox",
    on: { change: () => app.store.set({ pruned: pruned.checked }) },
  });
  const view = new Viewport(draw, {
    label:
      "search tree; left and right go to the parent and the best child, up and down within a step",
    description: "search tree",
  });
  replace(
    host,
    el(
      "div",
      { class: "controls" },
      el(
        "span",
        { class: "choices" },
        button("⏮", () => go(0), { "aria-label": "first step" }),
        button("◀", () => go(now() - 1), { "aria-label": "one step back" }),
        play,
        button("▶", () => go(now() + 1), { "aria-label": "one step on" }),
        button("⏭", () => go(last), { "aria-label": "last step" }),
      ),
      slider,
      words,
      el("label", { class: "check" }, pruned, "pruned ones"),
      el(
        "span",
        { class: "choices" },
        button("−", () => magnify(zoom / 1.4), { "aria-label": "zoom out" }),
        button("fit", () => magnify(Math.min(1, view.node.clientWidth / size[0])), {
          "aria-label": "fit the window",
        }),
        button("+", () => magnify(zoom * 1.4), { "aria-label": "zoom in" }),
      ),
    ),
    el(
      "div",
      { class: "beside" },
      el("figure", { class: "card" }, view.node, legend(search)),
      details,
    ),
  );
  listen();

  function now() {
    const { step } = app.store.values;
    return step < 0 || step > last ? last : step;
  }
  function go(step) {
    app.store.set({ step: Math.max(0, Math.min(last, step)) });
  }
  function toggle() {
    if (timer) return pause();
    if (now() === last) go(0);
    timer = setInterval(
      () => (now() === last || !host.isConnected ? pause() : go(now() + 1)),
      PACE,
    );
    replace(play, "⏸ pause");
  }
  function pause() {
    clearInterval(timer);
    timer = 0;
    replace(play, "▶ play");
  }

  function chosen() {
    const [step, index] = app.store.values.node.split(".").map(Number);
    return tree.steps[step]?.[index] ?? null;
  }
  function choose(candidate) {
    if (candidate.step >= 0) app.store.set({ node: `${candidate.step}.${candidate.index}` });
  }

  function update(changed) {
    const output = app.inspection.output(app.store.values.output);
    if (!changed || changed.has("output"))
      path = new Set(tree.path((output && tree.endOf(output)) ?? tree.best()));
    if (!changed || changed.has("pruned")) layout();
    pruned.checked = app.store.values.pruned;
    slider.value = String(now());
    replace(words, `step ${now() + 1} of ${last + 1}`);
    const at = chosen();
    if (app.store.values.step >= 0 && (!changed || changed.has("step")))
      reveal(tree.columns[now()][0]);
    if (at && changed?.has("node")) reveal(at);
    describe(
      at ?? [...path].findLast((c) => c.step <= now()) ?? tree.steps[0][0],
      Boolean(changed?.has("node")),
    );
    view.redraw();
  }

  function layout() {
    const context = view.canvas.getContext("2d");
    context.font = font(13);
    size = tree.layout(app.store.values.pruned, (word) => context.measureText(word).width);
    view.size(size[0] * zoom, size[1] * zoom, MOST);
  }
  function magnify(next) {
    zoom = Math.max(0.05, Math.min(2, next));
    view.size(size[0] * zoom, Math.max(90, size[1] * zoom), MOST);
    view.redraw();
  }
  function reveal(c) {
    if (!c?.width || !view.node.clientWidth) return;
    view.reveal(c.x * zoom - 40, (c.y - BOX) * zoom, (c.width + 120) * zoom, 2 * BOX * zoom);
  }

  function draw(context) {
    context.save();
    context.translate(-view.left, -view.top);
    context.scale(zoom, zoom);
    const [from, to] = [view.left / zoom - 300, (view.left + view.width) / zoom + 300];
    const seen = tree.columns.slice(0, now() + 1).filter(([c]) => c && c.x > from && c.x < to);
    for (const column of seen) for (const c of column) drawLine(context, c, path.has(c), zoom);
    const marked = hovered ?? chosen();
    if (tree.start.x > from) drawBox(context, tree.start, { wins: true, marked: false, zoom });
    for (const column of seen)
      for (const c of column)
        drawBox(context, c, { wins: path.has(c), marked: c === marked, zoom });
    context.restore();
  }

  function describe(c, aloud) {
    const path = tree.path(c);
    const facts = [
      ["Probability of the word", percent(Math.exp(c.tokenLogProb))],
      ["Log probability so far", figure(c.logProb)],
      [`Score (alpha ${tree.alpha})`, figure(c.score)],
      ["Rank in its step", `${c.index + 1} of ${tree.steps[c.step].length}`],
    ];
    replace(
      details,
      el("h3", {}, `Step ${c.step + 1}`),
      el("p", { class: "big" }, token(c.word)),
      el("p", { class: `fate ${c.fate}` }, FATES[c.fate]),
      el(
        "dl",
        { class: "facts narrow" },
        facts.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))),
      ),
      el("p", { class: "quiet small", dir: "auto" }, path.map((p) => [token(p.word), " "]).flat()),
    );
    if (aloud)
      app.announce(
        `${isolated(c.word)}, ${FATES[c.fate]}, ${facts.map((f) => f.join(" ")).join(", ")}`,
      );
  }

  function find(event) {
    const [x, y] = view.at(event).map((v, i) => (v + [view.left, view.top][i]) / zoom);
    const column = tree.columns
      .slice(0, now() + 1)
      .find(([c]) => c && x >= c.x && x <= c.x + c.width);
    return column?.find((c) => Math.abs(c.y - y) <= BOX / 2) ?? null;
  }

  function listen() {
    let drag = null;
    const { node } = view;
    node.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "mouse")
        drag = { x: event.clientX + view.left, y: event.clientY + view.top, far: 0 };
    });
    node.addEventListener("pointermove", (event) => {
      if (drag && event.buttons) {
        drag.far += Math.abs(event.movementX) + Math.abs(event.movementY);
        node.scrollTo(drag.x - event.clientX, drag.y - event.clientY);
        return;
      }
      const c = find(event);
      if (c === hovered) return;
      hovered = c;
      if (c) describe(c, true);
      view.redraw();
    });
    node.addEventListener("pointerleave", () => {
      hovered = drag = null;
      view.redraw();
    });
    node.addEventListener("click", (event) => {
      const c = find(event);
      if (c && !(drag?.far > 6)) choose(c);
      drag = null;
    });
    node.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey) return;
        event.preventDefault();
        magnify(zoom * (event.deltaY < 0 ? 1.15 : 0.87));
      },
      { passive: false },
    );
    node.addEventListener("keydown", keys);
  }

  function keys(event) {
    const at = chosen() ?? [...path][0] ?? tree.steps[0][0];
    const column = tree.columns[at.step];
    const rank = column.indexOf(at);
    const to = {
      ArrowLeft: () => at.parent,
      ArrowRight: () =>
        at.children.find((c) => path.has(c)) ??
        at.children.find((c) => c.fate !== "pruned") ??
        at.children[0],
      ArrowUp: () => column[rank - 1],
      ArrowDown: () => column[rank + 1],
      Home: () => tree.columns[0][0],
      End: () => tree.columns[now()][0],
      "+": () => magnify(zoom * 1.4),
      "-": () => magnify(zoom / 1.4),
      " ": () => toggle(),
    }[event.key];
    if (!to) return;
    event.preventDefault();
    hovered = null;
    const next = to();
    if (!next) return;
    if (next.step > now()) go(next.step);
    choose(next);
  }
  return { update, refresh: () => view.redraw(), stop: pause };
}
