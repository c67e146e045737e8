/** The n-best list: scores, the probability of each token, and its alternatives. */

import { el, empty, figure, isolated, percent, replace, rove, sentence, token } from "./dom.js";
import { wordBars } from "./bars.js";
import { inSlices } from "./slices.js";

const MANY = 400; // tokens; with more, only the chosen output shows its tokens

/** @param {HTMLElement} host @param {import("./inspection_page.js").App} app */
export function outputsView(host, app) {
  const list = el("ol", {
    class: "outputs",
    role: "radiogroup",
    "aria-label": "Outputs, best first",
  });
  const aside = el("aside", { class: "card" });
  let drawn = null;
  let hasAll = true;
  let stop = () => {};
  let pinned = null;
  rove(list, "[role=radio]", (item) => item.click());

  function update() {
    const { inspection, store } = app;
    if (!inspection.outputs.length) {
      drawn = null;
      return replace(
        host,
        empty(inspection.isEmpty && app.live ? "Type a sentence above." : "There are no outputs."),
      );
    }
    if (drawn !== inspection) {
      drawn = inspection;
      pinned = null;
      const n = inspection.outputs.reduce((sum, output) => sum + (output.tokens?.length ?? 0), 0);
      hasAll = n <= MANY;
      replace(list, inspection.outputs.map(item));
      replace(host, n ? el("div", { class: "beside" }, list, aside) : list);
      alternatives(null);
    }
    const chosen = inspection.index(store.values.output);
    for (const node of list.querySelectorAll("[role=radio]")) {
      const isChosen = Number(node.dataset.output) === chosen;
      node.setAttribute("aria-checked", String(isChosen));
      node.tabIndex = isChosen ? 0 : -1;
      const line = node.closest("li");
      line.classList.toggle("chosen", isChosen);
      const pieces = line.querySelector(".tokens");
      if (pieces && (hasAll || isChosen) && !pieces.firstChild)
        fill(pieces, inspection.outputs[node.dataset.output]);
      else if (pieces && !hasAll && !isChosen) replace(pieces);
    }
  }

  function item(output, index) {
    const choose = () => app.store.set({ output: index });
    const tokens = output.tokens ?? [];
    const chips = el("div", {
      class: "tokens",
      dir: "auto",
      role: "group",
      "aria-label": `tokens of output ${index + 1}`,
    });
    rove(chips, ".piece");
    return el(
      "li",
      { class: "card" },
      el(
        "div",
        {
          class: "output",
          role: "radio",
          "data-output": index,
          on: { click: choose, keydown: press(choose) },
        },
        el("span", { class: "count" }, index + 1),
        sentence(output.text),
        el(
          "span",
          { class: "figures" },
          figures(output).map(([name, words]) => el("span", {}, `${name} `, el("b", {}, words))),
          output.finished === false && el("span", { class: "bad" }, "cut off"),
          app.live && app.inspection.raw.search && continueFrom(output),
        ),
      ),
      tokens.length ? chips : null,
      output.unmet?.length
        ? el(
            "p",
            { class: "bad small" },
            "Could not be kept: ",
            output.unmet.map((term) => [token(term), " "]).flat(),
          )
        : null,
    );
  }

  /** Makes an output the prefix of the next request, to be shortened and continued. */
  function continueFrom(output) {
    const go = (event) => {
      event.stopPropagation();
      app.live.beginWith(output.text);
    };
    return el("button", { type: "button", class: "link", on: { click: go } }, "edit");
  }

  function fill(chips, output) {
    stop();
    stop = inSlices(pieces(chips, output), { first: 8 });
    chips.firstChild.tabIndex = 0;
  }

  function* pieces(chips, output) {
    for (let from = 0; from < output.tokens.length; from += MANY / 4) {
      const some = output.tokens.slice(from, from + MANY / 4);
      chips.append(...some.map((word, place) => chip(output, word, from + place)));
      if (!hasAll) yield;
    }
  }

  function chip(output, word, place) {
    const log = output.token_log_probs?.[place];
    const share = log === undefined || log === null ? NaN : Math.exp(log);
    const show = () => alternatives(output, place);
    const about = output.words?.[place];
    return el(
      "span",
      {
        class: "piece",
        tabindex: -1,
        role: "button",
        "aria-label": [about, word].filter(Boolean).map(isolated).join(" ") + ` ${percent(share)}`,
        style: { "--doubt": String(Math.round(100 * (1 - (Number.isNaN(share) ? 1 : share)))) },
        on: {
          pointerenter: show,
          focus: show,
          click: () => {
            pinned = [output, place];
          },
          pointerleave: () => pinned && alternatives(...pinned),
        },
      },
      about ? [token(about), el("b", {}, token(word))] : token(word),
      el("small", {}, percent(share)),
    );
  }

  function alternatives(output, place) {
    const top = output?.top?.[place];
    if (!output) {
      replace(
        aside,
        el("h3", {}, "Instead of a token"),
        el(
          "p",
          { class: "quiet" },
          "Point at a token to see what the model would have said in its place.",
        ),
      );
    } else if (!top) {
      replace(
        aside,
        el("h3", {}, "Instead of ", token(output.tokens[place])),
        el("p", { class: "quiet" }, "Not recorded for this output."),
      );
    } else {
      replace(
        aside,
        el("h3", {}, "Instead of ", token(output.tokens[place])),
        wordBars(top, output.tokens[place]),
      );
      app.announce(top.map(([name, share]) => `${isolated(name)} ${percent(share)}`).join(", "));
    }
  }
  return { update, refresh() {}, stop: () => stop() };
}

/** Names and texts of the facts about an output. */
function figures(output) {
  if (output.tokens?.length)
    return [
      ["score", figure(output.score)],
      ["log probability", figure(output.log_prob, 3)],
    ];
  if (output.value !== null && output.value !== undefined) return []; // it is the output itself
  const share = output.log_prob === null ? 0 : Math.exp(output.log_prob); // JSON has no infinity
  const span = output.span ? [["characters", `${output.span[0]} to ${output.span[1]}`]] : [];
  return [...span, ["probability", percent(share)]];
}

function press(action) {
  return (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    action();
  };
}
