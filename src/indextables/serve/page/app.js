// The search page: the view is a value in the address; every change goes through `change`, and is drawn from there.

import { get } from "./api.js";
import { $, drawIcons, h } from "./dom.js";
import { showFacets, showPills } from "./facets.js";
import { bytes, clockLabel, counted, milliseconds, number, rangeLabel, setTimeType, switchZone, zone, zoneName } from "./format.js";
import { Histogram } from "./histogram.js";
import { Hits, nothingFound } from "./hits.js";
import { AutoRefresh } from "./refresh.js";
import { savedPanel } from "./saved.js";
import { columnsPanel, iso, panel, sharePanel, showKeys, showPast, themeButton, timePanel, versionPanel } from "./panels.js";
import { QueryBox, showProblem } from "./query-box.js";
import { breakdown, defaultColumns, EMPTY, fromAddress, same, sortFrom, sortText, toParams, withPair } from "./state.js";

const BUCKETS = 80;

let view = fromAddress(location.search);
let tables = [];
let table = null; // what the server says about the table at the version that is shown
let shown = null; // the last hits
let turn = 0; // counts views, so that late answers are dropped

// ---------------------------------------------------------------------------------------------- the view and the address

/** Shows another view. What was typed and not searched for yet becomes part of it, unless it says something else. */
function change(next, { replace = false } = {}) {
  const typed = { q: query.text.trim(), where: condition.text.trim() };
  const changed = { ...next };
  for (const name of ["q", "where"]) if (next[name] === view[name]) changed[name] = typed[name];
  if (same(changed, view) && !replace) return draw();
  view = changed;
  history[replace ? "replaceState" : "pushState"](null, "", `?${toParams(view)}`);
  return draw();
}

addEventListener("popstate", () => {
  const next = fromAddress(location.search);
  view = next.table ? next : { ...next, table: view.table };
  draw();
});

function submit() {
  change(view);
}

// ---------------------------------------------------------------------------------------------- drawing a view

/** Draws the view; `keepTyped` leaves alone what is being typed. */
async function draw({ keepTyped = false } = {}) {
  const current = ++turn;
  document.body.dataset.state = "loading";
  if (!keepTyped) drawControls();
  busy(true);
  try {
    const finding = get("api/hits", hitsParams()).then((hits) => ({ hits }), (error) => ({ error }));
    const about = await aboutTable();
    if (current !== turn || !about) return;
    table = about;
    drawTable();
    const { hits, error } = await finding;
    if (error) throw error;
    if (current !== turn || !hits) return;
    drawHits(hits);
    fade(false);
    if (!keepTyped) showProblem(null);
    busy(false);
    await Promise.all([drawCount(hits, current), drawAdvice(hits, current), drawHistogram(current), drawFacets(current)]);
    if (current === turn) document.body.dataset.state = "complete";
  } catch (error) {
    if (current === turn) failed(error);
  }
}

/** The columns that are shown are asked for once the table is known; before that, all of them. */
function hitsParams(more = {}) {
  const known = table !== null && table.id === view.table && view.columns === null;
  return toParams(known ? { ...view, columns: defaultColumns(table) } : view, more);
}

/** Versions do not change: what was said about one still holds, except which one is the latest. */
function aboutTable() {
  return get("api/table", toParams({ ...EMPTY, table: view.table, version: view.version }));
}

function drawControls() {
  query.text = view.q;
  query.mark(null);
  condition.text = view.where;
  condition.mark(null);
  $("condition").hidden = !view.where;
  $("clear").hidden = !view.q;
  $("table").value = view.table;
  drawFilters();
}

function drawFilters() {
  showPills(view, change, () => $("time-panel").showPopover({ source: $("time") }));
  $("time-label").textContent = view.from || view.to ? rangeLabel(view.from && Date.parse(view.from), view.to && Date.parse(view.to)) : "All time";
}

