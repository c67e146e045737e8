/**
 * Strips over a history: the weight of each patch by layer and head, dark where a layer looks, and
 * the values under them at the same places. The chosen strip also tints the values.
 */

import { el, replace, svg } from "./dom.js";
import { EDGE, across, moved, timeTick } from "./forecast_chart.js";
import { colour, level, ramp } from "./paint.js";
import { timeTicks } from "./time_axis.js";

const [STRIP, SPACE, GROUP] = [13, 2, 6]; // pixels
const VALUES = 128; // height of the values
const LABEL = 74;

/**
 * @param {import("./series_window.js").SeriesWindow} data
 * @param {{pointed: (column: number|null) => void, picked: (step: number) => void,
 *   chosen: (strip: import("./patch_look.js").Strip) => void}} on
 */
export function patchStrips(data, on) {
  const canvas = el("canvas", { class: "strips-canvas", "aria-hidden": "true" });
  const below = el("div", { "aria-hidden": "true" });
  const node = el(
    "div",
    {
      class: "patch-strips",
      tabindex: 0,
      role: "application",
      "aria-roledescription": "attention over time",
      "aria-label":
        "attention to each patch; left and right read the patches, up and down choose a layer or " +
        "head, Enter looks from a patch",
    },
    canvas,
    below,
  );
  let state = null; // strips, chosen, query
  let hovered = null;
  let width = 0;
  let rows = [];

  const patches = data.raw.patches;
  const to = data.steps;
  const span = (column) => patches[column];
  const columnAt = (step) => {
    const found = patches.findLastIndex(([first, last]) => first <= step && step <= last);
    return found < 0 ? null : found;
  };
  const stepAt = (event) => {
    const left = event.clientX - node.getBoundingClientRect().left - EDGE.left;
    const step = Math.floor((left / (width - EDGE.left - EDGE.right)) * to);
    return step < 0 || step >= to ? null : step;
  };
  const sides = (column) => {
    const [first, last] = span(column);
    const next = patches[column + 1]?.[0] ?? last + 1;
    return [first, Math.min(next, last + 1)].map((step) => across(step, 0, to, width));
  };

  function draw() {
    width = node.clientWidth;
    if (!width || !state) return;
    layout();
    paint();
    drawValues();
  }

  function layout() {
    let y = 2;
    rows = state.strips.map((strip, i) => {
      if (i && strip.isLayer) y += GROUP;
      const row = { strip, y, weights: strip.weights() };
      y += STRIP + SPACE;
      return row;
    });
    const ratio = devicePixelRatio || 1;
    const height = y + 2;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }

  function paint() {
    const ratio = devicePixelRatio || 1;
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, canvas.height);
    context.textBaseline = "middle";
    for (const { strip, y, weights } of rows) {
      const isChosen = strip === state.chosen;
      context.font = `${isChosen ? 650 : 400} 11px ${colour("sans")}`;
      context.fillStyle = colour(isChosen ? "ink" : "muted");
      context.textAlign = "right";
      context.fillText(strip.label, EDGE.left - 8, y + STRIP / 2 + 0.5);
      const peak = Math.max(...Array.from(weights));
      patches.forEach(([first], column) => {
        if (first < 0) return;
        const [x, end] = sides(column);
        context.fillStyle = shadeOf(weights[column], peak);
        context.fillRect(x, y, Math.max(end - x - (end - x > 4 ? 1 : 0), 0.6), STRIP);
      });
      if (isChosen) {
        context.strokeStyle = colour("ink");
        context.lineWidth = 1.5;
        context.strokeRect(EDGE.left - 2, y - 1.5, width - EDGE.left - EDGE.right + 3, STRIP + 3);
      }
    }
    frame(context, state.query.kind === "encoder" ? state.query.row : null, 1);
    frame(context, hovered, 0.45);
  }

  /** The frame of a patch over all strips. */
  function frame(context, column, opacity) {
    if (column === null || span(column)[0] < 0) return;
    const [x, end] = sides(column);
    context.globalAlpha = opacity;
    context.strokeStyle = colour("ink");
    context.lineWidth = 1.5;
    context.strokeRect(x - 0.75, 0.75, Math.max(end - x, 3) + 0.5, canvas.clientHeight - 1.5);
    context.globalAlpha = 1;
  }

  function drawValues() {
    const bottom = VALUES - EDGE.bottom;
    const known = [...data.values.slice(0, data.n), ...data.raw.forecast].filter((v) => v !== null);
    const [low, high] = known.length ? [Math.min(...known), Math.max(...known)] : [0, 1];
    const y = (value) => bottom - 6 - ((value - low) / (high - low || 1)) * (bottom - 14);
    const weights = rows.find(({ strip }) => strip === state.chosen)?.weights ?? [];
    const peak = Math.max(...Array.from(weights));
    const most = Math.max(2, Math.floor((width - 70) / LABEL));
    const now = across(data.n, 0, to, width);
    replace(
      below,
      svg(
        "svg",
        { class: "chart", viewBox: `0 0 ${width} ${VALUES}`, width, height: VALUES },
        svg("rect", {
          class: "ahead",
          x: now,
          y: 0,
          width: width - EDGE.right - now,
          height: bottom,
        }),
        patches.map(([first], column) => {
          if (first < 0) return null;
          const [x, end] = sides(column);
          const opacity = peak > 0 ? 0.45 * Math.min(1, weights[column] / peak) : 0;
          return svg("rect", {
            class: "tint",
            x: x.toFixed(1),
            y: 0,
            width: (end - x).toFixed(1),
            height: bottom,
            "fill-opacity": opacity.toFixed(3),
          });
        }),
        frames(bottom),
        [
          ["history", data.values.slice(0, data.n), 0],
          data.horizon > 0 && ["foretold", [data.values[data.n - 1], ...data.raw.forecast], data.n - 1],
        ].filter(Boolean).map(([css, values, first]) =>
          svg("path", {
            class: `series-line thin ${css}`,
            d: stroke(values, (i) => across(first + i + 0.5, 0, to, width), y),
          }),
        ),
        svg("path", { class: "base", d: `M${EDGE.left} ${bottom}H${width - EDGE.right}` }),
        data.horizon > 0 && svg("path", { class: "now", d: `M${now} 0V${bottom}` }),
        timeTicks(data.times, 0, to, most).map(({ at, label }) =>
          timeTick(across(at + 0.5, 0, to, width), bottom, label),
        ),
      ),
    );
  }

  function frames(bottom) {
    const { span: from } = state.query;
    const box = ([first, last], css) => {
      const [x, end] = [first, last + 1].map((step) => across(step, 0, to, width));
      return svg("rect", { class: css, x, y: 1, width: end - x, height: bottom - 2 });
    };
    return [
      from && from[0] >= 0 && box(from, "from"),
      hovered !== null && span(hovered)[0] >= 0 && box(span(hovered), "from faint"),
    ];
  }

  function hover(column) {
    if (column === hovered) return;
    hovered = column;
    paint();
    drawValues();
    on.pointed(column);
  }

  const stripAt = (event) => {
    const top = event.clientY - canvas.getBoundingClientRect().top;
    return rows.find(({ y }) => y - SPACE <= top && top < y + STRIP + SPACE)?.strip;
  };
  node.addEventListener("pointermove", (event) => {
    const step = stepAt(event);
    if (state) hover(step === null ? null : columnAt(step));
  });
  node.addEventListener("pointerleave", () => state && hover(null));
  node.addEventListener("blur", () => state && hover(null));
  canvas.addEventListener("click", (event) => stripAt(event) && on.chosen(stripAt(event)));
  below.addEventListener("click", (event) => {
    const step = stepAt(event);
    if (step !== null) on.picked(step);
  });
  node.addEventListener("keydown", (event) => {
    const up = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (up) {
      const strips = rows.map(({ strip }) => strip);
      const next = strips[strips.indexOf(state.chosen) + up];
      if (next) on.chosen(next);
    } else if (event.key === "Enter" && hovered !== null) on.picked(span(hovered)[0]);
    else {
      const column = moved(event, hovered ?? patches.length - 1, 0, patches.length - 1);
      if (column === null) return;
      hover(column);
    }
    event.preventDefault();
  });
  new ResizeObserver(() => node.clientWidth !== width && draw()).observe(node);
  return {
    node,
    show(next) {
      state = next;
      draw();
    },
    refresh: draw,
    /** The weight of a patch in the chosen strip. */
    weight: (column) =>
      rows.find(({ strip }) => strip === state?.chosen)?.weights[column] ?? 0,
  };
}

function shadeOf(weight, peak) {
  const pixel = ramp(false)[level(weight, peak, false)];
  return `rgb(${pixel & 255} ${(pixel >> 8) & 255} ${(pixel >> 16) & 255})`;
}

function stroke(values, x, y) {
  let d = "";
  values.forEach((value, i) => {
    if (value === null) return;
    d += `${i && values[i - 1] !== null ? "L" : "M"}${x(i).toFixed(1)} ${y(value).toFixed(1)}`;
  });
  return d || "M0 0";
}
