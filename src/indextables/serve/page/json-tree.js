// JSON that unfolds: objects and arrays as lists, those inside texts too.

import { h } from "./dom.js";

const OPEN = 2; // levels that are unfolded at first

/** A number as it is written: JavaScript rounds those beyond 2^53. */
class Digits {
  constructor(text) {
    this.text = text;
  }
}

/** The object or the array that a value is, or that a text is the JSON of; null for anything else. */
export function nested(value) {
  if (typeof value !== "string") return typeof value === "object" ? value : null;
  if (!/^\s*[[{]/.test(value)) return null;
  try {
    const found = JSON.parse(value, (_, part, context) => (typeof part === "number" && context?.source ? new Digits(context.source) : part));
    return typeof found === "object" ? found : null;
  } catch {
    return null;
  }
}

/** The members of an object or of an array, each below its name. */
export function tree(value, level = 0) {
  const members = Object.entries(value);
  if (!members.length) return h("span", { class: "dim" }, brackets(value).join(""));
  return h("ul", { class: "json" }, members.map(([name, member]) => h("li", {}, branch(name, member, level))));
}

function branch(name, member, level) {
  const inner = member instanceof Digits ? null : nested(member);
  if (inner === null || !Object.keys(inner).length) return [key(name), " ", leaf(inner ?? member)];
  const [first, last] = brackets(inner);
  const details = h("details", { open: level < OPEN }, h("summary", {}, key(name), " ", h("span", { class: "dim" }, `${first}${Object.keys(inner).length}${last}`)));
  const fill = () => details.open && details.childElementCount === 1 && details.append(tree(inner, level + 1));
  details.addEventListener("toggle", fill);
  fill();
  return details;
}

const key = (name) => h("span", { class: "json-key" }, h("bdi", {}, name));

const brackets = (value) => (Array.isArray(value) ? ["[", "]"] : ["{", "}"]);

function leaf(value) {
  if (value instanceof Digits) return h("span", { class: "json-number" }, value.text);
  if (typeof value === "string") return h("span", { class: "json-text" }, h("bdi", {}, JSON.stringify(value)));
  if (value !== null && typeof value === "object") return h("span", { class: "dim" }, brackets(value).join(""));
  return h("span", { class: "json-number" }, String(value));
}
