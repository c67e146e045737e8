/**
 * A forecast: history, forecast with its intervals, further lines; or a whole series. Values are read
 * under the pointer or by the arrow keys. Missing values are gaps.
 */

import { el, percent, replace, svg } from "./dom.js";
import { ticks } from "./chart.js";
import { inWords, timeTicks } from "./time_axis.js";

export const EDGE = { left: 58, right: 12, top: 12, bottom: 26 };
const LABEL = 74; // pixels between two ticks of the time
const COLOURS = 5; // of the lines that can be switched on, from s1

/**
 * @param {import("./series_window.js").SeriesWindow} data
 * @param {{height?: number, announce?: (words: string) => void, picked?: (step: number) => void}}
 *   options `picked` is called with a step that is clicked, or chosen by Enter
 */
export function forecastChart(data, { height = 320, announce = () => {}, picked = null } = {}) {
  const drawing = el("div", {
    class: "forecast",
    tabindex: 0,
    role: "application",
    "aria-roledescription": "chart",
    "aria-label": `${data.title}: ${data.horizon ? "history and forecast" : "values"}; arrow keys read the values`,
    style: { "min-height": `${height}px` },
  });
  const readout = el("p", { class: "readout series-readout" });
  let state = { from: data.begin, lines: [] };
  let width = 0;
  let plane = null;
  let mark = null;
  let at = null;

  function draw() {
    width = drawing.clientWidth;
    if (!width) return;
    plane = new Plane(data, state, width, height);
    mark = svg("g", { class: "marked" });
    replace(
      drawing,
      svg(
        "svg",
        { class: "chart", viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true" },
        axes(plane, data),
        gaps(plane, data),
        bands(plane, data),
        shownLines(data, state).map((line) => path(plane, line.values, data.n, lineClass(data, line))),
        path(plane, data.values, 0, "history"),
        data.horizon > 0 &&
          path(plane, [data.values[data.n - 1], ...data.raw.forecast], data.n - 1, "foretold"),
        mark,
      ),
    );
    point(at);
  }

  function point(step, aloud = false) {
    at = step;
    if (!plane) return;
    replace(mark);
    if (step === null) return replace(readout, el("span", { class: "quiet" }, summary(data)));
    const found = valuesAt(data, state, step);
    replace(
      mark,
      svg("path", { class: "base", d: `M${plane.x(step)} ${EDGE.top}V${height - EDGE.bottom}` }),
      found
        .filter(({ value, low }) => value !== null && low === undefined)
        .map(({ value, css }) =>
          svg("circle", { class: `spot ${css}`, cx: plane.x(step), cy: plane.y(value), r: 4 }),
        ),
    );
    replace(
      readout,
      el("strong", {}, inWords(data.times[step])),
      found.map((one) =>
        el("span", { class: "key" }, one.name, " ", el("b", {}, written(data, one))),
      ),
    );
    if (aloud)
      announce(
        [inWords(data.times[step]), ...found.map((one) => `${one.name} ${written(data, one)}`)].join(
          ", ",
        ),
      );
  }

  const stepAt = (event) => plane.step(event.clientX - drawing.getBoundingClientRect().left);
  drawing.addEventListener("pointermove", (event) => plane && point(stepAt(event)));
  drawing.addEventListener("pointerleave", () => point(null));
  drawing.addEventListener("blur", () => point(null));
  drawing.addEventListener("click", (event) => plane && picked?.(stepAt(event)));
  drawing.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && at !== null) return picked?.(at);
    const to = moved(event, at ?? data.n - 1, state.from, data.steps - 1);
    if (to === null) return;
    event.preventDefault();
    point(to, true);
  });
  new ResizeObserver(() => drawing.clientWidth !== width && draw()).observe(drawing);
  point(null);
  replace(readout, el("span", { class: "quiet" }, summary(data)));
  return {
    parts: [drawing, readout],
    /** @param {{from: number, lines: string[]}} next first step shown, and ids of further lines */
    show(next) {
      state = next;
      if (at !== null && at < state.from) at = null;
      draw();
    },
    refresh: draw,
  };
}

