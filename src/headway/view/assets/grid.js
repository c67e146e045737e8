/** Weights of a heat map, computed row by row on demand. */

/** Rows of weights that are computed once, on demand. */
export class Grid {
  /** @param {number} rows @param {number} columns @param {(row: number, out: Float32Array) => void} compute */
  constructor(rows, columns, compute) {
    this.rows = rows;
    this.columns = columns;
    this.weights = new Float32Array(rows * columns);
    this.done = new Uint8Array(rows);
    this.left = rows;
    this.peak = 0;
    this.hasGaps = false; // whether a weight is not a finite number
    this.compute = compute;
  }

  /** @param {number} row @returns {Float32Array} */
  row(row) {
    const out = this.weights.subarray(row * this.columns, (row + 1) * this.columns);
    if (!this.done[row]) {
      this.compute(row, out);
      this.done[row] = 1;
      this.left--;
      for (let j = 0; j < out.length; j++) {
        const size = Math.abs(out[j]);
        if (!Number.isFinite(size)) this.hasGaps = true;
        else if (size > this.peak) this.peak = size;
      }
    }
    return out;
  }

  /** Every row, coarse to fine, so that a picture is whole early and exact later. */
  *work() {
    for (let stride = 16; stride >= 1; stride >>= 1) {
      for (let row = 0; row < this.rows; row += stride) {
        if (this.done[row]) continue;
        this.row(row);
        yield;
      }
    }
  }
}