function drawTable() {
  setTimeType(table.columns.find(({ name }) => name === table.timeColumn)?.type ?? "timestamp");
  const latest = table.version === table.latest;
  $("version-label").textContent = latest ? `v${number(table.version)}, latest` : `v${number(table.version)} of ${number(table.latest)}`;
  $("version").classList.toggle("warned", !latest);
  $("time").hidden = $("chart").hidden = table.timeColumn === null;
  drawZone();
  drawSort();
  drawFilters(); // in the zone of this table
  showPast(table, view, change);
  document.title = [view.q, table.name, "indextables"].filter(Boolean).join(" | ");
}

/** The orders: by time, by score, and by the columns that are shown. */
function drawSort() {
  const option = (value, label, disabled = false) => h("option", { value, disabled }, label);
  const columns = (view.columns ?? defaultColumns(table)).filter((name) => name !== table.timeColumn);
  const chosen = Array.isArray(view.sort) && !columns.includes(view.sort[0]) ? [...columns, view.sort[0]] : columns;
  const untimed = table.timeColumn === null;
  $("sort").replaceChildren(
    option("time", untimed ? "As written" : "Newest first"), option("-time", "Oldest first", untimed), option("score", "Best match first"),
    h("optgroup", { label: "By column" }, chosen.map((name) => [option(sortText([name]), `${name}, ascending`), option(sortText([name, "desc"]), `${name}, descending`)])));
  $("sort").value = sortText(view.sort) ?? "time";
}

function drawHits(answer) {
  shown = answer;
  const columns = view.columns === null ? defaultColumns(table).filter((name) => answer.columns.includes(name)) : answer.columns;
  if (answer.rows.length) hits.show({ ...answer, columns }, table, view);
  else $("hits").replaceChildren(nothingFound(view, change, describeNothing()));
  drawFooter(answer);
}

function describeNothing() {
  if (!table.rows) return { title: "The table has no rows yet", lines: [table.path] };
  return { title: "No hits", lines: [] };
}

/** Says what was searched, and what would find more. */
async function drawAdvice(answer, current) {
  if (answer.rows.length || !view.q || !table.rows) return;
  const advice = await get("api/advice", toParams(view));
  if (current !== turn || !advice) return;
  const place = document.querySelector(".advice");
  const searched = advice.searched.map(({ column, indexed }) => `${column} (${indexed})`).join(", ");
  const again = (q) => h("button", { class: "chip", type: "button", onclick: () => change({ ...view, q }) }, "Search for ", h("code", {}, q));
  place.replaceChildren(h("p", {}, searched ? `Searched: ${searched}.` : "No column was searched."),
    ...(advice.nearMiss ? [h("p", {}, describeNearMiss(advice.nearMiss)), again(advice.nearMiss.query)] : []));
}

function describeNearMiss({ column, word, found, isWhole, reason }) {
  if (reason !== undefined) return `Did you mean this?${reason && ` ${reason[0].toUpperCase()}${reason.slice(1)}.`}`;
  if (!isWhole) return `${column} has “${found}” inside longer values, but is indexed as exact values.`;
  return `${column} has the value “${found}”.${found === word ? "" : " Exact values are case-sensitive."}`;
}

async function drawCount(answer, current) {
  const place = $("count");
  if (answer.total === null) place.textContent = answer.rows.length ? `${number(answer.rows.length)} of …` : "";
  const total = answer.total ?? (await get("api/count", toParams(view)))?.total;
  if (current !== turn || total === undefined) return;
  place.replaceChildren(h("b", {}, number(total)), total === 1 ? " hit" : " hits",
    table.rows ? h("span", { class: "dim" }, ` of ${counted(table.rows, "row")}`) : "");
}

async function drawHistogram(current) {
  if (table.timeColumn === null) return histogram.show(null);
  const answer = await get("api/histogram", toParams({ ...view, by: null }, { buckets: BUCKETS, by: breakdown(table, view) }));
  if (current === turn && answer) histogram.show(answer, table, { zoomed: Boolean(view.from || view.to), wanted: view.by });
}

