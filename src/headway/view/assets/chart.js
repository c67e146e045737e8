/**
 * Curves: one chart with up to four lines, drawn at the width it has, values under the pointer. A
 * value that is not finite breaks its line and is counted in the key, because it should be seen.
 */

import { el, empty, replace, short, svg } from "./dom.js";

const HEIGHT = 220;
const FEW = 30; // up to here every point has a dot
const TOO_LARGE = 1e300; // differences of larger values would overflow
const EDGE = { left: 54, right: 12, top: 10, bottom: 38 };

/**
 * @param {string} title
 * @param {{name: string, points: {x: number, y: number|null, at?: string}[]}[]} lines in order of
 *   x; `at` says where a point is, if not its x alone
 * @param {string} xName
 */
export function lineChart(title, lines, xName) {
  const series = lines.map(({ name, points }) => ({ name, points, known: points.filter(isKnown) }));
  const keys = el("span", { class: "keys" });
  const drawing = el("div", { class: "curve" });
  const node = el(
    "figure",
    { class: "card" },
    el("figcaption", {}, el("strong", { dir: "auto" }, title), keys),
    drawing,
  );
  const all = series.flatMap((line) => line.known);
  const lost = series.reduce((sum, line) => sum + line.points.length - line.known.length, 0);
  let width = 0;
  const key = (line, i, point, isPointed) =>
    el(
      "span",
      { class: "key" },
      svg(
        "svg",
        { viewBox: "0 0 24 10", "aria-hidden": "true" },
        svg("path", { class: `line s${i}`, d: "M1 5H23" }),
      ),
      line.name,
      " ",
      point && el("b", {}, short(point.y)),
      point && isPointed && ` at ${point.at || short(point.x)}`,
    );
  const said = (at) =>
    replace(
      keys,
      series.map((line, i) =>
        key(line, i, at === null ? line.known.at(-1) : nearest(line.known, at), at !== null),
      ),
      lost > 0 && el("span", { class: "key bad" }, `${short(lost)} not finite, left out`),
    );

  function draw() {
    if (!drawing.clientWidth || drawing.clientWidth === width) return;
    width = drawing.clientWidth;
    const plane = new Plane(all, width);
    const rule = svg("path", { class: "base", visibility: "hidden" });
    const dots = svg("g");
    const picture = svg(
      "svg",
      {
        class: "chart",
        viewBox: `0 0 ${width} ${HEIGHT}`,
        width,
        height: HEIGHT,
        role: "img",
        "aria-label": `${title}: ${series.map((s) => s.name).join(", ")}`,
      },
      axes(plane, xName),
      series.map((line, i) => curve(line.points, i, plane)),
      rule,
      dots,
    );
    const point = (x) => {
      rule.setAttribute("visibility", x === null ? "hidden" : "visible");
      if (x !== null) rule.setAttribute("d", `M${plane.x(x)} ${EDGE.top}V${HEIGHT - EDGE.bottom}`);
      replace(
        dots,
        x === null
          ? []
          : series.map((line, i) => {
              const at = nearest(line.known, x);
              return (
                at &&
                svg("circle", { class: `dot s${i}`, cx: plane.x(at.x), cy: plane.y(at.y), r: 4 })
              );
            }),
      );
      said(x);
    };
    picture.addEventListener("pointermove", (event) => {
      const left = event.clientX - picture.getBoundingClientRect().left;
      point(nearest(all, plane.back(left))?.x ?? null);
    });
    picture.addEventListener("pointerleave", () => point(null));
    replace(drawing, picture);
  }
  said(null);
  if (all.length) new ResizeObserver(draw).observe(drawing);
  else replace(drawing, empty("Nothing was logged."));
  return node;
}

function isKnown({ y }) {
  return Number.isFinite(y) && Math.abs(y) < TOO_LARGE;
}

function nearest(points, x) {
  return points.reduce(
    (best, p) => (!best || Math.abs(p.x - x) < Math.abs(best.x - x) ? p : best),
    null,
  );
}

/** Round numbers that cover a range. @returns {number[]} */
export function ticks(low, high, about = 5) {
  if (low === high)
    [low, high] = [low - (Math.abs(low) || 1) / 2, high + (Math.abs(high) || 1) / 2];
  const rough = (high - low) / about;
  const size = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].find((factor) => factor * size >= rough * 0.999) * size;
  const first = Math.floor(low / step + 1e-9);
  const n = Math.ceil(high / step - 1e-9) - first;
  return Array.from({ length: n + 1 }, (_, i) => (first + i) * step);
}

class Plane {
  constructor(points, width) {
    const [xs, ys] = [points.map((p) => p.x), points.map((p) => p.y)];
    const range = (values) =>
      values.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [Infinity, -Infinity]);
    this.width = width;
    [this.low, this.high] = range(xs);
    if (this.low === this.high) [this.low, this.high] = [this.low - 1, this.high + 1];
    this.xs = ticks(this.low, this.high, width < 420 ? 3 : 6).filter(
      (x) => x >= this.low && x <= this.high,
    );
    this.ys = ticks(...range(ys));
  }
  x(value) {
    const share = (value - this.low) / (this.high - this.low);
    return EDGE.left + share * (this.width - EDGE.left - EDGE.right);
  }
  back(left) {
    const share = (left - EDGE.left) / (this.width - EDGE.left - EDGE.right);
    return this.low + share * (this.high - this.low);
  }
  y(value) {
    const [low, high] = [this.ys[0], this.ys[this.ys.length - 1]];
    return (
      HEIGHT - EDGE.bottom - ((value - low) / (high - low)) * (HEIGHT - EDGE.top - EDGE.bottom)
    );
  }
}

function axes(plane, xName) {
  const right = plane.width - EDGE.right;
  return [
    plane.ys.map((y, i) => [
      svg("path", { class: i ? "grid" : "base", d: `M${EDGE.left} ${plane.y(y)}H${right}` }),
      svg("text", { x: EDGE.left - 8, y: plane.y(y) + 4, "text-anchor": "end" }, short(y)),
    ]),
    plane.xs.map((x) =>
      svg(
        "text",
        { x: plane.x(x), y: HEIGHT - EDGE.bottom + 16, "text-anchor": "middle" },
        short(x),
      ),
    ),
    svg("text", { x: (EDGE.left + right) / 2, y: HEIGHT - 4, "text-anchor": "middle" }, xName),
  ].flat(2);
}

/** The strokes between gaps, and dots where points are few or alone. */
function curve(points, index, plane) {
  const strokes = [[]];
  for (const point of points) {
    if (isKnown(point)) strokes[strokes.length - 1].push(point);
    else strokes.push([]);
  }
  const spot = (p) => `${plane.x(p.x).toFixed(1)} ${plane.y(p.y).toFixed(1)}`;
  const dot = (p) =>
    svg("circle", { class: `dot s${index}`, cx: plane.x(p.x), cy: plane.y(p.y), r: 3 });
  return strokes.flatMap((stroke) => [
    stroke.length > 1 &&
      svg("path", { class: `line s${index}`, d: `M${stroke.map(spot).join("L")}` }),
    (stroke.length === 1 || points.length <= FEW) && stroke.map(dot),
  ]);
}
