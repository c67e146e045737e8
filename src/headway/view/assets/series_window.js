/** One window of a series: history, forecast and its lines, by step; or a whole series alone. */

import { figure } from "./dom.js";

/** Names of the simple models, for readers. */
const FLOORS = { naive: "last value", seasonal: "last season", ridge: "ridge regression" };

export class SeriesWindow {
  /** @param {Object<string, any>} raw the `forecast` of an inspection or of a report */
  constructor(raw) {
    this.raw = raw;
    this.times = raw.times;
    this.n = raw.history.length;
    this.steps = raw.times.length;
    this.horizon = this.steps - this.n;
    this.title = [raw.series, raw.column].filter(Boolean).join(" · ");
    /** Known values of all steps, of the horizon too if it lies in the past. */
    this.values = [...raw.history, ...(raw.truth ?? raw.forecast.map(() => null))];
    this.bands = [...raw.bands].sort((a, b) => b.level - a.level);
    this.hasTruth = (raw.truth ?? []).some((value) => value !== null);
    const floors = Object.entries(raw.floors).map(([name, values]) => ({
      id: name,
      name: FLOORS[name] ?? name,
      kind: "floor",
      values,
    }));
    const held = Object.entries(raw.held ?? {}).map(([name, values]) => ({
      id: `held ${name}`,
      name: name.replace("calendar: ", ""),
      kind: "held",
      values,
      effect: Math.max(...values.map((value, i) => Math.abs(value - raw.forecast[i]))),
    }));
    /** Further lines over the horizon. */
    this.lines = [...floors, ...held];
    const first = raw.history.findIndex((value) => value !== null);
    this.begin = this.horizon ? Math.max(0, first) : 0; // a window may begin before its series
  }

  /** The lines that are shown at first: one simple model. */
  get usual() {
    const first = ["seasonal", "naive"].find((id) => this.lines.some((line) => line.id === id));
    return first ? [first] : [];
  }

  /** The first step of a view of the forecast with the history right before it. */
  get recent() {
    return Math.max(this.begin, this.n - Math.max(3 * this.horizon, 24));
  }

  /** Stretches of steps without values in the history. @returns {[number, number][]} */
  gaps() {
    const found = [];
    const end = this.hasTruth ? this.steps : this.n;
    for (let at = this.begin; at < end; at++) {
      if (this.values[at] !== null) continue;
      const last = found.at(-1);
      if (last && last[1] === at - 1) last[1] = at;
      else found.push([at, at]);
    }
    return found;
  }

  /** The smallest and the largest known value. */
  get range() {
    const known = [...this.values, ...this.raw.forecast].filter((value) => value !== null);
    return known.length ? [Math.min(...known), Math.max(...known)] : [0, 0];
  }

  /** Decimals with which values are written: so many that neighbours differ. */
  get digits() {
    const [low, high] = this.range;
    const size = high - low || Math.abs(low) || 1;
    return Math.max(0, Math.min(6, 2 - Math.floor(Math.log10(size))));
  }

  write(value) {
    return figure(value, this.digits);
  }
}

/** One column of a series without a forecast. @param {Object<string, any>} raw @param {number} column */
export function wholeSeries(raw, column) {
  const history = raw.values[column];
  const alone = { forecast: [], bands: [], floors: {}, written: [] };
  return new SeriesWindow({ ...raw, ...alone, column: raw.columns[column], history });
}
