/**
 * A heat map with tokens on both axes: weights computed in slices, a cell selected by the
 * pointer or the arrow keys, zoom with labels that stay visible.
 */

import { figure, visible } from "./dom.js";
import { moved } from "./heat_tools.js";
import { colour, direction, elide, hatch, ramp } from "./paint.js";
import { inSlices } from "./slices.js";
import { Viewport } from "./viewport.js";

const LARGEST = 44; // side of a cell, px
const ROOMY = 36; // from here on the weight is written into the cell
const LABEL = 13; // distance of two labels
const MOST = 640; // height of the window
const PAINT = 90; // milliseconds between two pictures of weights that are still being computed

export class HeatMap {
  /**
   * @param {{label: string, signed?: boolean,
   *   pointed: (row: number, column: number, kept: boolean) => void,
   *   cell?: [number, number]|null}} options
   *   `pointed` is called with the cell under the pointer, and with `kept` for a chosen cell;
   *   with null for `cell` none is chosen at first.
   */
  constructor({ label, signed = false, pointed, cell = [0, 0] }) {
    this.signed = signed;
    this.pointed = pointed;
    this.view = new Viewport((context) => this.draw(context), {
      label,
      description: "heat map",
      resized: () => this.layout(),
    });
    this.node = this.view.node;
    this.bitmap = document.createElement("canvas");
    this.bright = false;
    this.zoom = 1;
    this.cell = cell;
    this.hover = null;
    this.stop = () => {};
    this.listen();
  }

  /**
   * @param {import("./grid.js").Grid} grid
   * @param {string[]} rows
   * @param {string[]} columns
   * @param {(done: boolean) => void} [after] called when more has been computed
   */
  show(grid, rows, columns, after = () => {}) {
    const isOther =
      rows !== this.rowTokens ||
      columns !== this.columnTokens ||
      grid.rows !== this.grid?.rows ||
      grid.columns !== this.grid?.columns;
    Object.assign(this, { grid, rowTokens: rows, columnTokens: columns });
    this.stop();
    if (isOther) this.layout();
    let painted = -Infinity;
    this.stop = inSlices(grid.work(), {
      after: (done) => {
        if (!done && performance.now() - painted < PAINT) return;
        this.paint();
        this.view.redraw();
        after(done);
        painted = performance.now();
      },
    });
  }

  /** The chosen cell. */
  choose(row, column) {
    if (this.cell?.[0] === row && this.cell[1] === column) return;
    this.cell = [row, column];
    const [x, y] = this.place(row, column);
    this.view.reveal(x, y, this.sx, this.sy, this.left, this.top);
    this.view.redraw();
  }

  /** @param {number} factor 0 fits the window */
  magnify(factor) {
    const most = Math.max(1, LARGEST / Math.min(this.fit[0], this.fit[1]));
    this.zoom = factor ? Math.max(1, Math.min(most, this.zoom * factor)) : 1;
    this.layout();
    const [x, y] = this.place(...(this.cell ?? [0, 0]));
    const { node } = this;
    node.scrollTo(x - (this.left + node.clientWidth) / 2, y - (this.top + node.clientHeight) / 2);
    this.view.redraw();
  }

  brighten(bright) {
    this.bright = bright;
    this.paint();
    this.view.redraw();
  }

  refresh() {
    if (!this.grid) return;
    this.layout();
    this.paint();
    this.view.redraw();
  }

  /** Sizes of cells and labels. */
  layout() {
    const width = this.node.clientWidth;
    if (!this.grid || !width) return;
    const { rows, columns } = this.grid;
    const context = this.bitmap.getContext("2d");
    context.font = this.font();
    const widest = (tokens, n) =>
      longest(tokens.slice(0, n)).reduce(
        (most, word) => Math.max(most, context.measureText(visible(word)).width),
        24,
      );
    this.left = Math.ceil(Math.min(widest(this.rowTokens, rows) + 14, width * 0.3, 150));
    this.top = Math.ceil(Math.min(widest(this.columnTokens, columns) + 14, 130));
    const sx = Math.min(LARGEST, (width - this.left - 2) / columns);
    const sy = Math.min(LARGEST, (MOST - this.top - 2) / rows);
    const isAlike = Math.max(rows, columns) < 3 * Math.min(rows, columns);
    this.fit = isAlike ? [Math.min(sx, sy), Math.min(sx, sy)] : [sx, sy];
    [this.sx, this.sy] = this.fit.map((side) => Math.min(LARGEST, side * this.zoom));
    const whole = [this.left + this.sx * columns + 2, this.top + this.sy * rows + 2];
    this.view.size(whole[0], whole[1], MOST);
    this.short = { rows: new Map(), columns: new Map() };
  }

