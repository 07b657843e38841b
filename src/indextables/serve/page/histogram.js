// The hits over time as stacked bars, by the values of a column. Drag to zoom in; the bars are a picture, the time range
// has a dialog of its own.

import { h, icon, svg } from "./dom.js";
import { clockLabel, compact, counted, duration, instantLabel, levelKind, number, parts, rangeLabel, shownValue, ticks, zoneName } from "./format.js";

const [HEIGHT, TOP, AXIS, LEFT] = [112, 8, 20, 44];
const ORDER = ["fatal", "error", "warn", "info", "debug"]; // from the bottom up: what matters stands on the axis
const PALETTE = ["c1", "c2", "c3", "c4", "c5", "c6", "c7"];
const OTHERS = "other values";
const BESIDE_LEVELS = ["c3", "c7", "c6", "c5"]; // that are unlike the colours of levels

export class Histogram {
  /** `zoom(from, to)` is called with instants in milliseconds, `breakDown(column)` with a name, `choose([column, value])` with a value. */
  constructor(place, { zoom, zoomOut, reset, breakDown, choose }) {
    Object.assign(this, { place, zoom, choose, data: null, colours: new Map() });
    this.tip = h("div", { class: "tip", hidden: true });
    this.picture = svg("svg", { class: "bars", role: "img", height: HEIGHT });
    this.caption = h("p", { class: "chart-caption" });
    this.by = h("select", { "aria-label": "Break hits down by", onchange: (event) => breakDown(event.target.value) });
    this.byLabel = h("label", { class: "by" }, "by", this.by);
    this.legend = h("div", { class: "legend", role: "group", "aria-label": "Values" });
    this.range = h("span", { class: "chart-range" });
    this.out = h("button", { class: "quiet small", type: "button", title: "Show twice the time", onclick: zoomOut }, icon("zoom-out"), "Zoom out");
    this.all = h("button", { class: "quiet small", type: "button", onclick: reset }, "Reset");
    const head = h("div", { class: "chart-head" }, this.caption, this.byLabel, this.legend, h("span", { class: "grow" }), this.range, this.out, this.all);
    place.append(head, h("div", { class: "chart-body" }, this.picture, this.tip));
    this.picture.addEventListener("pointerdown", (event) => this.press(event));
    this.picture.addEventListener("pointermove", (event) => this.move(event));
    this.picture.addEventListener("pointerup", (event) => this.release(event));
    this.picture.addEventListener("pointercancel", () => this.cancel());
    this.picture.addEventListener("pointerleave", () => { this.tip.hidden = true; this.hover?.setAttribute("width", 0); });
    new ResizeObserver(() => this.draw()).observe(place);
  }

  /** Shows an answer of the server, or nothing where the table has no time; `wanted` is the column that the address names. */
  show(answer, table, { zoomed, wanted } = {}) {
    const data = answer && answer.buckets.length ? prepare(answer, this.kinds(answer, table)) : null;
    this.data = Number.isFinite(data?.from) && Number.isFinite(data?.to) ? data : null; // a browser has years up to 275,760
    this.place.hidden = !answer;
    if (answer) this.offer(table.facetColumns, answer.by ?? "", wanted);
    this.out.hidden = this.all.hidden = !zoomed;
    this.draw();
  }

  offer(columns, chosen, wanted) {
    const missed = wanted && wanted !== chosen ? h("option", { value: wanted, disabled: true }, `nothing: ${wanted} has too many values`) : null;
    this.by.replaceChildren(...[h("option", { value: "" }, "nothing"), missed, ...columns.map((name) => h("option", { value: name }, name))].filter(Boolean));
    this.by.value = missed ? wanted : chosen;
    this.byLabel.hidden = columns.length === 0;
  }

  /** The class of each value: that of its level, else a colour that the value keeps as long as it is shown. */
  kinds(answer, table) {
    const about = JSON.stringify([table.id, answer.by]);
    if (this.colouredBy !== about) [this.colouredBy, this.colours] = [about, new Map()];
    const values = answer.series.map(({ value }) => value).filter((value) => value !== null);
    const level = (value) => (answer.by === table.levelColumn ? levelKind(value) : "other");
    const plain = values.filter((value) => level(value) === "other");
    const palette = plain.length < values.length ? BESIDE_LEVELS : PALETTE;
    for (const value of this.colours.keys()) if (!plain.includes(value)) this.colours.delete(value);
    for (const value of plain) {
      const taken = new Set(this.colours.values());
      if (!this.colours.has(value)) this.colours.set(value, palette.find((colour) => !taken.has(colour)) ?? "other");
    }
    return new Map([[null, "missing"], ...values.map((value) => [value, this.colours.get(value) ?? level(value)])]);
  }

