/**
 * Attention weights from queries and keys: softmax(scale * q k^T), computed here, row by row, on
 * demand. Parts with other score functions come with their weights.
 */

import { Grid } from "./grid.js";
import { unpack, rowOf } from "./tensor.js";

const MOST_GRIDS = 24; // of 512 x 512 weights, a megabyte each

/** One attention module of the model: all heads of a layer. */
export class Part {
  /**
   * @param {Object<string, any>} raw as it arrived
   * @param {Object<string, any>} shared keys and values that all outputs have in common
   * @param {string[]} rowTokens
   * @param {string[]} columnTokens
   */
  constructor(raw, shared, rowTokens, columnTokens) {
    const own = Object.fromEntries(Object.entries(raw).filter(([, value]) => value !== null));
    const whole = { ...shared, ...own };
    this.name = raw.name;
    this.kind = raw.kind;
    this.layer = raw.layer;
    this.heads = raw.heads;
    this.isDot = raw.form === "dot";
    this.causal = Boolean(raw.causal);
    this.scale = raw.scale ?? 1;
    this.packed = whole;
    const shape = this.isDot ? whole.query.shape : whole.weights.shape;
    this.rows = shape[1];
    this.columns = this.isDot ? whole.key.shape[1] : shape[2];
    this.rowTokens = rowTokens;
    this.columnTokens = columnTokens;
    /** @type {Map<number, Grid>} */
    this.grids = new Map();
  }

  get query() {
    return unpack(this.packed.query);
  }
  get key() {
    return unpack(this.packed.key);
  }
  get value() {
    return unpack(this.packed.value);
  }
  get out() {
    return unpack(this.packed.out);
  }
  get bias() {
    return unpack(this.packed.bias);
  }

  /** Number of columns that a row may attend to. @param {number} row */
  reach(row) {
    return this.causal ? Math.min(this.columns, row + 1 + this.columns - this.rows) : this.columns;
  }

  /** The weights of one head. @param {number} head @returns {Grid} */
  grid(head) {
    let grid = this.grids.get(head);
    if (!grid) grid = new Grid(this.rows, this.columns, (row, out) => this.compute(head, row, out));
    this.grids.delete(head);
    this.grids.set(head, grid); // the newest is last
    if (this.grids.size > MOST_GRIDS) this.grids.delete(this.grids.keys().next().value);
    return grid;
  }

  /** One row of weights. @param {number} head @param {number} row @param {Float32Array} out */
  compute(head, row, out) {
    if (!this.isDot) {
      const at = (head * this.rows + row) * this.columns;
      out.set(unpack(this.packed.weights).data.subarray(at, at + this.columns));
      return;
    }
    this.scores ??= new Float64Array(this.columns); // large scores need more digits than weights
    const n = this.compare(head, row, this.scores);
    softmax(this.scores, n);
    out.set(this.scores);
  }

  /**
   * Scores of one row before the softmax, in the first `reach` elements; the others are unchanged.
   * @returns {number} their number
   */
  compare(head, row, out) {
    const query = this.query.data;
    const key = this.key.data;
    const width = this.query.shape[2];
    const n = this.reach(row);
    const q = (head * this.rows + row) * width;
    let k = head * this.columns * width;
    for (let j = 0; j < n; j++, k += width) {
      let a = 0,
        b = 0,
        c = 0,
        d = 0,
        e = 0;
      for (; e + 3 < width; e += 4) {
        a += query[q + e] * key[k + e];
        b += query[q + e + 1] * key[k + e + 1];
        c += query[q + e + 2] * key[k + e + 2];
        d += query[q + e + 3] * key[k + e + 3];
      }
      for (; e < width; e++) a += query[q + e] * key[k + e];
      out[j] = (a + b + c + d) * this.scale;
    }
    return n;
  }

  /** Query of a row or key or value of a column. @param {"query"|"key"|"value"} which */
  vector(which, head, at) {
    const tensor = this[which];
    return tensor && rowOf(tensor, head * tensor.shape[1] + at);
  }

  /** Sum of the values by the weights of a row. @returns {Float32Array|null} */
  mix(head, row) {
    if (!this.value) return null;
    const weights = this.grid(head).row(row);
    const sum = new Float32Array(this.value.shape[2]);
    for (let j = 0; j < this.columns; j++) {
      const value = this.vector("value", head, j);
      for (let e = 0; e < sum.length; e++) sum[e] += weights[j] * value[e];
    }
    return sum;
  }

  /** Contribution of a head to the residual stream: its columns of the output projection times its sum. */
  added(head, row) {
    const sum = this.mix(head, row);
    if (!sum || !this.out) return null;
    const [width, inner] = this.out.shape;
    const result = new Float32Array(width);
    for (let d = 0; d < width; d++) {
      const at = d * inner + head * sum.length;
      let total = 0;
      for (let e = 0; e < sum.length; e++) total += this.out.data[at + e] * sum[e];
      result[d] = total;
    }
    return result;
  }
}

/** In place over the first n; the rest becomes zero. @param {Float64Array} row @param {number} n */
export function softmax(row, n) {
  let peak = -Infinity;
  for (let j = 0; j < n; j++) if (row[j] > peak) peak = row[j];
  let sum = 0;
  for (let j = 0; j < n; j++) sum += row[j] = Math.exp(row[j] - peak);
  for (let j = 0; j < n; j++) row[j] /= sum;
  row.fill(0, n);
}

/**
 * The mean over heads and over parts of one type.
 * @param {Part[]} parts
 * @param {number|null} head null: all of them
 */
export function meanGrid(parts, head) {
  const [{ rows, columns }] = parts;
  const one = new Float32Array(columns);
  return new Grid(rows, columns, (row, out) => {
    let n = 0;
    for (const part of parts) {
      const end = head === null ? part.heads : Math.min(part.heads, head + 1); // some layers have fewer
      for (let h = head ?? 0; h < end; h++, n++) {
        part.compute(h, row, one);
        for (let j = 0; j < columns; j++) out[j] += one[j];
      }
    }
    for (let j = 0; j < columns; j++) out[j] /= n;
  });
}

/** Indices of the largest values, largest first. @param {ArrayLike<number>} values */
export function largest(values, most) {
  const order = Array.from(values, (_, i) => i).sort((a, b) => values[b] - values[a]);
  return order.slice(0, most);
}
