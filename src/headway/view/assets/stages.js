/**
 * The seven stages of one attention step, each a part of the page made from its own numbers:
 * embedding and position; query, key and value; scores; softmax; weighted sum; its contribution to the
 * residual stream; the predicted word.
 */

import { el, empty, figure, token, visible } from "./dom.js";
import { largest } from "./attention.js";
import { bars, wordBars } from "./bars.js";
import { norm, peakOf, strip } from "./strip.js";
import { rowOf, unpack } from "./tensor.js";

/** Name and picture of each. */
export const STAGES = [
  ["Embed", embed],
  ["Query, key, value", project],
  ["Score", score],
  ["Softmax", weigh],
  ["Weighted sum", sum],
  ["Add", add],
  ["Word", word],
];
/** Embedding, position and their sum for one word. */
function entry(app, part, side, at, output) {
  const inputs = app.inspection.inputs(side, output);
  const embedding = unpack(inputs?.embedding);
  if (!embedding || at >= embedding.shape[0])
    return [empty("The input vectors are not recorded for this model.")];
  const word = rowOf(embedding, at);
  const table = unpack(inputs.position);
  const place = table && at < table.shape[0] ? rowOf(table, at) : null;
  const total = place ? Float32Array.from(word, (x, i) => x + place[i]) : word;
  const peak = peakOf(word, place, total);
  const line = (name, values) =>
    strip(name, values, {
      peak,
      announce: app.announce,
      note: `length ${figure(norm(values), 2)}`,
    });
  return [
    line("embedding", word),
    place && line(`position ${at}`, place),
    place && line("sum", total),
    !place && el("p", { class: "quiet small" }, "Positions are not added to the embedding here."),
  ];
}

function embed(app, { part, row, column, kind, output, layer }) {
  const sides =
    kind === "encoder"
      ? ["source", "source"]
      : kind === "cross"
        ? ["target", "source"]
        : ["target", "target"];
  const read =
    sides[0] === "target" ? [app.inspection.begin, ...part.rowTokens][row] : part.rowTokens[row];
  const depth = part.layer > 0;
  return [
    el("p", {}, "Every word enters as a vector; its place is added to it."),
    el(
      "h4",
      {},
      sides[0] === "target" ? "The word just read, " : "The word that looks, ",
      token(read),
    ),
    entry(app, part, sides[0], row, output),
    el("h4", {}, "The word looked at, ", token(part.columnTokens[column])),
    entry(app, part, sides[1], column, output),
    depth &&
      el(
        "p",
        { class: "quiet small" },
        `Layer ${part.layer + 1} reads what the layers below have made of these vectors.`,
      ),
  ];
}

function project(app, { part, oneHead: head, row, column }) {
  if (!part.isDot) return otherScore();
  const { announce } = app;
  const [query, key, value] = [
    part.vector("query", head, row),
    part.vector("key", head, column),
    part.vector("value", head, column),
  ];
  const peak = peakOf(query, key);
  const length = (values) => `length ${figure(norm(values), 2)}`;
  return [
    el(
      "p",
      {},
      `Head ${head + 1} makes three small vectors: what a word asks, what a word answers to, what a word gives.`,
    ),
    strip("query", query, { peak, announce, note: length(query) }),
    el("p", { class: "quiet small" }, "asked by ", token(part.rowTokens[row])),
    strip("key", key, { peak, announce, note: length(key) }),
    value && strip("value", value, { announce, note: length(value) }),
    el("p", { class: "quiet small" }, "of ", token(part.columnTokens[column])),
  ];
}

function score(app, { part, oneHead: head, row, column }) {
  if (!part.isDot) return otherScore();
  const scores = new Float64Array(part.columns);
  const n = part.compare(head, row, scores);
  return [
    el(
      "p",
      {},
      "The query of ",
      token(part.rowTokens[row]),
      ` against every key: their dot product times ${figure(part.scale)}.`,
    ),
    bars(part, scores, n, column, (x) => figure(x, 3)),
    part.causal &&
      n < part.columns &&
      el(
        "p",
        { class: "quiet small" },
        `The ${part.columns - n} words after it are not looked at.`,
      ),
  ];
}

function weigh(app, { part, oneHead: head, row, column }) {
  const weights = part.grid(head).row(row);
  const total = weights.reduce((a, b) => a + b, 0);
  return [
    el("p", {}, "Exponentials, divided by their sum: weights that add up to one."),
    bars(part, weights, part.reach(row), column, (x) => figure(x)),
    el("p", { class: "quiet small" }, `sum of all ${part.columns} weights: ${figure(total)}`),
  ];
}

function sum(app, { part, oneHead: head, row }) {
  const mixed = part.mix(head, row);
  if (!mixed) return empty("The values are not recorded for this model.");
  const weights = part.grid(head).row(row);
  const first = largest(weights, 5);
  const values = first.map((j) => part.vector("value", head, j));
  const peak = peakOf(mixed, ...values);
  const { announce } = app;
  return [
    el(
      "p",
      {},
      "Each word gives its value, as much as its weight says; the head passes on the sum.",
    ),
    first.map((j, i) =>
      strip(`${figure(weights[j], 3)} × ${visible(part.columnTokens[j])}`, values[i], {
        peak,
        announce,
      }),
    ),
    part.columns > first.length &&
      el("p", { class: "quiet small" }, `and ${part.columns - first.length} more`),
    strip("sum", mixed, { peak, announce, note: `length ${figure(norm(mixed), 2)}` }),
  ];
}

function add(app, { part, oneHead: head, row }) {
  const added = part.added(head, row);
  if (!added) return empty("The output projection is not recorded for this model.");
  const [low, high] = added.reduce(
    ([a, b], x) => [Math.min(a, x), Math.max(b, x)],
    [Infinity, -Infinity],
  );
  return [
    el(
      "p",
      {},
      `The output projection turns the sum of head ${head + 1} into what is added to the residual stream of `,
      token(part.rowTokens[row]),
      ".",
    ),
    strip("added", added, { announce: app.announce, note: `length ${figure(norm(added), 2)}` }),
    el(
      "p",
      { class: "quiet small" },
      `${added.length} numbers from ${figure(low, 3)} to ${figure(high, 3)}`,
    ),
    part.bias && [
      strip("bias", part.bias.data, {
        announce: app.announce,
        note: `length ${figure(norm(part.bias.data), 2)}`,
      }),
      el(
        "p",
        { class: "quiet small" },
        part.heads > 1
          ? `The ${part.heads - 1} other heads add theirs, and the bias is added once.`
          : "The bias is added once.",
      ),
    ],
  ];
}

function word(app, { part, kind, row, output }) {
  if (kind === "encoder") {
    return el(
      "p",
      {},
      "A position of the encoder writes no word itself: what it holds at the top is what the decoder, or the classifier, reads.",
    );
  }
  const chosen = app.inspection.output(output);
  const top = chosen.top?.[row];
  if (!top) return empty("What else the model would have said is not recorded.");
  return [
    el(
      "p",
      {},
      "At the top of the model the stream is compared with every word of the vocabulary.",
    ),
    wordBars(top, chosen.tokens[row]),
    el(
      "p",
      { class: "quiet small" },
      "Written: ",
      token(chosen.tokens[row]),
      ". It is read next, and the seven steps begin again.",
    ),
  ];
}

function otherScore() {
  return empty(
    "This model scores words in another way than by queries and keys; go on to the softmax.",
  );
}