  draw() {
    if (this.place.hidden) return;
    this.cancel();
    const width = this.picture.parentElement.clientWidth;
    this.picture.setAttribute("width", width);
    if (!this.data) {
      this.caption.textContent = "No hits in this time";
      this.legend.replaceChildren();
      this.range.textContent = "";
      this.picture.replaceChildren();
      this.picture.setAttribute("aria-label", "No hits in this time");
      return;
    }
    this.inner = Math.max(width - LEFT - 1, 1);
    this.hover = svg("rect", { class: "bar-hover", y: TOP, height: HEIGHT - TOP - AXIS, width: 0 });
    this.selection = svg("rect", { class: "selection", y: TOP, height: HEIGHT - TOP - AXIS, width: 0 });
    this.picture.replaceChildren(...this.grid(), this.hover, ...this.bars(), ...this.axis(), this.selection);
    const { total, interval } = this.data;
    this.caption.textContent = total ? `Hits per ${duration(interval)}` : "No hits in this time";
    this.range.textContent = `${rangeLabel(this.data.from, this.data.to)} ${zoneName() === "no time zone" ? "" : zoneName()}`;
    this.picture.setAttribute("aria-label", `${counted(total, "hit")} between ${instantLabel(this.data.from)} and ${instantLabel(this.data.to)}`);
    this.legend.replaceChildren(...this.data.names.map((part) => this.key(part)));
  }

  /** A value of the legend; a click shows its hits alone. */
  key({ label, value, kind }) {
    const shown = [h("i", {}), h("bdi", {}, label)];
    if (value === undefined) return h("span", { class: `key ${kind}` }, shown);
    const name = `Only ${this.data.by} ${label}`;
    return h("button", { class: `key ${kind}`, type: "button", title: name, "aria-label": name, onclick: () => this.choose([this.data.by, value]) }, shown);
  }

  x(at) {
    return LEFT + ((at - this.data.from) / (this.data.to - this.data.from)) * this.inner;
  }

  at(x) {
    const share = Math.max(0, Math.min(1, (x - LEFT) / this.inner));
    return this.data.from + share * (this.data.to - this.data.from);
  }

  grid() {
    const { ceiling } = this.data;
    const base = HEIGHT - AXIS;
    return [0, 0.5, 1].filter((share) => share !== 0.5 || ceiling > 1).flatMap((share) => {
      const y = Math.round(base - share * (base - TOP)) + 0.5;
      return [
        svg("line", { class: share ? "grid" : "base", x1: LEFT, x2: LEFT + this.inner, y1: y, y2: y }),
        svg("text", { class: "label", x: LEFT - 8, y: y + 3.5, "text-anchor": "end" }, compact(ceiling * share)),
      ];
    });
  }

  bars() {
    const { buckets, ceiling } = this.data;
    const base = HEIGHT - AXIS;
    return buckets.filter((bucket) => bucket.count).map((bucket) => {
      const [left, right] = [this.x(Math.max(bucket.start, this.data.from)), this.x(Math.min(bucket.end, this.data.to))];
      const width = Math.max(right - left - (right - left > 4 ? 1 : 0), 1);
      let y = base;
      return svg("g", {}, bucket.stack.map(({ kind, count }) => {
        const height = Math.max((count / ceiling) * (base - TOP), 1);
        y -= height;
        return svg("rect", { class: `bar ${kind}`, x: left.toFixed(2), y: y.toFixed(2), width: width.toFixed(2), height: height.toFixed(2) });
      }));
    });
  }

  axis() {
    const { from, to } = this.data;
    return ticks(from, to, Math.max(2, Math.floor(this.inner / 90))).flatMap(({ at, label }) => {
      const x = Math.round(this.x(at)) + 0.5;
      const anchor = x > LEFT + this.inner - 24 ? "end" : "middle";
      return [
        svg("line", { class: "base", x1: x, x2: x, y1: HEIGHT - AXIS, y2: HEIGHT - AXIS + 4 }),
        svg("text", { class: "label", x, y: HEIGHT - 4, "text-anchor": anchor }, label),
      ];
    });
  }

  position(event) {
    return event.clientX - this.picture.getBoundingClientRect().left;
  }

  bucketAt(x) {
    const at = this.at(x);
    return this.data.buckets.find((bucket) => at >= bucket.start && at < bucket.end) ?? null;
  }

  press(event) {
    if (!this.data || event.button !== 0) return;
    this.start = this.position(event);
    this.picture.setPointerCapture(event.pointerId);
  }

