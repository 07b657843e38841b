// Panels that open below their buttons: versions, time range, columns, export; and the dialogs.

import { $, copy, h, icon, placePanel, toast } from "./dom.js";
import { get } from "./api.js";
import { instant, number, parts, remember, remembered, time, zoneName } from "./format.js";
import { toParams } from "./state.js";

const two = (value) => String(value).padStart(2, "0");

/** A panel that is filled whenever it opens. */
export function panel(name, fill) {
  const [place, button] = [$(`${name}-panel`), $(name)];
  place.addEventListener("toggle", (event) => {
    button.setAttribute("aria-expanded", String(event.newState === "open"));
    if (event.newState !== "open") return;
    place.replaceChildren(...fill(() => place.hidePopover()));
    placePanel(place, button);
    (place.querySelector("input") ?? place.querySelector("button, a"))?.focus();
  });
}

/** A slider over the versions of the table. */
export function versionPanel(table, view, change) {
  const versions = [...table.versions].sort((one, other) => one.version - other.version);
  const now = Math.max(versions.findIndex((one) => one.version === table.version), 0);
  const slider = h("input", { type: "range", min: 0, max: versions.length - 1, value: now, step: 1, "aria-label": "Version" });
  const told = h("div", { class: "version-facts" });
  const tell = () => {
    const { version, timestamp, operation } = versions[Number(slider.value)];
    slider.setAttribute("aria-valuetext", `version ${version}, ${operation}, ${time(timestamp, 0)}`);
    told.replaceChildren(h("b", {}, `Version ${number(version)} of ${number(table.latest)}`), h("code", {}, operation), h("span", { class: "dim" }, `${time(timestamp, 0)} ${zoneName()}`));
  };
  const go = () => {
    const { version } = versions[Number(slider.value)];
    change({ ...view, version: version === table.latest ? null : version });
  };
  const step = (by) => () => {
    slider.value = Number(slider.value) + by;
    tell();
    go();
  };
  slider.addEventListener("input", tell);
  slider.addEventListener("change", go);
  tell();
  const latest = () => change({ ...view, version: null });
  return [
    h("h2", {}, "Time travel"), told,
    h("div", { class: "slider" },
      h("button", { class: "quiet square", type: "button", "aria-label": "The version before", onclick: step(-1) }, icon("minus")), slider,
      h("button", { class: "quiet square", type: "button", "aria-label": "The version after", onclick: step(1) }, icon("plus"))),
    h("button", { class: "chip", type: "button", disabled: table.version === table.latest, onclick: latest }, "Latest version"),
  ];
}

/** Says when the view is of the past. */
export function showPast(table, view, change) {
  const place = $("past");
  place.hidden = table.version === table.latest;
  if (place.hidden) return place.replaceChildren();
  const record = table.versions.find((one) => one.version === table.version);
  place.replaceChildren(icon("history"),
    h("span", {}, h("b", {}, `Version ${number(table.version)} of ${number(table.latest)}`), record ? `: the table after ${record.operation} at ${time(record.timestamp, 0)} ${zoneName()}` : ""),
    h("button", { class: "quiet small", type: "button", onclick: () => change({ ...view, version: null }) }, "Go to the latest"));
}

const PRESETS = [["Last 15 minutes", 15 * 60_000], ["Last hour", 3_600_000], ["Last 6 hours", 6 * 3_600_000], ["Last 24 hours", 86_400_000], ["Last 7 days", 7 * 86_400_000]];

/** The time range: presets that end where the data end, and two instants. */
export function timePanel(table, view, change, close) {
  const [first, last] = table.timeRange ?? [null, null];
  const choose = (from, to) => {
    close();
    change({ ...view, from, to });
  };
  const end = last === null ? Date.now() : Date.parse(last) + 1;
  const presets = PRESETS.map(([label, length]) => h("button", { class: "chip", type: "button", onclick: () => choose(iso(end - length), null) }, label));
  const from = h("input", { type: "datetime-local", step: "0.001", value: local(view.from ?? first), "aria-label": "From" });
  const to = h("input", { type: "datetime-local", step: "0.001", value: local(view.to), "aria-label": "To" });
  const submit = (event) => {
    event.preventDefault();
    choose(from.value ? iso(parsed(from.value)) : null, to.value ? iso(parsed(to.value)) : null);
  };
  return [
    h("h2", {}, "Time range"), h("p", { class: "dim" }, last === null ? "" : `The data end at ${time(last, 0)} ${zoneName()}.`),
    h("div", { class: "presets" }, presets, h("button", { class: "chip", type: "button", onclick: () => choose(null, null) }, "All time")),
    h("form", { class: "range", onsubmit: submit },
      h("label", {}, h("span", {}, `From (${zoneName()})`), from), h("label", {}, h("span", {}, `To (${zoneName()}), not included`), to),
      h("button", { class: "primary", type: "submit" }, "Apply")),
  ];
}

export const iso = (ms) => new Date(ms).toISOString();

function local(text) {
  if (!text) return "";
  const ms = Date.parse(text);
  const [year, month, day, hour, minute, second] = parts(ms);
  return `${String(year).padStart(4, "0")}-${two(month + 1)}-${two(day)}T${two(hour)}:${two(minute)}:${two(second)}.${String(((ms % 1000) + 1000) % 1000).padStart(3, "0")}`;
}

