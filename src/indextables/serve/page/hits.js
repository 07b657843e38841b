// The rows that were found: a table whose rows open to all of their columns and to the rows around them.

import { copy, h, icon } from "./dom.js";
import { cell, counted, fromFirst, full, isTime, levelKind, split, zone } from "./format.js";
import { nested, tree } from "./json-tree.js";
import { withPair } from "./state.js";

const AROUND = 5;
const [LONG, LONG_WORDS] = [48, 24]; // characters of the longest value, from which on a column wraps

export class Hits {
  /** `row(id)` and `context(id, n)` ask the server; `change(view)` follows a click; `more()` asks for the next rows. */
  constructor(place, asks) {
    Object.assign(this, { place, ...asks, rows: [], active: -1 });
    place.addEventListener("keydown", (event) => this.pressed(event));
  }

  show(answer, table, view) {
    this.types = new Map(table.columns.map((column) => [column.name, column.type]));
    Object.assign(this, { table, view, columns: answer.columns, rows: [], active: -1 });
    this.texts = new Set(table.textColumns);
    this.lengths = new Map(this.columns.map((name) => [name, answer.rows.map((row) => cell(valueOf(row.values, name), this.types.get(name)).length)]));
    const focused = document.activeElement?.dataset.sort;
    this.scored = view.sort === "score" && answer.rows.some((row) => typeof row.score === "number");
    this.list = h("tbody");
    this.foot = h("div", { class: "more" });
    const head = h("tr", {}, h("th", { class: "open" }, h("span", { class: "sr" }, "Open")), this.scored ? h("th", {}, "Score") : null,
      this.columns.map((name) => this.heading(name)), this.filled(h("th", { class: "fill" })));
    this.place.replaceChildren(h("table", { class: "rows" }, this.widths(), h("thead", {}, head), this.list), this.foot);
    this.append(answer);
    if (focused) [...this.place.querySelectorAll("[data-sort]")].find((button) => button.dataset.sort === focused)?.focus();
  }

  /** Short values get the width that they need. Columns of long ones share the rest, by the lengths of their values. */
  widths() {
    const weights = new Map(this.columns.filter((name) => this.kind(name) === "text").map((name) => [name, Math.sqrt(average(this.lengths.get(name)))]));
    const total = [...weights.values()].reduce((sum, weight) => sum + weight, 0);
    const share = (name) => (weights.has(name) ? { style: { width: `${((100 * weights.get(name)) / total).toFixed(1)}%` } } : { class: "fit" });
    return h("colgroup", {}, h("col", { class: "fit" }), this.scored ? h("col", { class: "fit" }) : null, this.columns.map((name) => h("col", share(name))), this.filled(h("col")));
  }

  /** An element of the empty column that takes the rest, where no other one does. */
  filled(element) {
    return this.columns.some((name) => this.kind(name) === "text") ? null : element;
  }

  get hasOpenRow() {
    return this.rows.some(({ detail }) => detail !== null);
  }

  heading(name) {
    const zoned = this.types.get(name) === "timestamp" ? h("span", { class: "zone" }, zone() === "utc" ? "UTC" : "local") : null;
    const [direction, next] = this.sorting(name);
    const label = `Sort by ${name}${direction === "none" ? "" : `, now ${direction}`}`;
    return h("th", { class: this.kind(name), scope: "col", "aria-sort": direction },
      h("button", { class: "sorter", type: "button", title: label, "data-sort": name, onclick: () => this.change({ ...this.view, sort: next }) },
        h("bdi", {}, name), zoned, h("span", { class: "arrow", "aria-hidden": "true" }, { ascending: "▲", descending: "▼", none: "" }[direction])));
  }

  /** How the rows are sorted by a column, and the sort after a click on its name. */
  sorting(name) {
    const { sort } = this.view;
    if (name === this.table.timeColumn) return sort === null ? ["descending", "-time"] : [sort === "-time" ? "ascending" : "none", null];
    if (!Array.isArray(sort) || sort[0] !== name) return ["none", [name]];
    return sort[1] === "desc" ? ["descending", null] : ["ascending", [name, "desc"]];
  }

  append(answer) {
    const first = this.rows.length;
    const added = answer.rows.map((row, index) => this.line(row, first + index));
    this.rows.push(...answer.rows.map((row, index) => ({ row, line: added[index], detail: null })));
    this.list.append(...added);
    const more = h("button", { class: "chip", type: "button", onclick: () => this.more(this.rows.length) }, "Show more");
    this.foot.replaceChildren(...(answer.more ? [more] : [h("span", { class: "dim" }, this.rows.length > 20 ? "The end of the hits" : "")]));
    if (first) this.activate(first);
  }

