// Numbers, sizes, times and values as text.

const NUMBER = new Intl.NumberFormat("en-US");
const COMPACT = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

export const number = (value) => NUMBER.format(value);
export const compact = (value) => COMPACT.format(value);
export const counted = (count, noun, nouns = `${noun}s`) => `${number(count)} ${count === 1 ? noun : nouns}`;

export function bytes(count) {
  if (count < 1000) return `${count} B`;
  const unit = Math.min(Math.floor(Math.log10(count) / 3), 5);
  const value = count / 1000 ** unit;
  return `${value.toFixed(value < 10 ? 1 : 0)} ${["B", "kB", "MB", "GB", "TB", "PB"][unit]}`;
}

export function milliseconds(value) {
  if (value >= 1000) return `${(value / 1000).toFixed(1)} s`;
  return value < 1 ? "< 1 ms" : `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;
}

let chosenZone = remembered("indextables.zone") === "local" ? "local" : "utc";
let hasZone = true;

/** The zone in which times are shown: "utc" or "local". Remembered by the browser; addresses always have UTC. */
export const zone = () => (hasZone ? chosenZone : "utc");

export function switchZone() {
  chosenZone = chosenZone === "utc" ? "local" : "utc";
  remember("indextables.zone", chosenZone);
}

/** Dates, and timestamps without a zone, are shown as they are. */
export function setTimeType(type) {
  hasZone = type === "timestamp";
}

export function zoneName() {
  if (!hasZone) return "no time zone";
  return chosenZone === "utc" ? "UTC" : Intl.DateTimeFormat().resolvedOptions().timeZone;
}

export function remembered(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

export function remember(key, value) {
  try {
    localStorage.setItem(key, value);
  } catch {
    // Storage is switched off: it holds until the page is closed.
  }
}

const two = (value) => String(value).padStart(2, "0");

/** The parts of an instant in the zone that is shown. */
export function parts(ms) {
  const at = new Date(ms);
  return zone() === "utc"
    ? [at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate(), at.getUTCHours(), at.getUTCMinutes(), at.getUTCSeconds()]
    : [at.getFullYear(), at.getMonth(), at.getDate(), at.getHours(), at.getMinutes(), at.getSeconds()];
}

/** An instant from parts in the zone that is shown; parts beyond their range carry over. */
export function instant(...given) {
  const [year, month = 0, day = 1, hour = 0, minute = 0, second = 0] = given;
  return zone() === "utc" ? Date.UTC(year, month, day, hour, minute, second) : new Date(year, month, day, hour, minute, second).getTime();
}

/** "2024-01-14 10:00:05.123": a text of ISO 8601 in the zone that is shown, with at least `digits` of the second. */
export function time(iso, digits = 3) {
  const found = /^([-+]?\d{4,})-(\d\d)-(\d\d)[T ](\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[-+]\d\d:?\d\d)?$/.exec(iso);
  if (!found || Number.isNaN(Date.parse(iso))) return iso;
  const fraction = (found[5] ?? "").replace(/0+$/, "");
  const shown = digits === null ? fraction : (found[5] ?? "").padEnd(digits, "0").slice(0, digits);
  const second = shown ? `.${shown}` : "";
  if (!found[6]) return `${found[1]}-${found[2]}-${found[3]} ${found[4]}${second}`; // without a zone: as it is
  const [year, month, day, hour, minute, seconds] = parts(Date.parse(iso));
  return `${year}-${two(month + 1)}-${two(day)} ${two(hour)}:${two(minute)}:${two(seconds)}${second}`;
}

/** The shortest text that names an instant on an axis or in a pill. */
export function instantLabel(ms, { seconds = ms % 60_000 !== 0, year = false } = {}) {
  const [y, month, day, hour, minute, second] = parts(ms);
  const fraction = ms % 1000 ? `.${String(((ms % 1000) + 1000) % 1000).padStart(3, "0")}` : "";
  const clock = hour || minute || second || fraction ? ` ${two(hour)}:${two(minute)}${seconds ? `:${two(second)}${fraction}` : ""}` : "";
  return `${MONTHS[month]} ${day}${year ? `, ${y}` : ""}${clock}`;
}

/** "Jan 14 10:00 – 10:05": the second date is left out where it is the same. */
export function rangeLabel(from, to) {
  const year = new Date(from ?? to).getUTCFullYear() !== new Date().getUTCFullYear();
  if (from === null) return `before ${instantLabel(to, { year })}`;
  if (to === null) return `from ${instantLabel(from, { year })}`;
  const [start, end] = [parts(from), parts(to)];
  const sameDay = start.slice(0, 3).join() === end.slice(0, 3).join();
  const seconds = from % 60_000 !== 0 || to % 60_000 !== 0;
  const ending = sameDay ? clockLabel(to, seconds) : instantLabel(to, { seconds });
  return `${instantLabel(from, { seconds, year })}${sameDay && !start.slice(3).some(Boolean) ? " 00:00" : ""} – ${ending}`;
}

export function clockLabel(ms, seconds) {
  const [, , , hour, minute, second] = parts(ms);
  const fraction = ms % 1000 ? `.${String(ms % 1000).padStart(3, "0")}` : "";
  return `${two(hour)}:${two(minute)}${seconds ? `:${two(second)}${fraction}` : ""}`;
}

const [SECOND, MINUTE, HOUR, DAY] = [1000, 60_000, 3_600_000, 86_400_000];
const STEPS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, SECOND, 2 * SECOND, 5 * SECOND, 10 * SECOND, 15 * SECOND, 30 * SECOND, MINUTE, 2 * MINUTE, 5 * MINUTE,
  10 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 14 * DAY,
];

/** Where an axis has labels between two instants, and what they say: at most `most` of them, at round times. */
export function ticks(from, to, most) {
  const step = STEPS.find((one) => (to - from) / one <= most);
  return step === undefined ? monthTicks(from, to, most) : stepTicks(from, to, step);
}

function stepTicks(from, to, step) {
  const [year, month, day] = parts(from);
  const midnight = instant(year, month, day);
  const found = [];
  for (let at = midnight + Math.ceil((from - midnight) / step) * step; at < to; at += step) {
    found.push({ at, label: tickLabel(at, step) });
  }
  return found;
}

function tickLabel(at, step) {
  const [, month, day, hour, minute, second] = parts(at);
  if (!hour && !minute && !second && at % SECOND === 0) return `${MONTHS[month]} ${day}`;
  return clockLabel(at, step < MINUTE);
}

function monthTicks(from, to, most) {
  const months = (to - from) / (30.4 * DAY);
  const step = [1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200].find((one) => months / one <= most) ?? 12_000;
  const [year, month] = parts(from);
  const found = [];
  const first = step >= 12 ? Math.ceil(year / (step / 12)) * step : year * 12 + Math.ceil(month / step) * step;
  for (let at = first; ; at += step) {
    const ms = instant(Math.floor(at / 12), at % 12);
    if (!(ms < to)) return found;
    if (ms >= from) found.push({ at: ms, label: at % 12 ? `${MONTHS[at % 12]} ${Math.floor(at / 12)}` : String(Math.floor(at / 12)) });
  }
}

/** "5 minutes", for the width of a bar; that of months is an average. */
export function duration(ms) {
  const months = Math.round(ms / (30.436875 * DAY));
  if (ms > 7 * DAY) return months % 12 ? each(months, "month") : each(months / 12, "year");
  for (const [size, noun] of [[7 * DAY, "week"], [DAY, "day"], [HOUR, "hour"], [MINUTE, "minute"], [SECOND, "second"], [1, "millisecond"]]) {
    if (ms >= size && ms % size === 0) return each(ms / size, noun);
  }
  return `${ms * 1000} µs`;
}

const each = (count, noun) => (count === 1 ? noun : `${number(count)} ${noun}s`);

/** What a level is, whatever it is called: one of the names that have a colour. */
export function levelKind(level) {
  const text = String(level ?? "").toLowerCase();
  if (/^(fatal|crit|emerg|alert|panic)/.test(text)) return "fatal";
  if (/^(err|severe|fail)/.test(text)) return "error";
  if (/^warn/.test(text)) return "warn";
  if (/^(info|notice|ok)/.test(text)) return "info";
  if (/^(debug|trace|fine|verbose)/.test(text)) return "debug";
  return "other";
}

/** A value of a facet or of a legend. */
export const shownValue = (value) => (value === null ? "missing" : value === "" ? "(empty)" : String(value));

/** A value as the text of one cell. */
export function cell(value, type) {
  if (value === null || value === undefined) return "";
  if (typeof value === "object") return JSON.stringify(value);
  return isTime(type) ? time(String(value)) : String(value);
}

/** A value as the text of a detail, which leaves nothing out. */
export function full(value, type) {
  if (typeof value === "object" && value !== null) return JSON.stringify(value, null, 2);
  return isTime(type) ? time(String(value), null) : String(value);
}

export const isTime = (type) => /^timestamp/i.test(type ?? "");

/** Parts of a text inside and outside of ranges of offsets. */
export function split(text, ranges) {
  const found = [];
  let at = 0;
  for (const [start, end] of [...ranges].sort((one, other) => one[0] - other[0])) {
    if (start < at || end <= start) continue;
    if (start > at) found.push({ text: text.slice(at, start), marked: false });
    found.push({ text: text.slice(start, end), marked: true });
    at = end;
  }
  if (at < text.length) found.push({ text: text.slice(at), marked: false });
  return found;
}

/** A text from shortly before the first of its ranges, where that is far from the beginning; the ranges move with it. */
export function fromFirst(text, ranges, far = 160, before = 60) {
  const first = Math.min(...ranges.map(([start]) => start));
  if (!(first > far) || first === Infinity) return { text, ranges };
  const space = text.indexOf(" ", first - before); // a whole word, where there is one
  const cut = space >= 0 && space < first ? space + 1 : first;
  return { text: `… ${text.slice(cut)}`, ranges: ranges.map(([start, end]) => [start - cut + 2, end - cut + 2]) };
}
