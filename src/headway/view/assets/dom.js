/**
 * Elements, tokens and numbers of the page. Foreign text enters as text nodes and attribute values
 * only, never as markup.
 */

/** @typedef {Node|string|number|null|undefined|false} Child */

const SVG = "http://www.w3.org/2000/svg";

/**
 * An element. `on` holds listeners, `style` CSS properties; other names are attributes, of which
 * true is written empty and false, null and undefined are left out.
 * @param {string} tag
 * @param {Object<string, any>} [props]
 * @param {...(Child|Child[])} children
 * @returns {HTMLElement}
 */
export function el(tag, props = {}, ...children) {
  return fill(document.createElement(tag), props, children);
}

/** An SVG element. @returns {SVGElement} */
export function svg(tag, props = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

function fill(node, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
    } else if (name === "style") {
      for (const [key, text] of Object.entries(value)) node.style.setProperty(key, text);
    } else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined)
      node.setAttribute(name, value);
  }
  append(node, children);
  return node;
}

/** @param {Element} node @param {(Child|Child[])[]} children */
export function append(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) node.append(child);
  }
}

/** Replaces the children of a node. @param {Element} node */
export function replace(node, ...children) {
  node.replaceChildren();
  append(node, children);
}

/** A token in its own writing direction. @param {string} word */
export function token(word) {
  return el("bdi", { dir: "auto", class: "token" }, visible(word));
}

/** A sentence in its own writing direction. @param {string} words */
export function sentence(words, kind = "sentence") {
  return el("span", { dir: "auto", class: kind }, words || "∅");
}

/**
 * A token with the white space at its ends, and invisible characters, made visible.
 * @param {string} word
 */
export function visible(word) {
  const shown = String(word)
    .replace(/^\s+|\s+$/g, (spaces) =>
      spaces.replace(/\n/g, "⏎").replace(/\t/g, "⇥").replace(/\s/g, "␣"),
    )
    .replace(/[\u0000-\u001f]/g, (c) => String.fromCharCode(0x2400 + c.charCodeAt(0)))
    .replace(/[\u202a-\u202e\u2066-\u2069\u200e\u200f]/g, "·");
  return shown || "∅";
}

/** A token inside a line of text, kept from turning its neighbours round (FSI, PDI). */
export function isolated(word) {
  return `\u2068${visible(word)}\u2069`;
}

/** A number with a real minus sign. @param {number|null|undefined} value */
export function figure(value, digits = 4) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const text = value.toFixed(digits);
  return (Number(text) === 0 ? text.replace("-", "") : text).replace("-", "−");
}

/** A number of any size in few characters. @param {number} value */
export function short(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return figure(value);
  const size = Math.abs(value);
  if (size >= 1000 && size < 1e9) return Math.round(value).toLocaleString("en").replace("-", "−");
  if (size !== 0 && (size < 1e-4 || size >= 1e9)) return value.toExponential(2).replace(/-/g, "−");
  return String(Number(value.toPrecision(4))).replace("-", "−");
}

/** @param {number} share */
export function percent(share) {
  if (!Number.isFinite(share)) return "–";
  if (share > 0 && share < 0.0005) return "<0.1%";
  return `${(100 * share).toFixed(1)}%`;
}

/** A button. @param {Child|Child[]} content @param {() => void} press */
export function button(content, press, props = {}) {
  return el("button", { type: "button", ...props, on: { click: press, ...props.on } }, content);
}

/**
 * Buttons of which one is pressed: a radio group with arrow keys.
 * @param {string} label
 * @param {[string, Child][]} choices value and content of the button
 * @param {string} chosen
 * @param {(value: string) => void} choose
 */
export function choices(label, options, chosen, choose) {
  const group = el("div", {
    class: "choices",
    role: "radiogroup",
    "aria-label": label,
    "data-keep": label,
  });
  for (const [value, content] of options) {
    const isChosen = value === chosen;
    group.append(
      button(content, () => choose(value), {
        role: "radio",
        "aria-checked": String(isChosen),
        tabindex: isChosen ? 0 : -1,
        "data-value": value,
      }),
    );
  }
  rove(group, "[role=radio]", (item) => item.click());
  return group;
}

/**
 * Arrow keys move the focus among the items of a group, of which one is in the tab order.
 * @param {Element} group
 * @param {string} selector
 * @param {(item: HTMLElement) => void} [reached]
 */
export function rove(group, selector, reached) {
  group.addEventListener("keydown", (event) => {
    const items = [...group.querySelectorAll(selector)];
    const at = items.indexOf(document.activeElement?.closest(selector));
    if (at < 0) return;
    const to = destination(event.key, at, items.length);
    if (to === null) return;
    event.preventDefault();
    focusAmong(items, items[to]);
    reached?.(items[to]);
  });
}

function destination(key, at, n) {
  if (key === "ArrowRight" || key === "ArrowDown") return (at + 1) % n;
  if (key === "ArrowLeft" || key === "ArrowUp") return (at + n - 1) % n;
  if (key === "Home") return 0;
  if (key === "End") return n - 1;
  return null;
}

function focusAmong(items, item) {
  for (const other of items) other.tabIndex = other === item ? 0 : -1;
  item.focus();
}

/**
 * Redraws and keeps the focus: the control that had it is identified by `data-keep`.
 * @param {Element} host @param {() => void} draw
 */
export function keepFocus(host, draw) {
  const at = document.activeElement;
  const key = host.contains(at) ? at.closest("[data-keep]")?.dataset.keep : undefined;
  draw();
  if (key === undefined) return;
  const again = [...host.querySelectorAll("[data-keep]")].find((node) => node.dataset.keep === key);
  (again?.querySelector("[tabindex='0']") ?? again)?.focus();
}

/** Scrolls a row of buttons sideways, and nothing else, until one of them can be seen. */
export function inSight(row, item) {
  const [inner, outer] = [item.getBoundingClientRect(), row.getBoundingClientRect()];
  if (inner.left < outer.left) row.scrollLeft -= outer.left - inner.left + 24;
  else if (inner.right > outer.right) row.scrollLeft += inner.right - outer.right + 24;
}

/**
 * Marks a row that scrolls sideways, so that its style can show on which sides there is more.
 * @param {HTMLElement} row
 * @returns {() => void} to be called when its content has changed
 */
export function markOverflow(row) {
  const mark = () => {
    const hidden = row.scrollWidth - row.clientWidth;
    row.classList.toggle("more-before", row.scrollLeft > 1);
    row.classList.toggle("more-after", row.scrollLeft < hidden - 1);
  };
  row.addEventListener("scroll", mark, { passive: true });
  new ResizeObserver(mark).observe(row);
  return mark;
}

/** A drop-down list. @param {[string, string][]} options @param {(value: string) => void} choose */
export function select(label, options, chosen, choose) {
  const list = el(
    "select",
    { "data-keep": label, on: { change: () => choose(list.value) } },
    options.map(([value, words]) => el("option", { value, selected: value === chosen }, words)),
  );
  return el("label", { class: "field" }, el("span", {}, label), list);
}

/** A sentence in place of an empty view. */
export function empty(...words) {
  return el("p", { class: "empty" }, ...words);
}
