/** Candidates of a search and the lines between them, on canvas; what their colours mean. */

import { el, figure } from "./dom.js";
import { colour, direction, elide } from "./paint.js";
import { BOX } from "./tree.js";

/** The line from a candidate to the one it continues. */
export function drawLine(context, c, wins) {
  const { parent } = c;
  if (parent.x === undefined) return;
  context.strokeStyle = colour(
    wins ? "ink" : c.fate === "pruned" ? "rule" : c.fate === "ended" ? "good" : "series-0",
  );
  context.lineWidth = wins ? 2.5 : 1;
  const [x0, middle] = [parent.x + parent.width, (parent.x + parent.width + c.x) / 2];
  context.beginPath();
  context.moveTo(x0, parent.y);
  context.bezierCurveTo(middle, parent.y, middle, c.y, c.x, c.y);
  context.stroke();
}

/**
 * A candidate: its word and figures where there is room for them.
 * @param {{wins: boolean, marked: boolean, zoom: number}} look
 */
export function drawBox(context, c, { wins, marked, zoom }) {
  const edge = { kept: "series-0", ended: "good", pruned: "rule" }[c.fate];
  context.beginPath();
  context.roundRect(c.x, c.y - BOX / 2, c.width, BOX, 7);
  context.fillStyle = colour(
    c.fate === "pruned" ? "card" : c.fate === "ended" ? "end-fill" : "keep-fill",
  );
  context.fill();
  context.strokeStyle = colour(marked || wins ? "ink" : edge);
  context.lineWidth = marked ? 3 : wins ? 2 : 1;
  context.stroke();
  if (zoom < 0.45) return;
  const isStart = c.step < 0;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillStyle = colour(c.fate === "pruned" ? "muted" : "ink");
  context.font = font(13, wins ? 650 : 450);
  context.direction = direction(c.word);
  c.short ??= elide(context, c.word, c.width - 14);
  context.fillText(c.short, c.x + c.width / 2, c.y - (isStart || zoom < 0.7 ? 0 : 7));
  if (isStart || zoom < 0.7) return;
  context.direction = "ltr";
  context.fillStyle = colour("muted");
  context.font = font(10.5);
  context.fillText(`${figure(c.logProb, 2)} → ${figure(c.score, 2)}`, c.x + c.width / 2, c.y + 9);
}

/** The type of the tree. */
export function font(size, weight = 450) {
  return `${weight} ${size}px ${colour("sans")}`;
}

/** What is drawn how, and the settings of the search. */
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