async function drawFacets(current) {
  const answer = await get("api/facets", toParams(view));
  if (current === turn && answer) showFacets(answer, view, change);
}

function drawFooter({ version, footer }) {
  const facts = [
    `version ${number(version)}`, `${counted(footer.splits, "split")}: ${number(footer.pruned)} pruned, ${number(footer.opened)} opened`,
    `${bytes(footer.bytes)} read`, milliseconds(footer.ms),
  ];
  $("footer").replaceChildren(...facts.map((fact) => h("span", {}, fact)), h("span", { class: "grow" }),
    h("span", { class: "path", title: table.path }, h("bdi", {}, table.path)), h("span", {}, bytes(table.bytes)));
}

/** What went wrong, beside the box that it is in. What was found before stays, faded, and cannot be used. */
function failed(error) {
  document.body.dataset.state = "failed";
  busy(false);
  fade(true);
  showProblem(error);
  const box = error.parameter === "where" ? condition : query;
  if (error.position) box.mark(error.position);
  if (shown) return $("count").replaceChildren(h("span", { class: "dim" }, "Faded: the hits of the last search that worked"));
  $("hits").replaceChildren();
  histogram.show(null);
}

/** Fades what is not of this view. */
function fade(on) {
  for (const name of ["hits", "chart", "facets"]) {
    $(name).classList.toggle("stale", on);
    $(name).inert = on;
  }
}

let busyTimer = 0;

/** Says that an answer is on its way; the page shows it only if that takes a while, so that nothing flickers. */
function busy(on) {
  clearTimeout(busyTimer);
  $("hits").setAttribute("aria-busy", String(on));
  $("progress").hidden = true;
  if (!on) return;
  busyTimer = setTimeout(() => {
    $("progress").hidden = false;
    $("hits").classList.add("stale");
  }, 150);
}

async function more(offset) {
  const current = turn;
  try {
    const answer = await get("api/hits", hitsParams({ offset }), "api/hits more");
    if (answer && current === turn) hits.append(answer);
  } catch (error) {
    showProblem(error);
  }
}

// ---------------------------------------------------------------------------------------------- parts

const ofRow = (id, rest) => toParams({ ...EMPTY, table: view.table, q: view.q, version: shown.version }, { split: id.split, row: id.row, ...rest });

const hits = new Hits($("hits"), {
  row: (id) => get("api/row", ofRow(id), `row ${id.split} ${id.row}`),
  context: (id, n) => get("api/context", ofRow(id, { n, columns: JSON.stringify(hits.columns) }), `context ${id.split} ${id.row}`),
  change, more,
});

const histogram = new Histogram($("chart"), {
  zoom: (from, to) => change({ ...view, from: iso(from), to: iso(to) }),
  zoomOut: () => {
    const { from, to } = histogram.data ?? { from: Date.parse(view.from), to: Date.parse(view.to) };
    const half = Math.max((to - from) / 2, 1);
    change({ ...view, from: iso(Math.floor(from - half)), to: iso(Math.ceil(to + half)) });
  },
  reset: () => change({ ...view, from: null, to: null }),
  breakDown: (by) => change({ ...view, by: by === (table.levelColumn ?? "") ? null : by }),
  choose: (pair) => change(withPair(view, "is", pair)),
});

const refresh = new AutoRefresh({ choice: $("refresh"), said: $("refreshed"), look: lookForRows, now: () => clockLabel(Math.floor(Date.now() / 1000) * 1000, true) });

/** Shows the newest version where the view follows it; says what keeps it from that. */
async function lookForRows() {
  if (!table || document.body.dataset.state !== "complete") return "waits for the search";
  if (view.version !== null) return "off: an older version is shown";
  const { version, latest } = (await get("api/table", toParams({ ...EMPTY, table: view.table }), "refresh")) ?? table;
  if (latest === table.version || view.table !== table.id) return null;
  if (hits.hasOpenRow) return `version ${number(version)} is there: close the open row to see it`;
  await draw({ keepTyped: true });
  return null;
}

let checkTimer = 0;