  kind(name) {
    if (name === this.table.timeColumn) return "time";
    if (name === this.table.levelColumn) return "level";
    return Math.max(0, ...(this.lengths.get(name) ?? [])) > (this.texts.has(name) ? LONG_WORDS : LONG) ? "text" : "short";
  }

  line(row, index) {
    const level = this.table.levelColumn === null ? null : valueOf(row.values, this.table.levelColumn);
    const toggle = h("button", { class: "quiet square expander", type: "button", "aria-expanded": "false", "aria-label": "Details of the row", tabindex: -1 }, icon("chevron"));
    const cells = this.columns.map((name) => h("td", { class: this.kind(name), "data-column": name }, this.content(name, row)));
    const score = this.scored ? h("td", { class: "short score" }, (row.score ?? 0).toFixed(2)) : null;
    return h("tr", {
      class: `line ${level === null ? "" : levelKind(level)}`, tabindex: index ? -1 : 0,
      onclick: (event) => this.clicked(event, index), onfocus: () => this.mark(index),
    }, h("td", { class: "open" }, toggle), score, cells, this.filled(h("td", { class: "fill" })));
  }

  content(name, row) {
    const value = valueOf(row.values, name);
    if (value === null || value === undefined) return h("span", { class: "absent" }, "–");
    if (this.kind(name) === "level") return h("span", { class: `level-name ${levelKind(value)}` }, h("bdi", {}, cell(value)));
    const text = cell(value, this.types.get(name));
    if (this.kind(name) !== "text") return h("bdi", { title: text }, highlighted(text, valueOf(row.highlights, name)));
    const visible = fromFirst(text, valueOf(row.highlights, name) ?? []);
    return h("div", { class: "clamp" }, highlighted(visible.text, visible.ranges));
  }

  clicked(event, index) {
    if (getSelection().toString() || event.target.closest("a")) return;
    this.activate(index);
    this.toggle(index);
  }

  toggle(index) {
    const shown = this.rows[index];
    const button = shown.line.querySelector(".expander");
    const open = shown.detail === null;
    button.setAttribute("aria-expanded", String(open));
    shown.line.classList.toggle("opened", open);
    if (open) this.open(shown);
    else {
      shown.detail.remove();
      shown.detail = null;
    }
  }

  async open(shown) {
    const place = h("td", { colspan: this.columns.length + 2 + (this.scored ? 1 : 0) });
    shown.detail = h("tr", { class: `detail ${shown.line.classList[1] ?? ""}` }, place);
    shown.line.after(shown.detail);
    this.fillDetail(place, shown.row, shown.row.values);
    try {
      const answer = await this.row(shown.row.id);
      if (answer && shown.detail) this.fillDetail(place, answer.row, answer.row.values);
    } catch (error) {
      place.prepend(h("p", { class: "problem" }, error.message));
    }
  }

  fillDetail(place, row, values) {
    const around = h("div", { class: "around" });
    const showAround = () => this.showAround(around, row.id, AROUND);
    const actions = h("div", { class: "detail-actions" },
      h("button", { class: "chip", type: "button", onclick: () => copy(JSON.stringify(values, null, 2), "the row as JSON") }, icon("copy"), "Copy as JSON"),
      this.table.timeColumn === null ? null
        : h("button", { class: "chip", type: "button", onclick: showAround }, icon("rows"), "Rows before and after"));
    const fields = Object.entries(values).map(([name, value]) => this.field(name, value, row));
    place.replaceChildren(actions, h("dl", { class: "fields" }, fields), around);
  }

