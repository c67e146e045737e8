/** Candidates of a search and the lines between them, on canvas; the legend of their colours. */

import { el, figure } from "./dom.js";
import { colour, direction, elide } from "./paint.js";
import { BOX } from "./tree.js";

const WORDS = 0.45; // magnification from which on there is room for words
const FIGURES = 0.7;

/** The line from a candidate to the one it continues. */
export function drawLine(context, c, wins, zoom) {
  const { parent } = c;
  if (parent.x === undefined) return;
  context.strokeStyle = colour(
    wins ? "ink" : c.fate === "pruned" ? "rule" : c.fate === "ended" ? "good" : "series-0",
  );
  context.lineWidth = wins ? 2.5 / Math.min(1, zoom) : 1;
  const [x0, middle] = [parent.x + parent.width, (parent.x + parent.width + c.x) / 2];
  context.beginPath();
  context.moveTo(x0, parent.y);
  context.bezierCurveTo(middle, parent.y, middle, c.y, c.x, c.y);
  context.stroke();
}

/**
 * A candidate: its word and figures if there is room for them.
 * @param {{wins: boolean, marked: boolean, zoom: number}} look
 */
export function drawBox(context, c, { wins, marked, zoom }) {
  context.beginPath();
  context.roundRect(c.x, c.y - BOX / 2, c.width, BOX, 7);
  // From afar there are no words, and pale boxes would fade.
  const near = { kept: "keep-fill", ended: "end-fill", pruned: "card" };
  const far = { kept: "series-0", ended: "good", pruned: "rule" };
  context.fillStyle = colour((zoom < WORDS ? far : near)[c.fate]);
  context.fill();
  context.strokeStyle = colour(marked || wins ? "ink" : far[c.fate]);
  context.lineWidth = (marked ? 3 : wins ? 2 : 1) / (zoom < WORDS ? 2 * zoom : 1);
  context.stroke();
  if (zoom < WORDS) return;
  const isStart = c.step < 0;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillStyle = colour(c.fate === "pruned" ? "muted" : "ink");
  context.font = font(13, wins ? 650 : 450);
  context.direction = direction(c.word);
  c.short ??= elide(context, c.word, c.width - 14);
  context.fillText(c.short, c.x + c.width / 2, c.y - (isStart || zoom < FIGURES ? 0 : 7));
  if (isStart || zoom < FIGURES) return;
  context.direction = "ltr";
  context.fillStyle = colour("muted");
  context.font = font(10.5);
  context.fillText(`${figure(c.logProb, 2)} → ${figure(c.score, 2)}`, c.x + c.width / 2, c.y + 9);
}

/** The type of the tree. */
export function font(size, weight = 450) {
  return `${weight} ${size}px ${colour("sans")}`;
}

/** The legend, and the settings of the search. */
export function legend(search) {
  const item = (kind, name) =>
    el("span", { class: "key" }, el("i", { class: `swatch ${kind}` }), name);
  return el(
    "div",
    { class: "tools" },
    item("kept", "kept"),
    item("ended", "finished"),
    item("pruned", "pruned"),
    item("wins", "path of the chosen output"),
    el("span", { class: "key" }, "log probability → score after length normalisation"),
    search?.beam && el("span", { class: "key" }, `beam ${search.beam}, alpha ${search.alpha}`),
  );
}