/** Marks a mistake once the writer pauses. */
function checkSoon() {
  showProblem(null);
  $("clear").hidden = !query.text;
  clearTimeout(checkTimer);
  checkTimer = setTimeout(check, 600);
}

async function check() {
  const text = query.text;
  try {
    await get("api/check", toParams({ ...EMPTY, table: view.table, version: view.version, q: text }));
  } catch (error) {
    if (query.text !== text || !error.position) return;
    query.mark(error.position);
    showProblem(error);
  }
}

const query = new QueryBox({
  area: $("q"), mirror: $("mirror"), list: $("completion"), submit, changed: checkSoon,
  complete: (text, cursor) => get("api/complete", toParams({ ...EMPTY, table: view.table, version: view.version }, { text, cursor })),
});

const condition = new QueryBox({ area: $("where"), mirror: $("where-mirror"), list: null, submit, changed: () => showProblem(null), complete: null });

function editCondition() {
  $("condition").hidden = false;
  $("where").focus();
}

function listen() {
  $("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    submit();
  });
  $("clear").addEventListener("click", () => {
    query.text = "";
    change(view);
    $("q").focus();
  });
  $("table").addEventListener("change", (event) => change({ ...EMPTY, table: event.target.value, q: view.q }));
  $("sort").addEventListener("change", (event) => change({ ...view, sort: sortFrom(event.target.value) }));
  $("add-where").addEventListener("click", editCondition);
  $("where-remove").addEventListener("click", () => {
    condition.text = "";
    change(view);
  });
  $("help").addEventListener("click", showKeys);
  $("filters").addEventListener("click", () => {
    const open = document.body.classList.toggle("with-facets");
    $("filters").setAttribute("aria-expanded", String(open));
  });
  $("zone").addEventListener("click", () => {
    switchZone();
    drawZone();
    draw();
  });
  document.addEventListener("keydown", pressed);
  const header = document.querySelector(".top"); // the facets stay below it
  new ResizeObserver(() => document.documentElement.style.setProperty("--top", `${header.offsetHeight}px`)).observe(header);
  panel("version", () => (table ? versionPanel(table, view, change) : []));
  panel("time", (close) => (table ? timePanel(table, view, change, close) : []));
  panel("columns", () => (table ? columnsPanel(table, view.columns ?? defaultColumns(table), view, change) : []));
  panel("saved", (close) => savedPanel(view, openSaved, close));
  panel("share", (close) => sharePanel(view, close));
}

/** A saved search replaces everything, what is typed too. */
function openSaved(saved) {
  [query.text, condition.text] = [saved.q, saved.where];
  change({ ...saved, table: saved.table ?? view.table });
}

function drawZone() {
  $("zone").textContent = zone() === "utc" ? "UTC" : "Local time";
  $("zone").hidden = zoneName() === "no time zone";
  $("zone").title = `Times are shown in ${zoneName()}; click to switch`;
  $("zone").setAttribute("aria-pressed", String(zone() === "local"));
}

function pressed(event) {
  const writing = event.target.closest?.("input, textarea, select, dialog, [popover]");
  if (writing || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  const actions = new Map([
    ["/", () => { $("q").focus(); $("q").select(); }],
    ["j", () => hits.step(1)], ["k", () => hits.step(-1)], ["?", showKeys], ["t", () => $("theme").click()],
  ]);
  const action = actions.get(event.key);
  if (!action) return;
  event.preventDefault();
  action();
}

async function start() {
  drawIcons();
  themeButton();
  refresh.start();
  drawZone();
  listen();
  [query.text, condition.text] = [view.q, view.where];
  try {
    tables = await get("api/tables", "");
  } catch (error) {
    return failed(error);
  }
  $("table").replaceChildren(...tables.map(({ id, name, path }) => h("option", { value: id, title: path }, name)));
  const known = tables.some(({ id }) => id === view.table);
  change({ ...view, table: known || view.table ? view.table : tables[0]?.id ?? null }, { replace: true });
}

start();