  font(weight = 400) {
    return `${weight} 12px ${colour("sans")}`;
  }

  /** Top left corner of a cell in the whole drawing. */
  place(row, column) {
    return [this.left + column * this.sx, this.top + row * this.sy];
  }

  /** The weights as one pixel each; rows not yet known look like the last known one above. */
  paint() {
    const { rows, columns, weights, done, peak } = this.grid;
    this.bitmap.width = columns;
    this.bitmap.height = rows;
    const image = new ImageData(columns, rows);
    const pixels = new Uint32Array(image.data.buffer);
    const colours = ramp(this.signed);
    const [zero, reach] = this.signed ? [128, 127] : [0, 255];
    const factor = 1 / (peak || 1);
    let from = 0;
    for (let i = 0; i < rows; i++) {
      if (done[i]) from = i;
      for (let j = 0, at = i * columns, w = from * columns; j < columns; j++, at++, w++) {
        let share = weights[w] * factor;
        if (this.bright) share = share < 0 ? -Math.sqrt(-share) : Math.sqrt(share);
        pixels[at] = colours[Math.max(0, (zero + share * reach + 0.5) | 0)];
      }
    }
    this.bitmap.getContext("2d").putImageData(image, 0, 0);
  }

  draw(context) {
    if (!this.grid) return;
    const { width, height, left: dx, top: dy } = this.view;
    const { rows, columns } = this.grid;
    context.save();
    context.beginPath();
    context.rect(this.left, this.top, width, height);
    context.clip();
    context.imageSmoothingEnabled = this.sx * (devicePixelRatio || 1) < 1;
    context.drawImage(
      this.bitmap,
      this.left - dx,
      this.top - dy,
      this.sx * columns,
      this.sy * rows,
    );
    if (this.grid.hasGaps) this.drawGaps(context, rows, columns);
    this.drawLines(context, rows, columns);
    this.drawCell(context);
    if (Math.min(this.sx, this.sy) >= ROOMY) this.drawFigures(context, rows, columns);
    context.restore();
    this.drawLabels(context, "rows");
    this.drawLabels(context, "columns");
  }

  /** Hatches the cells whose weight is not a finite number. */
  drawGaps(context, rows, columns) {
    const { left: dx, top: dy } = this.view;
    for (let i = 0; i < rows; i++) {
      for (let j = 0; j < columns; j++) {
        if (Number.isFinite(this.grid.weights[i * columns + j])) continue;
        const [x, y] = this.place(i, j);
        hatch(context, x - dx, y - dy, this.sx, this.sy);
      }
    }
  }

  drawLines(context, rows, columns) {
    if (Math.min(this.sx, this.sy) < 7) return;
    const { width, height, left: dx, top: dy } = this.view;
    context.strokeStyle = colour("card");
    context.lineWidth = 1;
    context.beginPath();
    for (
      let j = Math.floor(dx / this.sx);
      j <= columns && this.left + j * this.sx - dx < width;
      j++
    ) {
      const x = this.left + j * this.sx - dx;
      context.moveTo(x, 0);
      context.lineTo(x, height);
    }
    for (let i = Math.floor(dy / this.sy); i <= rows && this.top + i * this.sy - dy < height; i++) {
      const y = this.top + i * this.sy - dy;
      context.moveTo(0, y);
      context.lineTo(width, y);
    }
    context.stroke();
  }

  drawCell(context) {
    const cell = this.hover ?? this.cell;
    if (!cell) return;
    const [x, y] = this.place(...cell);
    const { left: dx, top: dy } = this.view;
    context.fillStyle = colour("ink");
    context.globalAlpha = 0.08;
    context.fillRect(this.left - dx, y - dy, this.sx * this.grid.columns, this.sy);
    context.fillRect(x - dx, this.top - dy, this.sx, this.sy * this.grid.rows);
    context.globalAlpha = 1;
    context.strokeStyle = colour("ink");
    context.lineWidth = 2;
    const [w, h] = [Math.max(this.sx, 6), Math.max(this.sy, 6)];
    context.strokeRect(x - dx + (this.sx - w) / 2, y - dy + (this.sy - h) / 2, w, h);
  }

