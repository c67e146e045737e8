/** The curves of a training log: loss, metrics of validations, learning rate, speed. */

import { figure, short } from "./dom.js";
import { lineChart } from "./chart.js";

const PLAIN = new Set([
  "step",
  "epoch",
  "minutes",
  "loss",
  "valid_loss",
  "lr",
  "tokens_per_second",
  "norm",
]);
const NAMES = {
  exact: "Exact match",
  bleu: "BLEU",
  chrf: "chrF",
  ter: "TER",
  accuracy: "Accuracy",
  macro_f1: "Macro F1",
};

/**
 * One chart for each group of values that the log has.
 * @param {Object<string, any>[]} rows of the log, in order; null is a value that is not finite
 * @param {Object<string, string>} [metrics] keys and labels of the metrics of validations
 * @returns {HTMLElement[]}
 */
export function trainingCharts(rows, metrics = metricsOf(rows)) {
  const x = rows.some((row) => row.minutes > 0) ? "minutes" : "step";
  const groups = [
    ["Loss", { loss: "training", valid_loss: "validation" }],
    ...Object.entries(metrics).map(([key, label]) => [
      `${label} on validation data`,
      { [key]: "validation" },
    ]),
    ["Learning rate", { lr: "learning rate" }],
    ["Speed", { tokens_per_second: "tokens per second" }],
  ];
  return groups
    .map(([title, lines]) => [
      title,
      Object.entries(lines)
        .map(([key, name]) => ({ name, points: points(rows, x, key) }))
        .filter((line) => line.points.length),
    ])
    .filter(([, series]) => series.length)
    .map(([title, series]) =>
      lineChart(title, series, x === "minutes" ? "minutes of training" : "step"),
    );
}

function metricsOf(rows) {
  const metrics = {};
  for (const row of rows) {
    if (!("valid_loss" in row)) continue;
    for (const [key, value] of Object.entries(row))
      if (!PLAIN.has(key) && Number.isFinite(value)) metrics[key] = NAMES[key] ?? key;
  }
  return metrics;
}

function points(rows, x, key) {
  return rows
    .filter((row) => key in row && Number.isFinite(row[x]))
    .map((row) => ({ x: row[x], y: row[key], at: moment(row) }));
}

/** The time of a row, as text. */
function moment({ step, minutes }) {
  return [
    Number.isFinite(step) && `step ${short(step)}`,
    Number.isFinite(minutes) && `${figure(minutes, 1)} min`,
  ]
    .filter(Boolean)
    .join(", ");
}
