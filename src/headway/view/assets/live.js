/** The live form: sentence or file, model and search; each change sends a request. */

import { el, replace, sentence } from "./dom.js";
import { seriesFields } from "./live_series.js";
import { Server } from "./server.js";

const WAIT = 300; // milliseconds without a change before a request

/**
 * @param {HTMLElement} host
 * @param {import("./inspection_page.js").App} app
 * @param {(raw: Object<string, any>|null) => void} answered null: nothing to show
 */
export function livePanel(host, app, answered) {
  const server = new Server();
  let timer = 0;
  const text = el("textarea", {
    rows: 2,
    dir: "auto",
    id: "text",
    "aria-label": "Text",
    placeholder: "Type a sentence",
    spellcheck: "false",
  });
  const second = el("textarea", { rows: 2, dir: "auto", id: "text2", spellcheck: "false" });
  second.hidden = true; // until a model is known that reads two texts at once
  const model = el("select", { id: "model" });
  const number = (id, value, props) => el("input", { id, type: "number", value, ...props });
  const beam = number("beam", 5, { min: 1, max: 64 });
  const alpha = number("alpha", 1, { min: 0, max: 5, step: 0.1 });
  const best = number("n_best", "", { min: 1, max: 64, placeholder: "all" });
  const length = number("max_length", "", { min: 1, placeholder: "auto" });
  const words = (id, placeholder) =>
    el("input", { id, type: "text", dir: "auto", placeholder, autocomplete: "off" });
  const required = words("require", "terms, separated by ;");
  const forbidden = words("forbid", "terms, separated by ;");
  const prefix = words("prefix", "first words of the output");
  const status = el("p", { class: "status", role: "status" });
  const secret = el("input", {
    id: "token",
    type: "text",
    autocomplete: "off",
    spellcheck: "false",
  });
  const field = (name, input) => el("label", { class: "field" }, el("span", {}, name), input);
  const series = seriesFields(() => {
    isExample = false;
    soon();
  });
  series.node.hidden = true; // until a model is known that reads series
  const secretField = field("Access token", secret);
  secretField.hidden = true;
  const search = [
    field("Beam", beam),
    field("Alpha", alpha),
    field("Outputs", best),
    field("Longest", length),
  ];
  const wishes = el(
    "div",
    { class: "fields terms" },
    field("Must appear", required),
    field("Must not appear", forbidden),
    field("Begins with", prefix),
  );
  replace(
    host,
    el(
      "div",
      { class: "card live" },
      text,
      second,
      series.node,
      el("div", { class: "fields" }, field("Model", model), series.lists, search, status),
      wishes,
      secretField,
    ),
  );
  /** The server's description of each model, by name. @type {Map<string, Object<string, any>>} */
  const known = new Map();
  text.value = app.store.values.text || app.inspection.source.text;
  /** Whether the fields hold an example of the model, and nothing of the reader's own. */
  let isExample = false;

  const terms = (input) =>
    input.value
      .split(";")
      .map((term) => term.trim())
      .filter(Boolean);
  const whole = (input) => (input.value === "" ? null : Number(input.value));

  const chosen = () => known.get(model.value) ?? {};
  const isReady = () => chosen().verbs?.includes("inspect") ?? true;
  const isSearching = () => chosen().verbs?.includes("translate") ?? true;
  const isSeries = () => Boolean(chosen().series);
  let limits = {};
  /** The names of the two texts of a model that reads two at once. */
  const names = () => (chosen().inputs?.length > 1 ? chosen().inputs : null);
  const typed = () => (names() ? `${text.value}\t${second.value}` : text.value);
  const isTyped = () =>
    isSeries() ? series.hasData : [text, second].every((field) => field.hidden || field.value.trim());

  /** Begins with an example of the model, unless the reader has written something. */
  function offerExample() {
    if (isSeries()) {
      isExample = Boolean(chosen().example);
      return series.offer(chosen().example?.[0] ?? "");
    }
    if (!isExample && (text.value.trim() || second.value.trim())) return;
    [text.value, second.value] = [...(chosen().example ?? []), "", ""];
    isExample = Boolean(text.value);
  }

  /** Shows the fields and settings of the chosen model, with the values of its run. */
  function fit() {
    const [one, other] = names() ?? ["Text", ""];
    text.placeholder = other ? one : "Type a sentence";
    text.setAttribute("aria-label", one);
    second.placeholder = other;
    second.setAttribute("aria-label", other);
    text.hidden = isSeries();
    second.hidden = !other || isSeries();
    series.node.hidden = !isSeries();
    for (const one of series.lists) one.hidden = true;
    series.fit(chosen());
    if (isSeries() !== Boolean(app.inspection.window)) answered(null);
    if (other && text.value.includes("\t")) [text.value, second.value] = text.value.split("\t");
    const usual = isSearching() ? chosen().search : null;
    for (const one of [...search, wishes]) one.hidden = !isSearching();
    if (usual) {
      beam.value = usual.beam;
      alpha.value = usual.alpha;
      length.placeholder = length.max = usual.max_length;
    }
    if (isReady()) return;
    answered(null);
    say(
      chosen().parameters === null
        ? "This run has no weights yet. Its training is shown as it goes on."
        : "This run has no output to look at. Its training is shown.",
    );
    app.store.set({ view: "training" });
  }

  function question(output) {
    if (isSeries()) return { model: model.value || null, ...series.question(limits) };
    const [one, other] = names() ?? [];
    const given = other ? { [one]: text.value, [other]: second.value } : text.value;
    const asked = { model: model.value || null, text: given };
    if (!isSearching()) return asked;
    Object.assign(asked, {
      beam: whole(beam),
      alpha: whole(alpha),
      n_best: whole(best),
      max_length: whole(length),
      require: terms(required),
      forbid: terms(forbidden),
      prefix: prefix.value,
      output: best.value ? Math.min(output, Number(best.value) - 1) : output,
    });
    return Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== null));
  }

  /** Sends a request and shows the result. @param {number} output whose attention to load */
  async function ask(output) {
    clearTimeout(timer);
    await begun;
    if (!isReady()) return;
    if (!isTyped()) return say("");
    for (const input of [beam, alpha, best, length])
      if (!input.checkValidity() && !input.validity.stepMismatch) return say(`${input.id}: ${input.validationMessage}`, true);
    say("…");
    const since = performance.now();
    try {
      const raw = await server.inspect(question(output));
      if (!raw) return;
      const taken = `${Math.round(performance.now() - since)} ms`;
      const own = isSeries() ? "Drop a file of your own." : "Type your own.";
      say(isExample ? `An example. ${own} ${taken}` : taken);
      if (raw.forecast ?? raw.series) series.answered(raw.forecast ?? raw.series, raw.warnings);
      answered(raw);
    } catch (error) {
      secretField.hidden = error.status !== 401;
      say(error.message, true);
    }
  }

  function soon() {
    clearTimeout(timer);
    timer = setTimeout(() => {
      app.store.set({
        text: !isExample && !isSeries() && typed().length <= 500 ? typed() : "",
        model: model.value,
        output: 0,
      });
      ask(0);
    }, WAIT);
  }

  function say(message, isBad = false) {
    status.classList.toggle("bad", isBad);
    replace(status, message && (isBad ? sentence(message, "") : message));
  }

  async function begin() {
    try {
      const { models, limits: allowed } = await server.models();
      limits = allowed ?? {};
      for (const one of models) known.set(one.name, one);
      replace(
        model,
        models.map(({ name, task }) => el("option", { value: name }, `${name} (${task})`)),
      );
      if (known.has(app.store.values.model)) model.value = app.store.values.model;
      if (limits.beam) beam.max = best.max = limits.beam;
      secretField.hidden = true;
      say("");
      fit();
      offerExample();
    } catch (error) {
      secretField.hidden = error.status !== 401;
      return say(error.message, true);
    }
    if (isTyped() && (app.inspection.isEmpty || app.store.values.text))
      ask(app.store.values.output);
  }

  for (const input of [text, second, beam, alpha, best, length, required, forbidden, prefix])
    input.addEventListener("input", soon);
  for (const input of [text, second]) {
    input.addEventListener("input", () => (isExample = false));
    input.addEventListener("focus", () => isExample && input.select());
  }
  model.addEventListener("change", () => {
    fit();
    offerExample();
    soon();
  });
  secret.addEventListener("change", () => {
    server.token = secret.value;
    begun = begin();
  });
  let begun = begin();
  return {
    /** Whether the chosen model reads series. */
    isSeries,
    /** Puts a prefix of the output into its field, to be edited. */
    beginWith(words) {
      prefix.value = words;
      prefix.focus();
    },
    /** The attention of another output. */
    wants: (output) => ask(output),
    async training() {
      await begun;
      if (!model.value) return null;
      return server.training(model.value).catch(() => null);
    },
  };
}
