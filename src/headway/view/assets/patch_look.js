/** Where a patch of a series looks: the weights of each layer and head, for a patch or for all. */

import { KINDS } from "./inspection.js";

const MOST = 26; // strips that are shown at once

/**
 * The patch that is looked from. `row` is null for the mean over all rows; `id` is empty and `span`
 * null for the output as a whole.
 * @typedef {{id: string, kind: string, row: number|null, span: [number, number]|null}} Query
 * @typedef {{id: string, label: string, isLayer: boolean, layer: string, head: string,
 *   weights: () => ArrayLike<number>}} Strip
 */

/** What an id such as `encoder 3` names; all that is shown unless there is such a patch. */
export function queryOf(inspection, id) {
  const { window } = inspection;
  const [kind, text] = id.split(" ");
  const spans = kind === "encoder" ? window.raw.patches : kind === "cross" ? window.raw.written : [];
  const row = Number(text);
  if (spans[row] && inspection.kinds(0).includes(kind)) return { id, kind, row, span: spans[row] };
  return { id: "", kind: inspection.kinds(0)[0], row: window.raw.pooled ?? null, span: null };
}

/** The id of the patch at a step: one that is written if a decoder writes there. */
export function patchAt(inspection, step) {
  const { patches, written } = inspection.window.raw;
  const has = ([first, last]) => first <= step && step <= last;
  const cross = step >= inspection.window.n ? written.findIndex(has) : -1;
  if (cross >= 0 && inspection.kinds(0).includes("cross")) return `cross ${cross}`;
  const read = patches.findIndex(has);
  return read >= 0 && inspection.kinds(0).includes("encoder") ? `encoder ${read}` : "";
}

/** The strips for a query: rollout, then each layer with its heads. @returns {Strip[]} */
export function stripsOf(inspection, query, layer) {
  const parts = inspection.parts(query.kind, 0);
  const n = parts.reduce((sum, part) => sum + part.heads + 1, 0);
  const open = n > MOST ? Math.min(Number(layer) || 0, parts.length - 1) : null;
  const strips = [];
  const rollout = query.kind === "encoder" && parts.length > 1 && inspection.rollout;
  if (rollout)
    strips.push(strip("rollout", "", "all layers", true, () => rowOrMean(rollout, query.row)));
  parts.forEach((part, i) => {
    const row = (head) => () => rowOrMean(inspection.grid(query.kind, 0, i, head), query.row);
    const name = parts.length > 1 || part.heads > 1 ? `layer ${part.layer + 1}` : KINDS[query.kind];
    strips.push(strip(String(i), "mean", name, true, row(part.heads > 1 ? "mean" : 0)));
    if (part.heads === 1 || (open !== null && open !== i)) return;
    for (let head = 0; head < part.heads; head++)
      strips.push(strip(String(i), String(head), `head ${head + 1}`, false, row(head)));
  });
  return strips;
}

function strip(layer, head, label, isLayer, weights) {
  return { id: `${layer} ${head}`, label, isLayer, layer, head, weights };
}

/** @param {import("./grid.js").Grid} grid */
function rowOrMean(grid, row) {
  if (row !== null) return grid.row(row);
  const mean = new Float32Array(grid.columns);
  for (let i = 0; i < grid.rows; i++) {
    const weights = grid.row(i);
    for (let j = 0; j < mean.length; j++) mean[j] += weights[j] / grid.rows;
  }
  return mean;
}
