// Facets beside the hits, and the pills of what was chosen.

import { $, h, icon } from "./dom.js";
import { compact, number, rangeLabel, shownValue } from "./format.js";
import { hasPair, withoutPair, withPair } from "./state.js";

const FEW = 6;
const folded = new Set();
const unfolded = new Set();

/** Shows facets; `change(view)` is called with the view that a click asks for. */
export function showFacets(answer, view, change) {
  const place = $("facets");
  if (!answer) return place.replaceChildren();
  const sections = answer.facets.filter((facet) => facet.values.length || facet.missing || [...view.is, ...view.not].some(([column]) => column === facet.column)).map((facet) => section(facet, view, change));
  place.replaceChildren(...(sections.length ? sections : [h("p", { class: "dim none" }, "No facets for these hits.")]));
}

function section(facet, view, change) {
  const details = h("details", { class: "facet", open: !folded.has(facet.column) });
  details.addEventListener("toggle", () => folded[details.open ? "delete" : "add"](facet.column));
  const most = Math.max(...facet.values.map((one) => one.count), facet.missing ?? 0, 1);
  const values = [...facet.values, ...(facet.missing ? [{ value: null, count: facet.missing }] : [])];
  const chosenOnly = [...view.is, ...view.not].filter(([column, value]) => column === facet.column && !values.some((one) => one.value === value));
  values.push(...chosenOnly.map(([, value]) => ({ value, count: null }))); // so that it can be taken back here, too
  const rows = values.map(({ value, count }) => row(facet.column, value, count, most, view, change));
  const list = h("ul", {}, rows);
  const chosen = [...view.is, ...view.not].filter(([column]) => column === facet.column).length;
  details.append(h("summary", {}, icon("chevron"), h("span", { class: "facet-name", title: facet.column }, facet.column),
    chosen ? h("span", { class: "badge" }, chosen) : null), list);
  if (rows.length > FEW) details.append(moreButton(facet.column, list, rows));
  if (facet.other) details.append(h("p", { class: "dim other-values" }, `${number(facet.other)} in other values`));
  return details;
}

function moreButton(column, list, rows) {
  const button = h("button", { class: "quiet small more-values", type: "button" });
  const show = () => {
    const open = unfolded.has(column);
    list.classList.toggle("few", !open);
    button.textContent = open ? "Show fewer" : `Show ${rows.length - FEW} more`;
  };
  button.addEventListener("click", () => {
    unfolded[unfolded.has(column) ? "delete" : "add"](column);
    show();
  });
  show();
  return button;
}

function row(column, value, count, most, view, change) {
  const pair = [column, value];
  const [included, excluded] = [hasPair(view.is, pair), hasPair(view.not, pair)];
  const text = shownValue(value);
  const include = h("button", {
    class: "facet-value", type: "button", title: text, "aria-pressed": String(included),
    "aria-label": `${included ? "Remove filter" : "Only"} ${column} ${text}${count === null ? "" : `, ${number(count)}`}`,
    onclick: (event) => change(withPair(view, event.altKey ? "not" : "is", pair)),
  }, h("span", { class: `value${value === null || value === "" ? " absent" : ""}` }, h("bdi", {}, text)),
  count === null ? null : [h("span", { class: "meter" }, h("span", { style: { width: `${(count / most) * 100}%` } })),
    h("span", { class: "value-count" }, compact(count))]);
  const exclude = h("button", {
    class: "quiet square exclude", type: "button", title: `Exclude ${text}`, "aria-label": `Exclude ${column} ${text}`,
    "aria-pressed": String(excluded), onclick: () => change(withPair(view, "not", pair)),
  }, icon("minus"));
  return h("li", { class: included ? "included" : excluded ? "excluded" : null }, include, exclude);
}

/** Shows what restricts the view as pills that can be removed. */
export function showPills(view, change, openTime) {
  const pills = [];
  if (view.from || view.to) {
    const label = rangeLabel(view.from && Date.parse(view.from), view.to && Date.parse(view.to));
    pills.push(pill("time", [icon("clock"), label], "the time range", () => change({ ...view, from: null, to: null }), openTime));
  }
  for (const [kind, word] of [["is", "is"], ["not", "is not"]]) {
    for (const pair of view[kind]) {
      const [column, value] = pair;
      const other = kind === "is" ? "not" : "is";
      const flip = () => change({ ...withoutPair(view, kind, pair), [other]: [...view[other].filter((one) => !hasPair([pair], one)), pair] });
      pills.push(pill(kind, [h("b", {}, h("bdi", {}, column)), ` ${word} `, h("bdi", {}, shownValue(value))], `${column} ${word} ${shownValue(value)}`,
        () => change(withoutPair(view, kind, pair)), flip));
    }
  }
  const clear = () => change({ ...view, from: null, to: null, is: [], not: [] });
  if (pills.length > 1) pills.push(h("button", { class: "quiet small", type: "button", onclick: clear }, "Clear all"));
  $("pills").hidden = pills.length === 0;
  $("pills").replaceChildren(...pills);
}

function pill(kind, label, name, remove, click) {
  const title = kind === "time" ? "Change the time range" : kind === "is" ? "Click to exclude instead" : "Click to include instead";
  return h("span", { class: `pill ${kind}` },
    h("button", { class: "pill-label", type: "button", title, onclick: click }, label),
    h("button", { class: "pill-remove", type: "button", "aria-label": `Remove ${name}`, title: "Remove", onclick: remove }, icon("close")));
}
