/** The fields of a live page for a model of series: a CSV file, dropped, chosen or pasted. */

import { el, replace, short } from "./dom.js";

const SHOWN = 4000; // characters of a file that stand in the field
const SPARE = 2000; // bytes of a request besides the file

/**
 * @param {() => void} changed called when a file or a choice is new
 */
export function seriesFields(changed) {
  const field = el("textarea", {
    id: "csv",
    rows: 4,
    spellcheck: "false",
    wrap: "off",
    "aria-label": "Rows of a CSV file",
  });
  const picker = el("input", { id: "file", type: "file", accept: ".csv,.tsv,.txt,text/csv" });
  const about = el("span", { class: "key" });
  const lists = {
    name: list("Series"),
    column: list("Column"),
    at: list("Forecast"),
  };
  const drop = el(
    "div",
    { class: "drop" },
    field,
    el("div", { class: "fields" }, el("label", { class: "file" }, "Choose a CSV file", picker), about),
  );
  const warnings = el("div", { class: "warnings", role: "status" });
  const node = el("div", { class: "series-fields" }, drop, warnings);
  /** The whole file; the field may show only its beginning. */
  let csv = "";
  let model = {};

  function list(label) {
    const select = el("select", { on: { change: changed } });
    const node = el("label", { class: "field" }, el("span", {}, label), select);
    node.hidden = true;
    return { node, select };
  }

  const step = () => (model.series?.horizon ? "time" : "step");

  function fill({ node, select }, options, chosen) {
    replace(
      select,
      options.map(([value, words]) => el("option", { value, selected: value === chosen }, words)),
    );
    node.hidden = options.length < 2;
  }

  function take(text, name, isKnown) {
    csv = text;
    replace(warnings, []);
    field.value = text.length > SHOWN ? `${text.slice(0, SHOWN)}\n…` : text;
    const rows = text.split("\n").filter((line) => line.trim()).length - 1;
    replace(about, name ? `${name}, ${short(Math.max(0, rows))} rows` : "or drop one here, or paste its rows");
    fill(lists.name, [], "");
    fill(lists.column, [], "");
    offerBeginnings(isKnown);
  }

  function offerBeginnings(isKnown) {
    const { horizon } = model.series ?? {};
    const options = [
      ["", "after the end"],
      [`-${horizon}`, `of the last ${horizon} steps`],
    ];
    fill(lists.at, horizon ? options : [], isKnown ? `-${horizon}` : "");
  }

  async function read(file) {
    take(await file.text(), file.name, false);
    changed();
  }

  field.addEventListener("input", () => {
    take(field.value, "", lists.at.select.value !== "");
    changed();
  });
  picker.addEventListener("change", () => picker.files[0] && read(picker.files[0]));
  for (const kind of ["dragover", "dragleave", "drop"])
    drop.addEventListener(kind, (event) => {
      event.preventDefault();
      drop.classList.toggle("over", kind === "dragover");
      if (kind === "drop" && event.dataTransfer.files[0]) read(event.dataTransfer.files[0]);
    });

  return {
    node,
    lists: Object.values(lists).map((one) => one.node),
    get hasData() {
      return Boolean(csv.trim());
    },
    /** Another model: what it reads. @param {Object<string, any>} next its description */
    fit(next) {
      model = next;
      const { columns = [], covariates = [] } = model.series ?? {};
      const names = [...columns, ...covariates];
      field.placeholder = `Drop a CSV file here, or paste its rows: a line for each ${step()}, with the columns ${names.join(", ")}`;
    },
    /** Begins with an example, whose last values are known. */
    offer(example) {
      take(example, "", true);
    },
    /** What to ask; the last rows of a file that is too large. @param {Object<string, number>} limits */
    question(limits) {
      const [{ value: name }, { value: column }, { value: at }] = Object.values(lists).map(
        ({ select }) => select,
      );
      const asked = { csv: lastRows(csv, limits, (n) => replace(about, `the last ${short(n)} rows`)) };
      if (name) asked.name = name;
      if (column) asked.column = column;
      if (at) asked.at = Number(at);
      return asked;
    },
    /**
     * Offers the series and columns of an answer, and shows its warnings.
     * @param {string[]} found what to know of the file
     */
    answered({ names, series, column }, found = []) {
      replace(warnings, found.map((text) => el("p", {}, `Warning: ${text}`)));
      fill(lists.name, names.series.map((name) => [name, name]), series);
      fill(lists.column, names.columns.map((name) => [name, name]), column);
    },
  };
}

/** A table without so many of its first rows that it is within the limits. */
function lastRows(csv, { body = Infinity, steps = Infinity }, shortened) {
  const size = (text) => new TextEncoder().encode(JSON.stringify(text)).length;
  const lines = csv.split(/\r?\n/).filter((line) => line.trim());
  if (lines.length <= steps && size(csv) <= body - SPARE) return csv;
  const [header, ...rows] = lines;
  let left = body - SPARE - size(header);
  let first = rows.length;
  while (first > 0 && rows.length - first < steps - 2 && (left -= size(rows[first - 1])) > 0) first--;
  shortened(rows.length - first);
  return [header, ...rows.slice(first)].join("\n");
}