  drawFigures(context, rows, columns) {
    const { width, height, left: dx, top: dy } = this.view;
    const { weights, done, peak } = this.grid;
    context.font = `450 11px ${colour("sans")}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.direction = "ltr";
    for (let i = Math.floor(dy / this.sy); i < rows && this.place(i, 0)[1] - dy < height; i++) {
      for (let j = Math.floor(dx / this.sx); j < columns && this.place(0, j)[0] - dx < width; j++) {
        const weight = weights[i * columns + j];
        if (!done[i] || !(Math.abs(weight) >= 0.005)) continue;
        const [x, y] = this.place(i, j);
        const share = Math.abs(weight) / peak;
        context.fillStyle = colour(
          (this.bright ? Math.sqrt(share) : share) > 0.68 ? "card" : "ink",
        );
        context.fillText(figure(weight, 2), x - dx + this.sx / 2, y - dy + this.sy / 2);
      }
    }
  }

  /** Labels that fit without touching, and always that of the cell. @param {"rows"|"columns"} axis */
  drawLabels(context, axis) {
    const isRow = axis === "rows";
    const [side, from, margin] = isRow
      ? [this.sy, this.view.top, this.top]
      : [this.sx, this.view.left, this.left];
    const span = isRow ? this.view.height : this.view.width;
    const stride = Math.ceil(LABEL / side);
    const marked = (this.hover ?? this.cell)?.[isRow ? 0 : 1] ?? NaN;
    const centre = (i) => margin + (i + 0.5) * side - from;
    context.textBaseline = "middle";
    const first = Math.floor(from / side / stride) * stride;
    for (let i = first; i < this.grid[axis] && centre(i) < span + LABEL; i += stride) {
      const y = centre(i);
      if (y < margin || Math.abs(y - centre(marked)) < LABEL * 0.95) continue;
      this.drawLabel(context, axis, i, y, false);
    }
    if (centre(marked) >= margin) this.drawLabel(context, axis, marked, centre(marked), true);
  }

  drawLabel(context, axis, index, at, isMarked) {
    const isRow = axis === "rows";
    context.font = this.font(isMarked ? 650 : 400);
    context.fillStyle = colour(isMarked ? "ink" : "muted");
    const word = (isRow ? this.rowTokens : this.columnTokens)[index] ?? "";
    const known = this.short[axis];
    if (!known.has(index))
      known.set(index, elide(context, word, (isRow ? this.left : this.top) - 12));
    const shown = known.get(index);
    context.direction = direction(word);
    context.save();
    if (isRow) {
      context.textAlign = "right";
      context.fillText(shown, this.left - 7, at);
    } else if ([...shown].length === 1) {
      context.textAlign = "center";
      context.fillText(shown, at, this.top - 12);
    } else {
      context.translate(at, this.top - 7);
      context.rotate(-Math.PI / 2);
      context.textAlign = "left";
      context.fillText(shown, 0, 0);
    }
    context.restore();
  }

  /** The cell at a point of the window. @returns {[number, number]|null} */
  find(x, y) {
    if (!this.grid) return null;
    const column = Math.floor((x - this.left + this.view.left) / this.sx);
    const row = Math.floor((y - this.top + this.view.top) / this.sy);
    const isInside =
      x >= this.left && y >= this.top && row < this.grid.rows && column < this.grid.columns;
    return isInside && row >= 0 && column >= 0 ? [row, column] : null;
  }

  listen() {
    const node = this.node;
    node.addEventListener("pointermove", (event) => this.over(this.find(...this.view.at(event))));
    node.addEventListener("pointerleave", () => this.over(null));
    node.addEventListener("click", (event) => {
      const cell = this.find(...this.view.at(event));
      if (cell) this.pointed(...cell, true);
    });
    node.addEventListener("keydown", (event) => {
      if (event.key === "+" || event.key === "-") this.magnify(event.key === "+" ? 1.6 : 1 / 1.6);
      const next = this.grid && moved(event, this.cell ?? [0, 0], this.grid.rows, this.grid.columns);
      const to = next && !this.cell ? [0, 0] : next;
      if (!to) return;
      event.preventDefault();
      this.hover = null;
      this.pointed(...to, true);
    });
    node.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey) return;
        event.preventDefault();
        this.magnify(event.deltaY < 0 ? 1.25 : 0.8);
      },
      { passive: false },
    );
  }

  over(cell) {
    if (String(cell) === String(this.hover)) return;
    this.hover = cell;
    this.view.redraw();
    if (cell ?? this.cell) this.pointed(...(cell ?? this.cell), false);
  }
}

/** A few words that may be the widest: measuring hundreds takes time. @param {string[]} tokens */
function longest(tokens) {
  return [...tokens].sort((a, b) => b.length - a.length).slice(0, 24);
}
