/** The series tab: a column as a chart, the labels or the value, and where each patch looks. */

import { el, percent, replace, select, sentence, short, token } from "./dom.js";
import { bar } from "./bars.js";
import { forecastChart } from "./forecast_chart.js";
import { attentionFigure, lookFrom, noAttention } from "./patch_figure.js";

const MOST = 12; // labels in the list

/** @param {HTMLElement} host @param {import("./inspection_page.js").App} app */
export function seriesView(host, app) {
  const { inspection, store } = app;
  const pick = lookFrom(app);
  let channel = -1;
  let chart = null;
  let attention = null;

  /** The chart and the strips of the chosen column. */
  function draw() {
    const data = inspection.channel(channel);
    chart = forecastChart(data, { announce: app.announce, picked: pick, height: 260 });
    attention = inspection.kinds(0).length ? attentionFigure(app, data, pick) : null;
    replace(
      host,
      el(
        "div",
        { class: "beside" },
        el(
          "figure",
          { class: "card" },
          el("figcaption", {}, el("strong", {}, data.raw.series ? sentence(data.title) : "Values"), columnChoice()),
          chart.parts,
        ),
        el("aside", { class: "card" }, answer(inspection)),
      ),
      attention?.node ?? noAttention(inspection),
    );
    chart.show({ from: 0, lines: [] });
  }

  function columnChoice() {
    const { columns } = inspection.raw.series;
    const list = columns.map((name, i) => [String(i), name]);
    if (list.length < 2) return null;
    return select("Column", list, String(channel), (value) => store.set({ channel: Number(value) }));
  }

  function update() {
    const wanted = store.values.channel in inspection.raw.series.columns ? store.values.channel : 0;
    if (wanted !== channel) {
      const isChosen = channel >= 0; // by the list, which is drawn anew
      channel = wanted;
      draw();
      if (isChosen) host.querySelector("figcaption select").focus({ preventScroll: true });
    }
    attention?.update();
  }
  return {
    update,
    refresh() {
      chart.refresh();
      attention?.refresh();
    },
  };
}

/** The value of a regressor, or the labels of a classifier with their probabilities. */
function answer({ outputs }) {
  const [best] = outputs;
  if (best.value !== null && best.value !== undefined)
    return [el("h3", {}, "Value"), el("p", { class: "big" }, short(best.value))];
  const share = ({ log_prob: log }) => (log === null ? 0 : Math.exp(log)); // JSON has no infinity
  return [
    el("h3", {}, "Labels"),
    el(
      "ol",
      { class: "bars" },
      outputs
        .slice(0, MOST)
        .map((output, i) => bar(token(output.text), share(output), percent(share(output)), i === 0)),
    ),
    outputs.length > MOST && el("p", { class: "quiet small" }, `and ${outputs.length - MOST} more`),
  ];
}
