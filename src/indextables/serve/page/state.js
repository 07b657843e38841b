// The view as a value, and as an address. Whatever changes the view makes a new value.

const SORTS = ["time", "-time", "score"];

export const EMPTY = Object.freeze({
  table: null, q: "", where: "", from: null, to: null, is: [], not: [], sort: null, columns: null, by: null, version: null,
});

/** The view that an address describes; parts that cannot be read are left out. */
export function fromAddress(search) {
  const given = new URLSearchParams(search);
  const columns = json(given.get("columns"));
  const version = given.get("version");
  return Object.freeze({
    table: given.get("table"),
    q: given.get("q") ?? "",
    where: given.get("where") ?? "",
    from: given.get("from") || null,
    to: given.get("to") || null,
    is: given.getAll("is").map(json).filter(isPair),
    not: given.getAll("not").map(json).filter(isPair),
    sort: sortFrom(given.get("sort")),
    columns: Array.isArray(columns) && columns.every((name) => typeof name === "string") ? columns : null,
    by: given.get("by"),
    version: /^\d+$/.test(version ?? "") ? Number(version) : null,
  });
}

/** The parameters of a view, for the address and for the server alike. */
export function toParams(view, more = {}) {
  const params = new URLSearchParams();
  for (const name of ["table", "q", "where", "from", "to"]) if (view[name]) params.set(name, view[name]);
  for (const name of ["is", "not"]) for (const pair of view[name]) params.append(name, JSON.stringify(pair));
  if (view.sort) params.set("sort", sortText(view.sort));
  if (view.columns) params.set("columns", JSON.stringify(view.columns));
  if (view.by !== null) params.set("by", view.by);
  if (view.version !== null) params.set("version", view.version);
  for (const [name, value] of Object.entries(more)) if (value !== null && value !== undefined) params.set(name, value);
  return params;
}

export const same = (one, other) => toParams(one).toString() === toParams(other).toString();

const samePair = (one, other) => one[0] === other[0] && one[1] === other[1];

export const hasPair = (pairs, pair) => pairs.some((other) => samePair(other, pair));

/** The view with a value included or excluded; the same again takes it back. */
export function withPair(view, kind, pair) {
  const other = kind === "is" ? "not" : "is";
  const without = view[kind].filter((one) => !samePair(one, pair));
  const chosen = without.length === view[kind].length ? [...without, pair] : without;
  return { ...view, [kind]: chosen, [other]: view[other].filter((one) => !samePair(one, pair)) };
}

export function withoutPair(view, kind, pair) {
  return { ...view, [kind]: view[kind].filter((one) => !samePair(one, pair)) };
}

/** A sort as the address has it: `time`, `-time`, `score`, or a column as `["host","desc"]`. */
export const sortText = (sort) => (Array.isArray(sort) ? JSON.stringify(sort) : sort);

export function sortFrom(text) {
  if (SORTS.includes(text)) return text === "time" ? null : text;
  const [column, direction = "asc", ...more] = [json(text)].flat();
  if (typeof column !== "string" || !["asc", "desc"].includes(direction) || more.length || !text.startsWith("[")) return null;
  return direction === "asc" ? [column] : [column, "desc"];
}

function json(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Whether a value is a pair of a column and a value that a column can have. */
function isPair(value) {
  return Array.isArray(value) && value.length === 2 && typeof value[0] === "string" && (value[1] === null || typeof value[1] !== "object");
}

const [FEW_COLUMNS, FACETS_SHOWN, TEXTS_SHOWN] = [5, 2, 2];

/** The column by whose values the histogram is broken down; "" for none. The server refuses a column that is not there. */
export function breakdown(table, view) {
  const wanted = view.by ?? table.levelColumn ?? "";
  const hasTooMany = table.columns.some(({ name }) => name === wanted) && !table.facetColumns.includes(wanted);
  return hasTooMany ? "" : wanted;
}

/** What is shown where no columns were chosen: the time, the level, values that repeat, and the text. */
export function defaultColumns(table) {
  const names = table.columns.map(({ name }) => name);
  const first = [table.timeColumn, table.levelColumn].filter((name) => name !== null);
  const facets = table.facetColumns.filter((name) => !first.includes(name)).slice(0, FACETS_SHOWN);
  const texts = table.textColumns.filter((name) => ![...first, ...facets].includes(name)).slice(0, TEXTS_SHOWN);
  const chosen = [...first, ...facets];
  const others = names.filter((name) => !chosen.includes(name) && !texts.includes(name));
  const room = names.length <= FEW_COLUMNS ? names.length : texts.length ? 0 : FEW_COLUMNS - chosen.length;
  return [...chosen, ...others.slice(0, Math.max(room, 0)), ...texts];
}
