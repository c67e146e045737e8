/** Lists of words with a bar and a figure each. */

import { el, percent, token } from "./dom.js";
import { largest } from "./attention.js";
import { peakOf } from "./strip.js";

const MOST = 12; // words in a list

/** Words with probabilities. @param {[string, number][]} top @param {string} [written] */
export function wordBars(top, written) {
  return el(
    "ol",
    { class: "bars" },
    top.map(([name, share]) => bar(token(name), share, percent(share), name === written)),
  );
}

/** Words by their values, largest first; bars are as long as the largest allows. */
export function bars(part, values, n, column, words) {
  const order = largest(values.subarray(0, n), MOST);
  const reach = peakOf(order.map((j) => values[j]));
  const lines = order.map((j) =>
    bar(token(part.columnTokens[j]), values[j] / (reach || 1), words(values[j]), j === column),
  );
  return [
    el("ol", { class: "bars" }, lines),
    n > order.length && el("p", { class: "quiet small" }, `and ${n - order.length} more`),
  ];
}

/** @param {import("./dom.js").Child} name @param {number} share of the full length */
export function bar(name, share, words, isChosen) {
  return el(
    "li",
    { class: isChosen ? "bar chosen" : "bar" },
    name,
    el(
      "span",
      { class: "meter" },
      el("i", {
        class: share < 0 ? "below" : null,
        style: { width: `${100 * Math.min(1, Math.abs(share))}%` },
      }),
    ),
    el("span", { class: "number" }, words),
  );
}
