/**
 * Lines from one chosen word to the words it attends to, heads in colours. Long inputs show
 * a window around the word on one side and only the words that get weight on the other.
 */

import { button, el, figure, isolated, replace, rove, token } from "./dom.js";
import { AXES } from "./focus.js";
import { headColour } from "./paint.js";

const ROW = 26; // px
const MOST = 36; // words on a side
const FEW = 10; // words that are always shown
const SLIGHT = 0.002; // a weight

/** @param {HTMLElement} host @param {import("./inspection_page.js").App} app */
export function linesView(host, app) {
  let focus = null;
  const chips = el("div", { class: "chips", role: "group", "aria-label": "Heads" });
  const left = el("div", { class: "words", role: "listbox", "aria-label": "Word that looks" });
  const right = el("div", { class: "words", role: "list", "aria-label": "Words it looks at" });
  const canvas = el("canvas", { "aria-hidden": "true" });
  const aside = el("aside", { class: "card" });
  const names = [el("span"), el("span")];
  const frame = el("div", { class: "lines" }, left, el("div", { class: "threads" }, canvas), right);
  replace(
    host,
    el(
      "div",
      { class: "beside" },
      el("figure", { class: "card" }, chips, el("div", { class: "sides key" }, names), frame),
      aside,
    ),
  );
  rove(left, "[role=option]", (item) => item.click());
  left.addEventListener("wheel", scroll, { passive: false });
  new ResizeObserver(() => focus && draw()).observe(frame);

  function scroll(event) {
    if (focus.part.rows <= MOST) return;
    event.preventDefault();
    const row = Math.max(0, Math.min(focus.part.rows - 1, focus.row + Math.sign(event.deltaY) * 3));
    app.store.set({ row });
  }

  function update(next) {
    focus = next;
    const had = left.contains(document.activeElement);
    drawChips();
    draw();
    if (had) left.querySelector("[aria-selected=true]")?.focus();
  }

  function drawChips() {
    const shown = shownHeads(app, focus.part);
    const toggle = (head) => {
      const next = shown.includes(head)
        ? shown.filter((h) => h !== head)
        : [...shown, head].sort((a, b) => a - b);
      app.store.set({ heads: next.length === focus.part.heads ? "" : next.join(",") || "none" });
    };
    const had = chips.contains(document.activeElement) ? document.activeElement.dataset.head : null;
    replace(
      chips,
      Array.from({ length: focus.part.heads }, (_, head) =>
        button(String(head + 1), () => toggle(head), {
          class: "chip",
          "aria-pressed": String(shown.includes(head)),
          "aria-label": `head ${head + 1}`,
          "data-head": head,
          style: { "--mine": headColour(head, focus.part.heads) },
        }),
      ),
      button("all", () => app.store.set({ heads: "" }), { class: "chip plain" }),
      button("none", () => app.store.set({ heads: "none" }), { class: "chip plain" }),
    );
    if (had !== null) chips.querySelector(`[data-head="${had}"]`)?.focus();
  }

  function draw() {
    const { part, row } = focus;
    const heads = shownHeads(app, part);
    const weights = heads.map((head) => part.grid(head).row(row));
    const rows = windowAround(row, part.rows);
    const columns = strongest(weights, part.columns);
    replace(names[0], AXES[focus.kind][0]);
    replace(
      names[1],
      columns.length < part.columns ? `${columns.length} of ${part.columns}: ` : "",
      AXES[focus.kind][1],
    );
    replace(
      left,
      rows.map((i) => leftWord(i)),
    );
    replace(
      right,
      columns.map((j) => rightWord(j, heads, weights)),
    );
    drawThreads(rows.indexOf(row), columns, heads, weights);
    const best = columns.reduce(
      (a, b) => (most(weights, b) > most(weights, a) ? b : a),
      columns[0],
    );
    if (heads.length) tell(best, heads, weights);
    else replace(aside, el("p", { class: "quiet" }, "Choose a head."));
  }

  function leftWord(i) {
    const isChosen = i === focus.row;
    return button(token(focus.part.rowTokens[i]), () => app.store.set({ row: i }), {
      role: "option",
      "aria-selected": String(isChosen),
      tabindex: isChosen ? 0 : -1,
      title: `${i + 1}`,
    });
  }

  function rightWord(j, heads, weights) {
    const bars = heads.map((head, k) =>
      el("i", {
        style: {
          opacity: String(weights[k][j] ** 0.6),
          background: headColour(head, focus.part.heads),
        },
      }),
    );
    const point = () => {
      tell(j, heads, weights);
      app.store.set({ column: j });
    };
    return el(
      "div",
      {
        role: "listitem",
        class: "word",
        tabindex: -1,
        on: { pointerenter: () => tell(j, heads, weights), click: point },
      },
      el("span", { class: "boxes" }, bars),
      token(focus.part.columnTokens[j]),
    );
  }

  function tell(j, heads, weights) {
    const [word, other] = [focus.part.rowTokens[focus.row], focus.part.columnTokens[j]];
    const line = (head, k) => {
      const style = {
        width: `${100 * weights[k][j]}%`,
        "--mine": headColour(head, focus.part.heads),
      };
      const meter = el("span", { class: "meter" }, el("i", { style }));
      return el(
        "li",
        { class: "bar" },
        `head ${head + 1}`,
        meter,
        el("span", { class: "number" }, figure(weights[k][j])),
      );
    };
    replace(
      aside,
      el("h3", {}, token(word), " → ", token(other)),
      el("ol", { class: "bars" }, heads.map(line)),
    );
    const words = heads.map((head, k) => `head ${head + 1} ${figure(weights[k][j])}`);
    app.announce(`${isolated(word)} to ${isolated(other)}: ${words.join(", ")}`);
  }

  function drawThreads(from, columns, heads, weights) {
    const box = canvas.parentElement;
    const [width, height] = [box.clientWidth, Math.max(left.children.length, columns.length) * ROW];
    const ratio = devicePixelRatio || 1;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const y0 = (from + 0.5) * ROW;
    heads.forEach((head, k) => {
      context.strokeStyle = headColour(head, focus.part.heads);
      columns.forEach((j, place) => {
        const weight = weights[k][j];
        if (weight < 0.005) return;
        const y =
          (place + 0.5) * ROW + (k - (heads.length - 1) / 2) * Math.min(2, 14 / heads.length);
        context.globalAlpha = Math.min(1, 0.1 + 0.9 * weight);
        context.lineWidth = 0.75 + 3.25 * weight;
        context.beginPath();
        context.moveTo(0, y0);
        context.bezierCurveTo(width / 2, y0, width / 2, y, width, y);
        context.stroke();
      });
    });
  }
  return { update, refresh: () => focus && update(focus) };
}

/** The heads whose lines are drawn; an empty state means all. @returns {number[]} */
function shownHeads(app, part) {
  const text = app.store.values.heads;
  if (text === "") return Array.from({ length: part.heads }, (_, h) => h);
  return text
    .split(",")
    .map(Number)
    .filter((h) => Number.isInteger(h) && h >= 0 && h < part.heads);
}

function windowAround(row, n) {
  const first = Math.max(0, Math.min(row - MOST / 2, n - MOST));
  return Array.from({ length: Math.min(MOST, n) }, (_, i) => first + i);
}

function most(weights, j) {
  return weights.reduce((top, row) => Math.max(top, row[j]), 0);
}

/** In order, the columns that some head gives weight to; of few columns all. @returns {number[]} */
function strongest(weights, n) {
  const all = Array.from({ length: n }, (_, j) => j);
  if (n <= MOST) return all;
  const tops = all.map((j) => most(weights, j));
  const first = all.sort((a, b) => tops[b] - tops[a]).slice(0, MOST);
  return first.filter((j, rank) => rank < FEW || tops[j] >= SLIGHT).sort((a, b) => a - b);
}
