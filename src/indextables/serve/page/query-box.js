// A box for a query: grows with its text, colours it, underlines what is wrong, offers completions.
//
// The textarea lies over a mirror with the same text in the same font. The mirror has the colours, the textarea the caret.

import { $, h, icon } from "./dom.js";
import { compact, split } from "./format.js";

const TOKEN = /("(?:[^"\\]|\\.)*"?)|\b(AND|OR|NOT|TO|IN)\b|([\p{L}_][\p{L}\p{N}_.]*)(?=:)|([\s\S])/gu;

export class QueryBox {
  /** `complete(text, cursor)` gives completions, `changed()` is called when the text was edited. */
  constructor({ area, mirror, list, complete, changed, submit }) {
    Object.assign(this, { area, mirror, list, complete, changed, submit, items: [], active: -1, bad: null, asked: 0 });
    area.addEventListener("input", () => this.edited());
    area.addEventListener("keydown", (event) => this.pressed(event));
    area.addEventListener("blur", () => this.close());
    area.addEventListener("scroll", () => { mirror.scrollTop = area.scrollTop; });
  }

  get text() {
    return this.area.value;
  }

  set text(value) {
    if (this.area.value !== value) this.area.value = value;
    this.draw();
  }

  /** Underlines a part of the text, given by offsets, or nothing. */
  mark(position) {
    this.bad = position;
    this.area.setAttribute("aria-invalid", String(position !== null));
    this.draw();
  }

  edited() {
    if (/[\r\n]/.test(this.area.value)) this.area.value = this.area.value.replace(/[\r\n]+/g, " ");
    this.mark(null);
    this.changed();
    this.offer();
  }

  draw() {
    const text = this.area.value;
    this.mirror.replaceChildren(...(this.bad ? marked(text, this.bad) : coloured(text)), "\u200b");
  }

  async offer() {
    if (!this.list) return;
    const asked = ++this.asked;
    const found = await this.complete(this.area.value, this.area.selectionStart).catch(() => null);
    if (asked !== this.asked || !found || document.activeElement !== this.area) return;
    this.offered = { before: this.area.value.slice(0, found.from), to: found.to };
    this.items = found.items;
    this.show();
  }

  show() {
    this.active = -1;
    this.list.replaceChildren(...this.items.map((item, index) => this.option(item, index)));
    this.list.hidden = this.items.length === 0;
    this.area.setAttribute("aria-expanded", String(!this.list.hidden));
    this.area.removeAttribute("aria-activedescendant");
  }

  option(item, index) {
    const pick = (event) => {
      event.preventDefault(); // the box keeps the focus
      this.accept(index);
    };
    return h("li", { role: "option", id: `completion-${index}`, "aria-selected": "false", onmousedown: pick },
      h("span", { class: "completion-label" }, item.label ?? item.text),
      item.kind ? h("span", { class: "completion-kind" }, item.kind) : null,
      typeof item.count === "number" ? h("span", { class: "completion-count" }, compact(item.count)) : null);
  }

  accept(index) {
    const { before: kept, to } = this.offered;
    if (!this.area.value.startsWith(kept)) return this.close(); // the text has changed since, and not only by more of the word
    const text = this.items[index].text;
    const before = kept + text;
    this.area.value = before + this.area.value.slice(Math.max(to, this.area.selectionStart));
    this.area.setSelectionRange(before.length, before.length);
    this.close();
    this.draw();
    this.changed();
    if (text.endsWith(":")) this.offer(); // the values of the field
  }

  close() {
    this.asked += 1;
    this.items = [];
    if (this.list) this.show();
  }

  select(index) {
    const options = [...this.list.children];
    options[this.active]?.setAttribute("aria-selected", "false");
    this.active = (index + options.length) % options.length;
    options[this.active].setAttribute("aria-selected", "true");
    options[this.active].scrollIntoView({ block: "nearest" });
    this.area.setAttribute("aria-activedescendant", options[this.active].id);
  }

  pressed(event) {
    if (event.isComposing) return;
    const open = this.items.length > 0;
    if (open && event.key === "ArrowDown") this.select(this.active + 1);
    else if (open && event.key === "ArrowUp") this.select(this.active < 0 ? this.items.length - 1 : this.active - 1);
    else if (open && event.key === "Tab" && !event.shiftKey) this.accept(Math.max(this.active, 0));
    else if (open && event.key === "Enter" && this.active >= 0) this.accept(this.active);
    else if (open && event.key === "Escape") this.close();
    else if (event.key === "Escape") this.area.blur();
    else if (event.key === " " && event.ctrlKey) this.offer();
    else if (event.key === "Enter") {
      this.close();
      this.submit();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

function marked(text, [start, end]) {
  if (start >= text.length) return [...coloured(text), h("span", { class: "wrong" }, "\u00a0\u00a0")]; // something is missing at the end
  return split(text, [[start, Math.max(end, start + 1)]]).map((part) => (part.marked ? h("span", { class: "wrong" }, part.text) : h("span", {}, ...coloured(part.text))));
}

function coloured(text) {
  const found = [];
  let plain = "";
  const flush = () => {
    if (plain) found.push(plain);
    plain = "";
  };
  for (const [token, quoted, operator, field] of text.slice(0, 20_000).matchAll(TOKEN)) {
    const kind = quoted ? "quoted" : operator ? "operator" : field ? "field" : null;
    if (kind === null) {
      plain += token;
      continue;
    }
    flush();
    found.push(h("span", { class: kind }, token));
  }
  plain += text.slice(20_000);
  flush();
  return found;
}

/** What is wrong, below the boxes. */
export function showProblem(error) {
  const place = $("problem");
  place.hidden = error === null;
  if (error === null) place.replaceChildren();
  else place.replaceChildren(icon("alert"), h("span", {}, sentence(error), error.hint ? h("span", { class: "hint" }, ` ${error.hint}`) : null));
}

const WHERE = new Map([["q", "The query"], ["where", "The condition"]]);

/** The server says what is wrong with a query in lower case, after a colon. */
function sentence({ message, parameter, position }) {
  if (position && WHERE.has(parameter)) return `${WHERE.get(parameter)}: ${message}`;
  return message.charAt(0).toUpperCase() + message.slice(1);
}
