/** Query, key and their product for one pair of words, number by number, and beside other words. */

import { button, el, empty, figure, isolated, replace, select, token } from "./dom.js";
import { largest } from "./attention.js";
import { paintStrip, peakOf, strip } from "./strip.js";

const MOST = 16; // other words that are shown
const LONG = 100; // words in a list to choose from

/** @param {HTMLElement} host @param {import("./inspection_page.js").App} app */
export function pairView(host, app) {
  let focus = null;
  function update(next) {
    focus = next;
    const { part, oneHead: head, row, column } = focus;
    if (!part.isDot) {
      replace(host, noProducts());
      return;
    }
    const had = host.querySelector(".others")?.contains(document.activeElement);
    replace(host, pair(app, part, head, row, column), others(app, part, head, row, column));
    if (had) host.querySelector(".others [aria-pressed=true]")?.focus();
  }
  return { update, refresh: () => focus && update(focus) };
}

/** The view of models without queries and keys. */
export function noProducts() {
  return empty(
    "This model scores words in another way than by the product of a query and a key; its weights are in the map.",
  );
}

/** Drop-down lists of the two words. */
export function pickers(app, part, row, column) {
  const set = (key) => (value) => app.store.set({ [key]: value });
  const reach = part.reach(row);
  return [
    wordPicker("Word", part.rowTokens, part.rows, row, set("row")),
    wordPicker("looks at", part.columnTokens, reach, Math.min(column, reach - 1), set("column")),
  ];
}

/** A list of words, or, if it would be too long, a field for the index of a word. */
function wordPicker(label, tokens, n, chosen, choose) {
  if (n <= LONG) {
    const words = tokens.slice(0, n).map((word, i) => [String(i), `${i + 1}: ${isolated(word)}`]);
    return select(label, words, String(chosen), (value) => choose(Number(value)));
  }
  const number = el("input", {
    type: "number",
    min: 1,
    max: n,
    value: chosen + 1,
    "data-keep": label,
    on: {
      change: () => choose(Math.max(1, Math.min(n, Math.round(Number(number.value)) || 1)) - 1),
    },
  });
  return el("label", { class: "field" }, el("span", {}, label), number, token(tokens[chosen]));
}

function product(query, key) {
  return Float32Array.from(query, (x, i) => x * key[i]);
}

function pair(app, part, head, row, column) {
  const query = part.vector("query", head, row);
  const key = part.vector("key", head, column);
  const parts = product(query, key);
  const sum = parts.reduce((total, x) => total + x, 0);
  const weight = part.grid(head).row(row)[column];
  const hidden = column >= part.reach(row);
  const peak = peakOf(query, key);
  const { announce } = app;
  return el(
    "figure",
    { class: "card" },
    el(
      "figcaption",
      {},
      el("strong", {}, token(part.rowTokens[row]), " → ", token(part.columnTokens[column])),
    ),
    strip("query", query, { peak, announce }),
    strip("key", key, { peak, announce }),
    strip("query × key", parts, { announce }),
    el(
      "p",
      { class: "sum" },
      "sum ",
      el("b", {}, figure(sum)),
      ` × ${figure(part.scale)} = score `,
      el("b", { "data-score": String(sum * part.scale) }, figure(sum * part.scale)),
      hidden ? " , later than the word itself: not looked at" : " → weight ",
      !hidden && el("b", { "data-weight": String(weight) }, figure(weight)),
    ),
  );
}

function others(app, part, head, row, column) {
  const weights = part.grid(head).row(row);
  const query = part.vector("query", head, row);
  const n = part.reach(row);
  const shown = largest(weights.subarray(0, n), MOST);
  const products = shown.map((j) => product(query, part.vector("key", head, j)));
  const peak = peakOf(...products);
  const lines = shown.map((j, i) => {
    const canvas = el("canvas", { width: query.length, height: 1, "aria-hidden": "true" });
    paintStrip(canvas, products[i], peak);
    const score = products[i].reduce((total, x) => total + x, 0) * part.scale;
    return el(
      "tr",
      { class: j === column ? "chosen" : null },
      el(
        "th",
        { scope: "row" },
        button(token(part.columnTokens[j]), () => app.store.set({ column: j }), {
          class: "link",
          "aria-pressed": String(j === column),
        }),
      ),
      el("td", { class: "wide" }, el("span", { class: "strip" }, canvas)),
      el("td", { class: "number" }, figure(score, 3)),
      el("td", { class: "number" }, figure(weights[j])),
    );
  });
  return el(
    "section",
    { class: "card others scroll" },
    el(
      "h3",
      {},
      token(part.rowTokens[row]),
      n > MOST ? ` beside the ${MOST} words it looks at most` : " beside each word",
    ),
    el(
      "table",
      { class: "rows tight" },
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          ["word", "query × key", "score", "weight"].map((name, i) =>
            el("th", { scope: "col", class: i > 1 ? "number" : null }, name),
          ),
        ),
      ),
      el("tbody", {}, lines),
    ),
  );
}