  move(event) {
    if (!this.data) return;
    const x = this.position(event);
    if (this.start !== null && this.start !== undefined) this.drag(x);
    this.point(x);
  }

  drag(x) {
    const [from, to] = this.chosen(x);
    this.selection.setAttribute("x", this.x(from));
    this.selection.setAttribute("width", Math.max(this.x(to) - this.x(from), 0));
  }

  /** The whole bars between the start of the drag and here. */
  chosen(x) {
    const [low, high] = [Math.min(this.start, x), Math.max(this.start, x)].map((one) => this.at(one));
    const touched = this.data.buckets.filter((bucket) => bucket.end > low && bucket.start <= high);
    return touched.length ? [touched[0].start, touched.at(-1).end] : [Math.floor(low), Math.ceil(high)];
  }

  release(event) {
    if (this.start === null || this.start === undefined) return;
    const x = this.position(event);
    const [dragged, range] = [Math.abs(x - this.start) > 4, this.chosen(x)];
    const bucket = this.bucketAt(x);
    this.cancel();
    if (dragged) this.zoom(...range);
    else if (bucket?.count) this.zoom(bucket.start, bucket.end);
  }

  cancel() {
    this.start = null;
    this.selection?.setAttribute("width", 0);
    this.tip.hidden = true;
  }

  point(x) {
    const bucket = this.bucketAt(x);
    this.tip.hidden = !bucket;
    if (!bucket) return this.hover.setAttribute("width", 0);
    const [left, right] = [this.x(Math.max(bucket.start, this.data.from)), this.x(Math.min(bucket.end, this.data.to))];
    this.hover.setAttribute("x", left);
    this.hover.setAttribute("width", right - left);
    const seconds = this.data.interval < 60_000;
    const [year] = parts(bucket.start);
    this.tip.replaceChildren(
      h("b", {}, `${instantLabel(bucket.start, { seconds })} – ${clockLabel(bucket.end, seconds)}`), h("span", { class: "dim" }, ` ${year}`),
      h("div", {}, counted(bucket.count, "hit")),
      ...bucket.stack.filter(({ label }) => label !== null).map(({ label, count, kind }) => h("div", { class: `key ${kind}` }, h("i", {}), h("bdi", {}, label), h("span", { class: "grow" }), number(count))));
    const room = this.picture.parentElement.clientWidth - right > this.tip.offsetWidth + 16;
    this.tip.style.left = `${Math.max(0, room ? right + 10 : left - this.tip.offsetWidth - 10)}px`;
  }
}

/** The buckets with their ends and their parts in the order in which they are stacked. */
function prepare(answer, kinds) {
  const starts = answer.buckets.map((bucket) => instantOf(bucket.start));
  const interval = answer.interval * 1000;
  const [from, to] = [instantOf(answer.from), instantOf(answer.to)];
  const rank = ({ value, kind }) => (value === null ? PALETTE.length + ORDER.length : (ORDER.indexOf(kind) + 1 || ORDER.length + 1));
  const parts = answer.series.map(({ value, counts }) => ({ value, label: shownValue(value), kind: kinds.get(value), counts }))
    .sort((one, other) => rank(one) - rank(other)); // stable: else the most frequent first
  const buckets = answer.buckets.map((bucket, index) => {
    const stack = parts.map(({ label, kind, counts }) => ({ label, kind, count: counts[index] })).filter(({ count }) => count);
    const rest = bucket.count - stack.reduce((sum, { count }) => sum + count, 0);
    if (rest > 0) stack.push(answer.by === null ? { label: null, kind: "plain", count: rest } : { label: OTHERS, kind: "other", count: rest, isRest: true });
    return { start: starts[index], end: starts[index + 1] ?? to, count: bucket.count, stack };
  });
  const hasOthers = buckets.some(({ stack }) => stack.at(-1)?.isRest);
  const names = [...parts, ...(hasOthers ? [{ label: OTHERS, kind: "other" }] : [])];
  const most = Math.max(...buckets.map((bucket) => bucket.count), 1);
  const total = buckets.reduce((sum, bucket) => sum + bucket.count, 0);
  return { by: answer.by, from, to: Math.max(to, from + 1), interval, buckets, names, ceiling: roundUp(most), total };
}

/** An instant in milliseconds; a time without a zone is shown as if it were in UTC, and so is a date. */
const instantOf = (text) => Date.parse(/T[\d:.]+$/.test(text) ? `${text}Z` : text);

/** The next 1, 2, 4, 6, 8 or 10 times a power of ten: half of it is round, too. */
function roundUp(value) {
  if (value <= 1) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 4, 6, 8, 10].map((one) => one * power).find((one) => one >= value);
}
