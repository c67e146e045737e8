/**
 * A drawing larger than its window: a scroller with one canvas of the window's size that stays in
 * place; only the visible part is drawn, in the pixels of the screen.
 */

import { el } from "./dom.js";

export class Viewport {
  /**
   * @param {(context: CanvasRenderingContext2D) => void} draw in CSS pixels of the window
   * @param {{label: string, description: string, resized?: () => void}} options
   */
  constructor(draw, { label, description, resized = () => {} }) {
    this.draw = draw;
    this.canvas = el("canvas", { "aria-hidden": "true" });
    this.spacer = el("div", { class: "spacer" }, this.canvas);
    this.node = el(
      "div",
      {
        class: "viewport",
        tabindex: 0,
        role: "application",
        "aria-roledescription": description,
        "aria-label": label,
        on: { scroll: () => this.redraw() },
      },
      this.spacer,
    );
    this.width = 0;
    this.height = 0;
    this.resized = resized;
    new ResizeObserver(() => {
      if (this.node.clientWidth === this.width && this.node.clientHeight === this.height) return;
      this.resized();
      this.redraw();
    }).observe(this.node);
  }

  get left() {
    return this.node.scrollLeft;
  }
  get top() {
    return this.node.scrollTop;
  }

  /** Size of the whole drawing; the window is as high as it, up to `most`. */
  size(width, height, most) {
    this.spacer.style.width = `${Math.ceil(width)}px`;
    this.spacer.style.height = `${Math.ceil(height)}px`;
    const bar = width > this.node.clientWidth ? 14 : 0;
    this.node.style.height = `${Math.ceil(Math.min(height, most)) + bar}px`;
  }

  redraw() {
    const { clientWidth: width, clientHeight: height } = this.node;
    if (!width || !height) return;
    const ratio = devicePixelRatio || 1;
    if (this.width !== width || this.height !== height || this.ratio !== ratio) {
      Object.assign(this, { width, height, ratio });
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
      this.canvas.style.width = `${width}px`;
      this.canvas.style.height = `${height}px`;
    }
    const context = this.canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    this.draw(context);
  }

  /** Where a pointer is, in CSS pixels of the window. @param {PointerEvent} event */
  at(event) {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  /** Scrolls so that a rectangle of the drawing is visible, beside margins at left and top. */
  reveal(x, y, width, height, left = 0, top = 0) {
    const node = this.node;
    if (x - left < node.scrollLeft) node.scrollLeft = x - left;
    else if (x + width > node.scrollLeft + node.clientWidth)
      node.scrollLeft = x + width - node.clientWidth;
    if (y - top < node.scrollTop) node.scrollTop = y - top;
    else if (y + height > node.scrollTop + node.clientHeight)
      node.scrollTop = y + height - node.clientHeight;
  }
}
