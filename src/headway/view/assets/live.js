/** Type and see: the sentence, the model and the search, asked anew whenever one of them changes. */

import { el, replace, sentence } from "./dom.js";
import { Server } from "./server.js";

const WAIT = 300; // milliseconds of rest before a question is asked

/**
 * @param {HTMLElement} host
 * @param {import("./main.js").App} app
 * @param {(raw: Object<string, any>) => void} answered
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
  const model = el("select", { id: "model" });
  const number = (id, value, props) => el("input", { id, type: "number", value, ...props });
  const beam = number("beam", 5, { min: 1, max: 64 });
  const alpha = number("alpha", 1, { min: 0, max: 5, step: 0.1 });
  const best = number("n_best", 5, { min: 1, max: 64 });
  const length = number("max_length", "", { min: 1, placeholder: "auto" });
  const words = (id, placeholder) =>
    el("input", { id, type: "text", dir: "auto", placeholder, autocomplete: "off" });
  const must = words("must", "terms, separated by ;");
  const mustNot = words("must_not", "terms, separated by ;");
  const prefix = words("prefix", "first words of the output");
  const status = el("p", { class: "status", role: "status" });
  const secret = el("input", {
    id: "token",
    type: "text",
    autocomplete: "off",
    spellcheck: "false",
  });
  const field = (name, input) => el("label", { class: "field" }, el("span", {}, name), input);
  const secretField = field("Access token", secret);
  secretField.hidden = true;
  replace(
    host,
    el(
      "div",
      { class: "card live" },
      text,
      el(
        "div",
        { class: "fields" },
        field("Model", model),
        field("Beam", beam),
        field("Alpha", alpha),
        field("Outputs", best),
        field("Longest", length),
      ),
      el(
        "div",
        { class: "fields terms" },
        field("Must appear", must),
        field("Must not appear", mustNot),
        field("Begins with", prefix),
      ),
      secretField,
      status,
    ),
  );
  text.value = app.store.values.text || app.inspection.source.text;

  const terms = (input) =>
    input.value
      .split(";")
      .map((term) => term.trim())
      .filter(Boolean);
  const whole = (input) => (input.value === "" ? null : Number(input.value));

  function question(output) {
    const asked = {
      model: model.value || app.store.values.model || null,
      text: text.value,
      beam: whole(beam),
      alpha: whole(alpha),
      n_best: whole(best),
      max_length: whole(length),
      must: terms(must),
      must_not: terms(mustNot),
      prefix: prefix.value,
      output,
    };
    return Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== null));
  }

  /** Asks, and shows what comes. @param {number} output whose attention is wanted */
  async function ask(output) {
    clearTimeout(timer);
    if (!text.value.trim()) return say("");
    for (const input of [beam, alpha, best, length])
      if (!input.checkValidity()) return say(`${input.id}: ${input.validationMessage}`, true);
    say("…");
    const begun = performance.now();
    try {
      const raw = await server.inspect(question(output));
      if (!raw) return;
      say(`${Math.round(performance.now() - begun)} ms`);
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
        text: text.value.length <= 500 ? text.value : "",
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
      const models = await server.models();
      replace(
        model,
        models.map(({ name, task }) =>
          el("option", { value: name }, task ? `${name} (${task})` : name),
        ),
      );
      if (models.some(({ name }) => name === app.store.values.model))
        model.value = app.store.values.model;
      secretField.hidden = true;
    } catch (error) {
      secretField.hidden = error.status !== 401;
      return say(error.message, true);
    }
    if (text.value && (app.inspection.isEmpty || app.store.values.text))
      ask(app.store.values.output);
  }

  for (const input of [text, beam, alpha, best, length, must, mustNot, prefix])
    input.addEventListener("input", soon);
  model.addEventListener("change", soon);
  secret.addEventListener("change", () => {
    server.token = secret.value;
    begin();
  });
  begin();
  return {
    /** Puts a beginning of the output into its field, to be edited. */
    beginWith(words) {
      prefix.value = words;
      prefix.focus();
    },
    /** The attention of another output. */
    wants: (output) => ask(output),
    async training() {
      if (!model.value) return null;
      return server.training(model.value).catch(() => null);
    },
  };
}