/** The step that a key moves to; null for other keys. */
export function moved(event, at, from, to) {
  const by = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity }[
    event.key
  ];
  if (!by) return null;
  return Math.max(from, Math.min(to, at + by * (event.ctrlKey ? 10 : 1)));
}

/** The keys of the lines: what each looks like. */
export function lineKey(css, name) {
  return el(
    "span",
    { class: "key" },
    svg("svg", { viewBox: "0 0 24 10", "aria-hidden": "true" }, svg("path", { class: css, d: "M1 5H23" })),
    name,
  );
}

/** The keys of a forecast without its further lines. */
export function forecastKeys(data) {
  return [
    lineKey("series-line history", data.hasTruth ? "history and true values" : "history"),
    lineKey("series-line foretold", "forecast"),
    data.bands.map(({ level }, i) =>
      el(
        "span",
        { class: "key" },
        el("i", { class: `band-key b${Math.min(i + (data.bands.length < 2), 1)}` }),
        `${percent(level).replace(".0%", "%")} interval`,
      ),
    ),
  ];
}

export function lineClass(data, line) {
  if (line.kind === "floor") return `floor ${line.id}`;
  const held = data.lines.filter(({ kind }) => kind === "held");
  return `held s${1 + (held.indexOf(line) % COLOURS)}`;
}

function shownLines(data, state) {
  return data.lines.filter((line) => state.lines.includes(line.id));
}

/** What a chart says while nothing is pointed at. */
function summary(data) {
  if (!data.horizon) return `${data.n} steps, ${data.range.map((value) => data.write(value)).join(" to ")}`;
  const known = (data.raw.truth ?? [])
    .map((value, i) => [value, data.raw.forecast[i], i])
    .filter(([value]) => value !== null);
  if (!known.length) return `${data.horizon} steps from ${inWords(data.times[data.n])}`;
  const error = (values) =>
    known.reduce((sum, [value, , i]) => sum + Math.abs(value - values[i]), 0) / known.length;
  const own = `mean error ${data.write(error(data.raw.forecast))}`;
  const others = data.lines
    .filter(({ kind }) => kind === "floor")
    .map(({ name, values }) => `${name} ${data.write(error(values))}`);
  return [own, ...others].join(" · ");
}

/** Names and values at a step, the known value first. */
function valuesAt(data, state, step) {
  const ahead = step - data.n;
  const isAhead = ahead >= 0;
  const found = [];
  if (!isAhead || data.hasTruth)
    found.push({ name: isAhead ? "true" : "value", value: data.values[step], css: "history" });
  if (!isAhead) return found;
  found.push({ name: "forecast", value: data.raw.forecast[ahead], css: "foretold" });
  for (const { level, low, high } of [...data.bands].reverse())
    found.push({ name: percent(level).replace(".0%", "%"), low: low[ahead], high: high[ahead], value: 0 });
  for (const line of shownLines(data, state))
    found.push({
      name: line.kind === "held" ? `${line.name} held` : line.name,
      value: line.values[ahead],
      css: lineClass(data, line),
    });
  return found;
}

function written(data, { value, low, high }) {
  if (low !== undefined) return `${data.write(low)} to ${data.write(high)}`;
  return value === null ? "missing" : data.write(value);
}

class Plane {
  constructor(data, { from, lines }, width, height) {
    this.from = from;
    this.to = data.steps;
    this.width = width;
    this.height = height;
    const seen = [
      data.values.slice(from),
      data.raw.forecast,
      ...data.bands.flatMap(({ low, high }) => [low, high]),
      ...shownLines(data, { lines }).map(({ values }) => values),
    ].flat();
    const known = seen.filter((value) => value !== null && Number.isFinite(value));
    this.ys = known.length ? ticks(Math.min(...known), Math.max(...known)) : [0, 1];
    this.times = timeTicks(data.times, from, this.to, Math.max(2, Math.floor((width - 70) / LABEL)));
  }
  x(step) {
    return across(step + 0.5, this.from, this.to, this.width);
  }
  y(value) {
    const [low, high] = [this.ys[0], this.ys.at(-1)];
    const share = (value - low) / (high - low);
    return this.height - EDGE.bottom - share * (this.height - EDGE.top - EDGE.bottom);
  }
  step(left) {
    const share = (left - EDGE.left) / (this.width - EDGE.left - EDGE.right);
    const step = Math.floor(this.from + share * (this.to - this.from));
    return Math.max(this.from, Math.min(this.to - 1, step));
  }
}

