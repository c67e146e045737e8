/** A vector as a strip of colours: blue above zero, orange below, each number on hover or by key. */

import { el, figure } from "./dom.js";
import { level, ramp } from "./paint.js";

/**
 * @param {string} name of the vector
 * @param {ArrayLike<number>} values
 * @param {{peak?: number, announce: (words: string) => void, note?: import("./dom.js").Child}} options
 *   `peak` has the full colour, the largest value unless given; `note` is after the strip
 *   while the pointer is on no number.
 */
export function strip(name, values, { peak = peakOf(values), announce, note = null }) {
  const canvas = el("canvas", { width: values.length, height: 1 });
  const said = el("span", { class: "number strip-note" });
  const mark = el("i", { class: "strip-mark", hidden: true });
  let at = -1;
  paintStrip(canvas, values, peak);

  function point(index, aloud) {
    at = index;
    mark.hidden = index < 0;
    mark.style.left = `${(100 * Math.max(0, index)) / values.length}%`;
    mark.style.width = `${100 / values.length}%`;
    said.textContent = index < 0 ? "" : `${index}: ${figure(values[index])}`;
    if (index < 0 && note !== null) said.append(note);
    if (aloud) announce(`${name}, ${index}: ${figure(values[index])}`);
  }
  const picture = el(
    "span",
    {
      class: "strip",
      tabindex: 0,
      role: "application",
      "aria-roledescription": "vector",
      "aria-label": `${name}, ${values.length} numbers; arrow keys read them`,
      on: {
        pointermove: (event) => {
          const box = canvas.getBoundingClientRect();
          const index = Math.floor(((event.clientX - box.left) / box.width) * values.length);
          point(Math.max(0, Math.min(values.length - 1, index)), false);
        },
        pointerleave: () => point(-1, false),
        blur: () => point(-1, false),
        keydown: (event) => {
          const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
          if (!by) return;
          event.preventDefault();
          point(Math.max(0, Math.min(values.length - 1, at + by)), true);
        },
      },
    },
    canvas,
    mark,
  );
  point(-1, false);
  return el(
    "div",
    { class: "strip-line" },
    el("span", { class: "strip-name" }, name),
    picture,
    said,
  );
}

/** @param {HTMLCanvasElement} canvas one pixel for each value */
export function paintStrip(canvas, values, peak) {
  const image = new ImageData(values.length, 1);
  const pixels = new Uint32Array(image.data.buffer);
  const colours = ramp(true);
  for (let i = 0; i < values.length; i++) pixels[i] = colours[level(values[i], peak, true)];
  canvas.getContext("2d").putImageData(image, 0, 0);
}

/** @param {...(ArrayLike<number>|null|undefined)} vectors */
export function peakOf(...vectors) {
  let peak = 0;
  for (const values of vectors) {
    for (let i = 0; i < (values?.length ?? 0); i++) peak = Math.max(peak, Math.abs(values[i]));
  }
  return peak;
}

/** Length of a vector. @param {ArrayLike<number>} values */
export function norm(values) {
  return Math.sqrt(Array.from(values).reduce((sum, x) => sum + x * x, 0));
}
