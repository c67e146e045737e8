/** Times of a series as text: parts, labels and the ticks of an axis. Steps have equal distances. */

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const DAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const FORM = /^(\d{4})-(\d\d)-(\d\d)(?: (\d\d):(\d\d)(?::(\d\d))?)?$/;

/** The parts of a time; null if steps have numbers. @param {string} text */
function partsOf(text) {
  const found = FORM.exec(text);
  if (!found) return null;
  const [year, month, day, hour = 0, minute = 0, second = 0] = found.slice(1).map((x) => Number(x ?? 0));
  const days = Date.UTC(year, month - 1, day) / 86400000;
  return { year, month, day, hour, minute, second, days, seconds: (hour * 60 + minute) * 60 + second };
}

/** A time for readers: `Thu 1 Mar 2018, 05:00`. @param {string} text */
export function inWords(text) {
  const at = partsOf(text);
  if (!at) return `step ${text}`;
  const weekday = DAYS[(((at.days + 4) % 7) + 7) % 7];
  const date = `${weekday} ${at.day} ${MONTHS[at.month - 1]} ${at.year}`;
  return text.length > 10 ? `${date}, ${clock(at)}` : date;
}

/** A stretch of time for readers. @param {string} first @param {string} last */
export function stretch(first, last) {
  if (first === last) return inWords(first);
  const isSameDay = first.length > 10 && first.slice(0, 10) === last.slice(0, 10);
  return `${inWords(first)} – ${isSameDay ? clock(partsOf(last)) : inWords(last)}`;
}

function clock({ hour, minute, second }) {
  const two = (number) => String(number).padStart(2, "0");
  return `${two(hour)}:${two(minute)}${second ? `:${two(second)}` : ""}`;
}

const bySeconds = (n) => [(at) => at.days * 86400 + Math.floor(at.seconds / n) * n, timed];
const byDays = (n) => [(at) => (n === 7 ? Math.floor((at.days + 3) / 7) : dayGroup(at, n)), dated];
const byMonths = (n) => [(at) => Math.floor((at.year * 12 + at.month - 1) / n), monthly];
const byYears = (n) => [(at) => Math.floor(at.year / n), ({ year }) => String(year)];

/** Days 1, 1 + n, ... of each month, without one right before its end. */
function dayGroup(at, n) {
  const last = Math.floor(30 / n) - 1;
  return (at.year * 12 + at.month) * 32 + Math.min(Math.floor((at.day - 1) / n), Math.max(last, 0));
}

function timed(at) {
  return at.seconds ? clock(at) : dated(at);
}

function dated({ day, month }) {
  return `${day} ${MONTHS[month - 1]}`;
}

function monthly({ month, year }) {
  return month === 1 ? String(year) : MONTHS[month - 1];
}

/** From fine to coarse: what changes from one tick to the next, and the label. */
const LEVELS = [
  ...[1, 5, 15, 30, 60, 300, 900, 1800, 3600, 7200, 10800, 21600, 43200].map(bySeconds),
  ...[1, 2, 5, 7, 10, 15].map(byDays),
  ...[1, 2, 3, 6].map(byMonths),
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].map(byYears),
];

/**
 * Ticks at whole hours, days, months or years, at most so many.
 * @param {string[]} times of all steps
 * @param {number} from first step shown
 * @param {number} to the one after the last
 * @returns {{at: number, label: string}[]}
 */
export function timeTicks(times, from, to, most) {
  if (!partsOf(times[from])) return numberTicks(times, from, to, most);
  const parts = times.slice(from, to).map(partsOf);
  for (const [group, label] of LEVELS) {
    const found = [];
    for (let i = 1; i < parts.length; i++)
      if (group(parts[i]) !== group(parts[i - 1])) found.push({ at: from + i, label: label(parts[i]) });
    if (found.length <= most && found.length < parts.length - 1) return found;
    if (found.length <= most && parts.length <= most + 1) return found;
  }
  return [];
}

function numberTicks(times, from, to, most) {
  const rough = (to - from) / most;
  const size = 10 ** Math.floor(Math.log10(Math.max(rough, 1)));
  const every = [1, 2, 5, 10].find((factor) => factor * size >= rough) * size;
  const found = [];
  for (let at = from; at < to; at++)
    if (Number(times[at]) % every === 0) found.push({ at, label: times[at] });
  return found;
}