function parsed(value) {
  const [year, month, day, hour, minute, second = 0, fraction = "0"] = value.split(/[-T:.]/);
  return instant(Number(year), month - 1, Number(day), Number(hour), Number(minute), Number(second)) + Number(fraction.padEnd(3, "0"));
}

/** Which columns are shown. */
export function columnsPanel(table, shown, view, change) {
  let chosen = [...shown];
  const list = h("ul", { class: "column-list" });
  const filter = h("input", { type: "search", placeholder: "Find a column", "aria-label": "Find a column" });
  const draw = () => {
    const words = filter.value.toLowerCase();
    list.replaceChildren(...table.columns.filter(({ name }) => name.toLowerCase().includes(words)).map(choice));
  };
  const choice = ({ name, type, indexed }) => {
    const box = h("input", { type: "checkbox", checked: chosen.includes(name) });
    box.addEventListener("change", () => {
      chosen = box.checked ? [...chosen, name] : chosen.filter((one) => one !== name);
      if (chosen.length) change({ ...view, columns: chosen });
      else toast("At least one column is shown");
    });
    return h("li", {}, h("label", {}, box, h("bdi", { title: name }, name), h("span", { class: "grow" }), h("span", { class: "dim" }, indexed && indexed !== type ? `${type}, ${indexed}` : type)));
  };
  filter.addEventListener("input", draw);
  draw();
  const all = () => {
    chosen = table.columns.map(({ name }) => name);
    change({ ...view, columns: chosen });
    draw();
  };
  return [
    h("h2", {}, "Columns"), table.columns.length > 8 ? filter : null, list,
    h("div", { class: "presets" }, h("button", { class: "chip", type: "button", onclick: all }, "All"),
      h("button", { class: "chip", type: "button", onclick: () => change({ ...view, columns: null }) }, "Default")),
  ].filter(Boolean);
}

const MOST_ROWS = 100_000;

/** The view elsewhere: a link, files, code. */
export function sharePanel(view, close) {
  const params = toParams(view);
  const pick = (action) => async () => {
    close();
    await action().catch((error) => toast(error.message));
  };
  const item = (label, picture, action) => h("button", { class: "item", type: "button", onclick: pick(action) }, icon(picture), label);
  const link = (label, name) => h("a", { class: "item", href: `${name}?${toParams(view, { size: MOST_ROWS })}`, download: name, title: "At most 100,000 rows", onclick: close }, icon("download"), label);
  const code = (language, label) => item(`Copy as ${label}`, "copy", async () => {
    const answer = await get("api/snippets", params);
    if (answer) await copy(answer[language], `the ${label} code`);
  });
  return [
    item("Copy link to this view", "link", () => copy(location.href, "the link")),
    link("Download as JSON", "view.json"), link("Download as CSV", "view.csv"), h("hr"),
    code("python", "Python"), code("sql", "SQL"), code("cli", "CLI"),
    item("Show the code …", "rows", () => showSnippets(params)),
  ];
}

async function showSnippets(params) {
  const answer = await get("api/snippets", params);
  if (!answer) return;
  const block = (label, text) => h("section", {},
    h("div", { class: "snippet-head" }, h("h3", {}, label), h("button", { class: "chip", type: "button", onclick: () => copy(text, `the ${label} code`) }, icon("copy"), "Copy")),
    h("pre", {}, h("code", {}, text)));
  dialog("snippet", "The same view in code", [block("Python", answer.python), block("SQL", answer.sql), block("CLI", answer.cli)]);
}

const KEYS = [
  ["/", "write a query"], ["Enter", "search, or open a row"], ["Tab", "take a completion"], ["Ctrl Space", "show completions"], ["j  ↓", "the next row"],
  ["k  ↑", "the row before"], ["c", "copy the row as JSON"], ["Esc", "close what is open"], ["t", "light or dark"], ["?", "these keys"],
];

export function showKeys() {
  dialog("keys", "Keyboard shortcuts", [h("dl", { class: "keys" }, KEYS.map(([key, what]) => h("div", {}, h("dt", {}, key.split("  ").map((one) => h("kbd", {}, one))), h("dd", {}, what))))]);
}

function dialog(id, title, content) {
  const place = $(id);
  const close = h("button", { class: "quiet square", type: "button", "aria-label": "Close", onclick: () => place.close() }, icon("close"));
  place.replaceChildren(h("div", { class: "sheet-head" }, h("h2", { id: `${id}-title` }, title), close), ...content);
  place.onclick = (event) => event.target === place && place.close();
  if (!place.open) place.showModal();
}

const THEMES = ["system", "light", "dark"];

/** The button that goes from the theme of the system to light, to dark. */
export function themeButton() {
  const button = $("theme");
  const show = () => {
    const theme = document.documentElement.dataset.theme ?? "system";
    button.replaceChildren(icon({ system: "system", light: "sun", dark: "moon" }[theme]));
    button.setAttribute("aria-label", `Theme: ${theme}`);
    button.title = `Theme: ${theme} (t)`;
  };
  const next = () => {
    const theme = THEMES[(THEMES.indexOf(remembered("indextables.theme") ?? "system") + 1) % THEMES.length];
    remember("indextables.theme", theme);
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    show();
  };
  button.addEventListener("click", next);
  show();
}
