// Searches that are saved under a name: in the browser, and as a file for another browser or another person.

import { h, icon, toast } from "./dom.js";
import { remembered } from "./format.js";
import { fromAddress, toParams } from "./state.js";

const KEY = "indextables.searches";
const FILE = "searches.json";
const [MOST, LONGEST_NAME, LONGEST_VIEW] = [500, 120, 300_000];

let searches = read(remembered(KEY)) ?? [];

/** The searches of a text of JSON, a list of `{name, view}`; null where it is something else. */
function read(text) {
  try {
    const found = JSON.parse(text);
    return Array.isArray(found) && found.length <= MOST && found.every(isSearch) ? found.map(({ name, view }) => ({ name, view })) : null;
  } catch {
    return null;
  }
}

function isSearch(value) {
  const { name, view } = value ?? {};
  return typeof name === "string" && name.trim() !== "" && name.length <= LONGEST_NAME && typeof view === "string" && view.length <= LONGEST_VIEW;
}

/** The searches with others, of which each replaces the one of its name; sorted by name. */
function withSearches(added) {
  const names = new Set(added.map(({ name }) => name));
  return [...searches.filter(({ name }) => !names.has(name)), ...added].sort((one, other) => one.name.localeCompare(other.name));
}

/** Keeps searches, and says how that went. */
function keep(next, message) {
  if (next.length > MOST) return toast(`At most ${MOST} searches are kept`);
  searches = next;
  try {
    localStorage.setItem(KEY, JSON.stringify(next));
    toast(message);
  } catch {
    toast("This browser stores nothing for this page: export the searches before you close it");
  }
}

/** The searches by name; a form to save this one; export and import. */
export function savedPanel(view, open, close) {
  const list = h("ul", { class: "saved-list" });
  const draw = () => list.replaceChildren(...(searches.length ? searches.map(entry) : [h("li", { class: "dim" }, "No search is saved yet.")]));
  const entry = ({ name, view: saved }) => {
    const state = fromAddress(`?${saved}`);
    const about = [state.table, state.q, state.where].filter(Boolean).join(" · ");
    const pick = () => {
      close();
      open(state);
    };
    const remove = () => {
      keep(searches.filter((one) => one.name !== name), `Deleted ${name}`);
      draw();
      field.focus();
    };
    return h("li", {}, h("button", { class: "item", type: "button", onclick: pick, title: about }, h("bdi", {}, name), h("span", { class: "dim" }, about)),
      h("button", { class: "quiet square", type: "button", "aria-label": `Delete ${name}`, title: "Delete", onclick: remove }, icon("close")));
  };
  const field = h("input", { type: "text", required: true, maxlength: LONGEST_NAME, placeholder: "A name for this search", "aria-label": "Name of the search" });
  const save = (event) => {
    event.preventDefault();
    const name = field.value.trim();
    if (!name) return;
    keep(withSearches([{ name, view: toParams(view).toString() }]), `Saved ${name}`);
    field.value = "";
    draw();
  };
  const file = h("input", { type: "file", accept: ".json,application/json", class: "sr", tabindex: -1, "aria-label": "File of searches" });
  file.addEventListener("change", async () => {
    const [given] = file.files;
    const found = given ? read(await given.text()) : [];
    file.value = "";
    if (found === null) return toast(`${given.name} is not a file of searches: export one to see what it has`);
    keep(withSearches(found), `Imported ${found.length} ${found.length === 1 ? "search" : "searches"}`);
    draw();
  });
  draw();
  return [
    h("h2", {}, "Saved searches"), list, h("form", { class: "save", onsubmit: save }, field, h("button", { class: "primary", type: "submit" }, "Save")),
    h("div", { class: "presets" }, h("button", { class: "chip", type: "button", onclick: exportFile }, icon("download"), "Export to a file"),
      h("button", { class: "chip", type: "button", onclick: () => file.click() }, icon("share"), "Import a file"), file),
  ];
}

function exportFile() {
  const address = URL.createObjectURL(new Blob([JSON.stringify(searches, null, 2)], { type: "application/json" }));
  h("a", { href: address, download: FILE }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
