/** The selection, kept in the hash of the address so that a view can be linked. */

/** Default of each key that the address does not have; the type is that of the default. */
export const DEFAULTS = {
  view: "outputs",
  output: 0,
  kind: "",
  mode: "map",
  layer: "",
  head: "mean",
  heads: "",
  row: 0,
  column: 0,
  stage: 0,
  step: -1,
  node: "",
  pruned: true,
  place: 0,
  side: "source",
  sample: -1,
  zoom: "recent",
  lines: "",
  patch: "",
  channel: 0,
  model: "",
  text: "",
};

export class Store {
  constructor() {
    this.values = { ...DEFAULTS, ...parse(location.hash) };
    this.listeners = [];
    this.timer = 0;
    // A pending write may have changed the address: the event has the requested one.
    addEventListener("hashchange", (event) => {
      this.set({ ...DEFAULTS, ...parse(new URL(event.newURL).hash) });
    });
  }

  /** @param {(changed: Set<string>) => void} listener */
  listen(listener) {
    this.listeners.push(listener);
  }

  /** @param {Partial<typeof DEFAULTS>} patch */
  set(patch) {
    const changed = new Set();
    for (const [key, value] of Object.entries(patch)) {
      if (this.values[key] === value) continue;
      this.values[key] = value;
      changed.add(key);
    }
    if (!changed.size) return;
    for (const listener of this.listeners) listener(changed);
    // Browsers refuse an address that changes hundreds of times in a few seconds.
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.write(), 150);
  }

  write() {
    const hash = format(this.values);
    if (hash === location.hash) return;
    try {
      history.replaceState(null, "", hash || " ");
    } catch {
      // A page inside a notebook has no address of its own; its selection cannot be linked.
    }
  }
}

/** @param {string} hash */
export function parse(hash) {
  const values = {};
  for (const [key, text] of new URLSearchParams(hash.replace(/^#/, ""))) {
    const kind = typeof DEFAULTS[key];
    if (kind === "string") values[key] = text;
    else if (kind === "boolean") values[key] = text === "true";
    else if (kind === "number" && Number.isInteger(Number(text))) values[key] = Number(text);
  }
  return values;
}

/** @param {typeof DEFAULTS} values */
export function format(values) {
  const words = new URLSearchParams();
  for (const [key, value] of Object.entries(values)) {
    if (value !== DEFAULTS[key]) words.set(key, String(value));
  }
  const text = words.toString();
  return text ? `#${text}` : "";
}
