/** Builds the page: the head, the tabs, one view at a time, and their shared state. */

import { el, inSight, keepFocus, markOverflow, replace, select, sentence, short } from "./dom.js";
import { attentionView } from "./attention_view.js";
import { forecastView } from "./forecast_view.js";
import { Inspection } from "./inspection.js";
import { livePanel } from "./live.js";
import { outputsView } from "./outputs_view.js";
import { whenColoursChange } from "./paint.js";
import { positionsView } from "./positions_view.js";
import { seriesView } from "./series_view.js";
import { stepsView } from "./steps_view.js";
import { Store } from "./store.js";
import { trainingView } from "./training_view.js";
import { treeView } from "./tree_view.js";

/**
 * @typedef {{inspection: Inspection, store: Store, announce: (words: string) => void,
 *   live: null|{beginWith: (words: string) => void, wants: (output: number) => void,
 *   training: () => Promise<any>}}} App
 * @typedef {{update: (changed?: Set<string>) => void, refresh: () => void, stop?: () => void}} View
 */

/** Tabs: name, view, and whether an inspection has data for it. */
const VIEWS = {
  forecast: ["Forecast", forecastView, (it) => it.raw.forecast],
  series: ["Series", seriesView, (it) => it.raw.series],
  outputs: ["Outputs", outputsView, (it) => it.outputs.length > 0 && !it.window],
  search: ["Search", treeView, (it) => it.raw.trace || it.raw.search],
  attention: ["Attention", attentionView, (it) => !it.window || it.kinds(0).length],
  steps: ["Step by step", stepsView, (it) => !it.raw.forecast],
  positions: ["Positions", positionsView, () => true],
  training: ["Training", trainingView, (it) => app.live || it.raw.training?.rows?.length],
};

const byId = (id) => document.getElementById(id);

/** @type {App} */
const app = {
  inspection: new Inspection(JSON.parse(byId("data").textContent)),
  store: new Store(),
  announce: (words) => {
    byId("said").textContent = words;
  },
  live: null,
};
const markTabs = markOverflow(byId("tabs"));
/** @type {View|null} */
let view = null;
let shown = null;

/** The views of the current inspection; all of them before the first one. */
function views() {
  const { inspection } = app;
  const { isEmpty } = inspection;
  if (isEmpty && app.live?.isSeries()) return ["training"];
  const ofSeries = ["forecast", "series"];
  return Object.keys(VIEWS).filter((id) => (isEmpty ? !ofSeries.includes(id) : VIEWS[id][2](inspection)));
}

function viewName() {
  const there = views();
  return there.includes(app.store.values.view) ? app.store.values.view : there[0];
}

function drawTabs() {
  const chosen = viewName();
  const there = views();
  for (const tab of byId("tabs").children) {
    tab.hidden = !there.includes(tab.dataset.view);
    const isChosen = tab.dataset.view === chosen;
    tab.setAttribute("aria-selected", String(isChosen));
    tab.tabIndex = isChosen ? 0 : -1;
    if (isChosen) inSight(byId("tabs"), tab);
  }
  markTabs();
  byId("view").setAttribute("aria-labelledby", `tab-${chosen}`);
}

function makeTabs() {
  const tabs = byId("tabs");
  for (const [id, [name]] of Object.entries(VIEWS)) {
    tabs.append(
      el(
        "button",
        {
          type: "button",
          role: "tab",
          id: `tab-${id}`,
          "data-view": id,
          "aria-controls": "view",
          on: { click: () => app.store.set({ view: id }) },
        },
        name,
      ),
    );
  }
  tabs.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    const all = [...tabs.children].filter((tab) => !tab.hidden);
    const next = all[(all.indexOf(document.activeElement) + by + all.length) % all.length];
    next.focus();
    next.click();
  });
}

/** The head of the page: run, sentence and selected output. */
function drawHead() {
  const { inspection, store } = app;
  const { run, source, outputs } = inspection;
  const facts = [run.family, run.parameters && `${short(run.parameters)} parameters`]
    .filter(Boolean)
    .join(" · ");
  replace(byId("name"), run.name || "headway");
  replace(
    byId("about"),
    facts,
    inspection.raw.precision === "half" &&
      el(
        "span",
        { title: "numbers are kept in half precision so that the page stays small" },
        facts && " · ",
        "half precision",
      ),
  );
  replace(
    byId("facts"),
    (run.facts ?? []).map(([name, value]) =>
      el("div", {}, el("dt", {}, name), el("dd", { dir: "auto" }, value)),
    ),
  );
  byId("more").hidden = !run.facts?.length;
  const missing = inspection.raw.left_out ?? [];
  replace(
    byId("missing"),
    missing.length > 0 && ["Left out to keep this page small: ", missing.join("; "), "."],
  );
  const at = inspection.index(store.values.output);
  const list = outputs.map((output, i) => [String(i), `${i + 1}. ${output.text}`]);
  replace(
    byId("sentences"),
    source.text && !inspection.window && el("div", { class: "source" }, sentence(source.text)),
    outputs.length > 0 &&
      !inspection.window &&
      el(
        "div",
        { class: "target" },
        el("span", { class: "count", "aria-hidden": "true" }, "→"),
        sentence(outputs[at].text),
      ),
  );
  keepFocus(byId("which"), () =>
    replace(
      byId("which"),
      outputs.length > 1 &&
        !inspection.window &&
        select("Output", list, String(at), (value) => store.set({ output: Number(value) })),
    ),
  );
}

function drawView(changed) {
  const name = viewName();
  if (shown !== name || !view) {
    view?.stop?.();
    replace(byId("view"));
    shown = name;
    view = VIEWS[name][1](byId("view"), app);
    view.update();
  } else {
    view.update(changed);
  }
}

function changed(keys) {
  if (keys.has("view")) drawTabs();
  if (keys.has("output")) {
    drawHead();
    if (app.live && app.inspection.isLeftOut(app.store.values.output))
      app.live.wants(app.inspection.index(app.store.values.output));
  }
  drawView(keys);
}

/** Replaces the inspection by a new one from the server. */
function answered(raw) {
  app.inspection = new Inspection(raw);
  view?.stop?.();
  view = null;
  drawTabs();
  drawHead();
  drawView();
}

makeTabs();
if (byId("live")) app.live = livePanel(byId("live"), app, answered);
drawTabs();
drawHead();
drawView();
app.store.listen(changed);
whenColoursChange(() => view?.refresh());
document.documentElement.dataset.ready = "true";