  field(name, value, row) {
    const type = this.types.get(name);
    const text = value === null ? "null" : full(value, type);
    const highlights = value !== null && typeof value === "string" && !isTime(type) ? valueOf(row.highlights, name) : null;
    const inner = value === null ? null : nested(value);
    let unfolded = inner !== null && !highlights?.length;
    const content = h("dd", { class: value === null ? "absent" : null });
    const draw = () => content.replaceChildren(...(unfolded ? [tree(inner)] : [highlighted(text, highlights)].flat()));
    draw();
    const fold = (event) => {
      unfolded = !unfolded;
      event.currentTarget.setAttribute("aria-pressed", String(unfolded));
      draw();
    };
    const simple = value === null || typeof value !== "object";
    const button = (label, picture, onclick) => h("button", { class: "quiet square", type: "button", title: label, "aria-label": `${label}: ${name}`, onclick }, icon(picture));
    const choose = (kind) => () => this.change(withPair(this.view, kind, [name, value]));
    return h("div", { class: "field-row" },
      h("dt", { title: type }, h("bdi", {}, name)),
      content,
      h("span", { class: "field-actions" },
        inner === null ? null : h("button", { class: "quiet square", type: "button", title: "Unfold the JSON, or show it as text", "aria-label": `Unfold the JSON: ${name}`, "aria-pressed": String(unfolded), onclick: fold }, icon("braces")),
        simple ? [button("Only this value", "plus", choose("is")), button("Exclude this value", "minus", choose("not"))] : null,
        button("Copy the value", "copy", () => copy(value === null ? "" : full(value, null), name))));
  }

  async showAround(place, id, n) {
    place.replaceChildren(h("p", { class: "dim" }, "Loading the rows before and after …"));
    try {
      const answer = await this.context(id, n);
      if (!answer) return;
      const names = this.columns.filter((name) => this.texts.has(name) || this.kind(name) !== "short");
      const line = (row, here) => h("tr", { class: here ? "here" : null },
        names.map((name) => h("td", { class: this.kind(name) }, this.content(name, row))));
      const lines = [...answer.before.map((row) => line(row, false)), line(answer.row, true), ...answer.after.map((row) => line(row, false))];
      const more = h("button", { class: "quiet small", type: "button", onclick: () => this.showAround(place, id, n * 3) }, "More");
      place.replaceChildren(
        h("p", { class: "dim" }, `${counted(answer.before.length, "row")} before and ${answer.after.length} after by ${this.table.timeColumn}, whether they match or not `, more),
        h("table", { class: "rows context" }, h("tbody", {}, lines)));
    } catch (error) {
      place.replaceChildren(h("p", { class: "problem" }, error.message));
    }
  }

  mark(index) {
    if (this.rows[this.active]) {
      this.rows[this.active].line.classList.remove("active");
      this.rows[this.active].line.tabIndex = -1;
    }
    this.active = index;
    this.rows[index].line.classList.add("active");
    this.rows[index].line.tabIndex = 0;
  }

  activate(index) {
    if (!this.rows[index]) return;
    this.mark(index);
    this.rows[index].line.focus({ preventScroll: true });
    this.rows[index].line.scrollIntoView({ block: "nearest" });
  }

  step(by) {
    this.activate(this.active < 0 ? 0 : Math.max(0, Math.min(this.active + by, this.rows.length - 1)));
  }

  pressed(event) {
    if (event.target.closest("button, a, input") || event.ctrlKey || event.metaKey || event.altKey) return;
    const shown = this.rows[this.active];
    if (event.key === "ArrowDown") this.step(1);
    else if (event.key === "ArrowUp") this.step(-1);
    else if ((event.key === "Enter" || event.key === "o") && shown) this.toggle(this.active);
    else if (event.key === "Escape" && shown?.detail) this.toggle(this.active);
    else if (event.key === "c" && shown) copy(JSON.stringify(shown.row.values, null, 2), "the row as JSON");
    else return;
    event.preventDefault();
  }
}

const average = (lengths) => lengths.reduce((sum, length) => sum + length, 0) / lengths.length;

/** A value of a record of the server, whose keys may be anything. */
function valueOf(record, name) {
  return record && Object.hasOwn(record, name) ? record[name] : null;
}

function highlighted(text, ranges) {
  if (!ranges?.length) return text;
  return split(text, ranges).map((part) => (part.marked ? h("mark", {}, part.text) : part.text));
}

/** What is shown where nothing was found. */
export function nothingFound(view, change, describe) {
  const restricted = view.is.length || view.not.length || view.from || view.to || view.where;
  const tries = [];
  if (restricted) {
    const without = { ...view, is: [], not: [], from: null, to: null, where: "" };
    tries.push(h("button", { class: "chip", type: "button", onclick: () => change(without) }, "Search without filters"));
  }
  if (view.q) tries.push(h("button", { class: "chip", type: "button", onclick: () => change({ ...view, q: "" }) }, "Show all rows"));
  return h("div", { class: "empty" }, icon("search"), h("h2", {}, describe.title), describe.lines.map((line) => h("p", {}, line)),
    h("div", { class: "advice" }), h("div", { class: "tries" }, tries));
}
