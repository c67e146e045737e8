/** The selection for the current inspection: missing or impossible values get defaults. */

import { KINDS } from "./inspection.js";

/**
 * @typedef {{output: number, kind: string, kinds: string[], parts: import("./attention.js").Part[],
 *   layer: number|"mean", head: number|"mean", part: import("./attention.js").Part, oneHead: number,
 *   row: number, column: number}} Focus `part` and `oneHead` are real ones even for means.
 */

/** @returns {Focus|null} null if there is no attention */
export function focusOf(inspection, values) {
  const output = inspection.index(values.output);
  const kinds = inspection.kinds(output);
  if (!kinds.length) return null;
  const kind = kinds.includes(values.kind) ? values.kind : kinds[0];
  const parts = inspection.parts(kind, output);
  const layer = among(values.layer, parts.length, parts.length - 1);
  const part = parts[layer === "mean" ? parts.length - 1 : layer];
  const head = part.heads === 1 ? 0 : among(values.head, part.heads, "mean");
  return {
    output,
    kind,
    kinds,
    parts,
    layer,
    part,
    head,
    oneHead: head === "mean" ? 0 : head,
    row: Math.min(values.row, part.rows - 1),
    column: Math.min(values.column, part.columns - 1),
  };
}

function among(text, n, otherwise) {
  if (text === "mean") return n > 1 ? "mean" : 0;
  const index = text === "" ? NaN : Number(text);
  return Number.isInteger(index) && index >= 0 && index < n ? index : otherwise;
}

/** The layers and heads of a focus as text. @param {Focus} focus */
export function inWords({ kind, layer, head, parts, part }) {
  const which = layer === "mean" ? `mean of ${parts.length} layers` : `layer ${part.layer + 1}`;
  const heads = part.heads === 1 ? "" : head === "mean" ? ", mean of heads" : `, head ${head + 1}`;
  return `${KINDS[kind]}, ${which}${heads}`;
}

/** Names of the rows and columns of a type of attention. */
export const AXES = {
  cross: ["word being written", "word of the source"],
  encoder: ["word of the source", "word it looks at"],
  decoder: ["word being written", "word read before it"],
};