/** The pixel at which a step begins. */
export function across(step, from, to, width) {
  return EDGE.left + ((step - from) / (to - from)) * (width - EDGE.left - EDGE.right);
}

function axes(plane, data) {
  const right = plane.width - EDGE.right;
  const bottom = plane.height - EDGE.bottom;
  const now = across(data.n, plane.from, plane.to, plane.width);
  const digits = decimals(plane.ys);
  return [
    svg("rect", { class: "ahead", x: now, y: EDGE.top, width: right - now, height: bottom - EDGE.top }),
    plane.ys.map((y, i) => [
      svg("path", { class: i ? "grid" : "base", d: `M${EDGE.left} ${plane.y(y)}H${right}` }),
      svg("text", { x: EDGE.left - 8, y: plane.y(y) + 4, "text-anchor": "end" }, tickLabel(y, digits)),
    ]),
    plane.times.map(({ at, label }) => timeTick(plane.x(at), bottom, label)),
    data.horizon > 0 && svg("path", { class: "now", d: `M${now} ${EDGE.top}V${bottom}` }),
  ].flat(2);
}

/** A tick of the time with its label under it. */
export function timeTick(x, bottom, label) {
  return [
    svg("path", { class: "base", d: `M${x} ${bottom}v4` }),
    svg("text", { x, y: bottom + 18, "text-anchor": "middle" }, label),
  ];
}

/** The decimals that the labels of an axis need. */
function decimals(values) {
  const step = Math.abs(values[1] - values[0]);
  return Math.max(0, Math.min(6, -Math.floor(Math.log10(step) + 1e-9) + (step < 1 && /25/.test(String(step)))));
}

function tickLabel(value, digits) {
  const most = Math.max(digits, 0);
  const shown = Math.abs(value) >= 1e7 ? value.toExponential(1) : value.toLocaleString("en", {
    minimumFractionDigits: most,
    maximumFractionDigits: most,
  });
  return shown.replace("-", "−");
}

function gaps(plane, data) {
  return data
    .gaps()
    .filter(([, last]) => last >= plane.from)
    .map(([first, last]) => {
      const x = across(Math.max(first, plane.from), plane.from, plane.to, plane.width);
      const end = across(last + 1, plane.from, plane.to, plane.width);
      return svg(
        "rect",
        { class: "gap", x, y: EDGE.top, width: end - x, height: plane.height - EDGE.top - EDGE.bottom },
        svg("title", {}, `${last - first + 1} missing`),
      );
    });
}

function bands(plane, data) {
  return data.bands.map(({ low, high }, i) => {
    const point = (value, ahead) =>
      `${plane.x(data.n + ahead).toFixed(1)} ${plane.y(value).toFixed(1)}`;
    const upper = high.map(point);
    const lower = low.map(point).reverse();
    const css = `band b${Math.min(i + (data.bands.length < 2), 1)}`;
    return svg("path", { class: css, d: `M${[...upper, ...lower].join("L")}Z` });
  });
}

/** The strokes of a line between its gaps, and dots where a value stands alone. */
function path(plane, values, first, css) {
  let d = "";
  const dots = [];
  values.forEach((value, i) => {
    const step = first + i;
    if (value === null || step < plane.from) return;
    const isJoined = i > 0 && values[i - 1] !== null && step - 1 >= plane.from;
    const goesOn = i + 1 < values.length && values[i + 1] !== null;
    const [x, y] = [plane.x(step).toFixed(1), plane.y(value).toFixed(1)];
    d += `${isJoined ? "L" : "M"}${x} ${y}`;
    if (!isJoined && !goesOn) dots.push(svg("circle", { class: `spot ${css}`, cx: x, cy: y, r: 2.5 }));
  });
  return [svg("path", { class: `series-line ${css}`, d: d || "M0 0" }), ...dots];
}
