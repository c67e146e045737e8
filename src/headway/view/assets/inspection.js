/** One inspection for the views: tokens, outputs, attention by type, layer and head. */

import { Part, meanGrid } from "./attention.js";
import { Grid } from "./grid.js";
import { SeriesWindow, wholeSeries } from "./series_window.js";
import { rowOf, unpack } from "./tensor.js";

/** Order and names of the types of attention. */
export const KINDS = { cross: "Cross", encoder: "Encoder", decoder: "Decoder" };

export class Inspection {
  /** @param {Object<string, any>|null} raw from the file or the server */
  constructor(raw) {
    this.raw = raw ?? {};
    this.isEmpty = !raw;
    this.run = this.raw.run ?? {};
    this.source = this.raw.source ?? { text: "", tokens: [] };
    this.outputs = this.raw.outputs ?? [];
    this.begin = this.raw.begin ?? "";
    /** The window of a series, or the first column of a whole one, if that is what was looked at. */
    this.window = this.raw.forecast ? new SeriesWindow(this.raw.forecast) : this.channel(0);
    /** @type {Map<string, Part[]>} */
    this.known = new Map();
    this.means = new Map();
    this.read = new Map();
  }

  /** A column of a series whose label or value was predicted; the first if there is no such. */
  channel(index) {
    const { series } = this.raw;
    return series ? wholeSeries(series, index in series.columns ? index : 0) : null;
  }

  /** The output of an index; the best one if there are fewer. @param {number} index */
  index(index) {
    return Math.max(0, Math.min(index, this.outputs.length - 1));
  }

  output(index) {
    return this.outputs[this.index(index)] ?? null;
  }

  /** Whether the attention of an output was left out of a file to keep it small. */
  isLeftOut(index) {
    const output = this.output(index);
    return Boolean(output) && output.attention === null; // an empty list would say: has none
  }

  /** The types of attention of an output. @returns {string[]} */
  kinds(index) {
    return Object.keys(KINDS).filter((kind) => this.parts(kind, index).length > 0);
  }

  /** Attention modules of a type, lowest layer first. @returns {Part[]} */
  parts(kind, index) {
    index = this.index(index);
    const key = kind === "encoder" ? kind : `${kind} ${index}`;
    if (!this.known.has(key)) this.known.set(key, this.makeParts(kind, this.output(index)));
    return this.known.get(key);
  }

  makeParts(kind, output) {
    const from = [...(this.raw.encoder ?? []), ...(output?.attention ?? [])];
    return from
      .filter((raw) => raw.kind === kind)
      .sort((a, b) => a.layer - b.layer)
      .map((raw) => {
        const shared = this.raw.memory?.[raw.name] ?? {};
        return new Part(raw, shared, this.rowTokens(raw, output), this.columnTokens(raw, output));
      });
  }

  /** The token of each row. */
  rowTokens(raw, output) {
    return raw.rows === "source" ? this.source.tokens : output.tokens;
  }

  /** The input token of each column; on the target side the first is BOS. */
  columnTokens(raw, output) {
    if (raw.columns === "source") return this.source.tokens;
    if (!this.read.has(output)) this.read.set(output, [this.begin, ...output.tokens]);
    return this.read.get(output);
  }

  /**
   * Weights to draw.
   * @param {string} kind
   * @param {number} index of the output
   * @param {number|"mean"} layer index among the parts
   * @param {number|"mean"} head
   */
  grid(kind, index, layer, head) {
    const all = this.parts(kind, index);
    if (layer !== "mean" && head !== "mean") return all[layer].grid(head);
    const key = [kind, kind === "encoder" ? 0 : this.index(index), layer, head].join(" ");
    if (!this.means.has(key)) {
      if (this.means.size > 12) this.means.clear();
      const parts = layer === "mean" ? all : [all[layer]];
      this.means.set(key, meanGrid(parts, head === "mean" ? null : head));
    }
    return this.means.get(key);
  }

  /** The attention of all encoder layers together, for a series. @returns {Grid|null} */
  get rollout() {
    const tensor = unpack(this.window?.raw.rollout);
    if (!tensor) return null;
    const [rows, columns] = tensor.shape;
    return new Grid(rows, columns, (row, out) => out.set(rowOf(tensor, row)));
  }

  /** The input of the first layer at the rows or columns of a part. */
  inputs(side, index) {
    return side === "source" ? this.raw.inputs : this.output(index)?.inputs;
  }
}
