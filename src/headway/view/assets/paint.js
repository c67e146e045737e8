/** Colours and text for drawings on canvas: the page's own, in light, dark and on paper. */

import { visible } from "./dom.js";

const found = new Map();

/** A colour or font of the style sheet. @param {string} name without the dashes */
export function colour(name) {
  if (!found.has(name)) {
    found.set(
      name,
      getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim(),
    );
  }
  return found.get(name);
}

/** @param {string} hex @returns {number[]} */
function channels(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

const ramps = new Map();

/** Calls `redraw` when the page goes from light to dark or to paper. @param {() => void} redraw */
export function whenColoursChange(redraw) {
  for (const query of ["(prefers-color-scheme: dark)", "print"])
    matchMedia(query).addEventListener("change", () => {
      found.clear();
      ramps.clear();
      redraw();
    });
}

/**
 * 256 colours as 32-bit pixels: from faint to full for weights; for signed numbers faint
 * in the middle: 128 is zero.
 * @param {boolean} signed
 * @returns {Uint32Array}
 */
export function ramp(signed) {
  if (!ramps.has(signed)) ramps.set(signed, makeRamp(signed));
  return ramps.get(signed);
}

function makeRamp(signed) {
  const [zero, full, minus] = ["faint", "heat", "minus"].map((name) => channels(colour(name)));
  const pixels = new Uint32Array(256);
  for (let i = 0; i < 256; i++) {
    const share = signed ? (i - 128) / 127 : i / 255;
    const end = share < 0 ? minus : full;
    const [r, g, b] = zero.map((from, k) => from + (end[k] - from) * Math.min(1, Math.abs(share)));
    pixels[i] = (255 << 24) | (Math.round(b) << 16) | (Math.round(g) << 8) | Math.round(r);
  }
  return pixels;
}

/** A colour of a ramp for CSS. @param {number} value @param {number} peak */
export function shade(value, peak, signed) {
  const pixel = ramp(signed)[level(value, peak, signed)];
  return `rgb(${pixel & 255} ${(pixel >> 8) & 255} ${(pixel >> 16) & 255})`;
}

/** Index into a ramp. */
export function level(value, peak, signed) {
  const share = peak > 0 ? Math.max(-1, Math.min(1, value / peak)) : 0;
  return signed ? 128 + Math.round(share * 127) : Math.round(Math.max(0, share) * 255);
}

/** Fills a rectangle with slanted lines in the colour of errors. */
export function hatch(context, x, y, width, height) {
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  context.strokeStyle = colour("bad");
  context.lineWidth = 1.5;
  context.beginPath();
  for (let at = -height; at < width; at += 6) {
    context.moveTo(x + at, y + height);
    context.lineTo(x + at + height, y);
  }
  context.stroke();
  context.restore();
}

const RIGHT_TO_LEFT = /^[^\p{L}]*[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/u;

/** @param {string} word @returns {"rtl"|"ltr"} */
export function direction(word) {
  return RIGHT_TO_LEFT.test(word) ? "rtl" : "ltr";
}

/**
 * A token cut to a width, in whole characters.
 * @param {CanvasRenderingContext2D} context with its font set
 */
export function elide(context, word, width) {
  const shown = visible(word);
  if (context.measureText(shown).width <= width) return shown;
  const letters = [...shown];
  let [low, high] = [0, letters.length];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    const cut = `${letters.slice(0, middle).join("")}…`;
    if (context.measureText(cut).width <= width) low = middle;
    else high = middle - 1;
  }
  return `${letters.slice(0, low).join("")}…`;
}

/** Colours of heads, far from their neighbours. @param {number} head @param {number} n */
export function headColour(head, n) {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches && !matchMedia("print").matches;
  const hue = Math.round(210 + (360 * head) / Math.max(n, 4)) % 360;
  return dark ? `hsl(${hue} 62% 68%)` : `hsl(${hue} 62% 38%)`;
}
