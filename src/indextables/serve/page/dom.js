// Elements from values. Text is always a text node, so that nothing in the data is read as HTML.

const SVG = "http://www.w3.org/2000/svg";

export const $ = (id) => document.getElementById(id);

/** h("button", { class: "chip", onclick: f, style: { width: "3px" } }, "text", child, null, [children]) */
export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "style") for (const [key, setting] of Object.entries(value)) element.style.setProperty(key, setting);
    else if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Icons of 16 pixels, drawn in the colour of the text. */
const ICONS = new Map([
  ["search", "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9ZM10.4 10.4 14 14"],
  ["close", "M4 4l8 8M12 4l-8 8"],
  ["plus", "M8 3.5v9M3.5 8h9"],
  ["minus", "M3.5 8h9"],
  ["clock", "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2ZM8 4.8V8l2.2 1.6"],
  ["history", "M2.6 8a5.4 5.4 0 1 0 1.7-3.9L2.6 5.6M2.6 2.6v3h3M8 5v3.2l2 1.3"],
  ["keyboard", "M1.8 4.2h12.4v7.6H1.8ZM4.2 6.6h.01M6.7 6.6h.01M9.2 6.6h.01M11.7 6.6h.01M5 9.4h6"],
  ["sun", "M8 5.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6ZM8 1.5v1M8 13.5v1M1.5 8h1M13.5 8h1M3.4 3.4l.7.7M11.9 11.9l.7.7M3.4 12.6l.7-.7M11.9 4.1l.7-.7"],
  ["moon", "M13.2 9.6A5.6 5.6 0 1 1 6.4 2.8a4.5 4.5 0 0 0 6.8 6.8Z"],
  ["system", "M2 3h12v8H2ZM6 13.5h4M8 11v2.5"],
  ["filter", "M2 3.5h12M4.2 8h7.6M6.5 12.5h3"],
  ["braces", "M6 2.5c-1.6 0-1.9.8-1.9 2v1.7c0 .9-.5 1.8-1.6 1.8 1.1 0 1.6.9 1.6 1.8v1.7c0 1.2.3 2 1.9 2M10 2.5c1.6 0 1.9.8 1.9 2v1.7c0 .9.5 1.8 1.6 1.8-1.1 0-1.6.9-1.6 1.8v1.7c0 1.2-.3 2-1.9 2"],
  ["columns", "M2 3h12v10H2ZM6 3v10M10 3v10"],
  ["share", "M8 10V2.2M5 5l3-3 3 3M3 8.5V13h10V8.5"],
  ["download", "M8 2.5V10M5 7.2l3 3 3-3M3 12.8h10"],
  ["copy", "M5.5 5.5h7.5v8H5.5ZM10.5 5.5v-3H3v8h2.5"],
  ["chevron", "M6 4l4 4-4 4"],
  ["rows", "M2.5 4h11M2.5 8h11M2.5 12h11"],
  ["zoom-out", "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9ZM10.4 10.4 14 14M5 7h4"],
  ["star", "M8 2.2l1.8 3.7 4 .6-2.9 2.8.7 4L8 11.4l-3.6 1.9.7-4L2.2 6.5l4-.6Z"],
  ["link", "M6.6 9.4a2.6 2.6 0 0 0 3.7 0l2.4-2.4a2.6 2.6 0 0 0-3.7-3.7l-.9.9M9.4 6.6a2.6 2.6 0 0 0-3.7 0L3.3 9a2.6 2.6 0 0 0 3.7 3.7l.9-.9"],
  ["check", "M3.5 8.5l3 3 6-7"],
  ["alert", "M8 2.2 14.2 13H1.8ZM8 6.4v3M8 11.3h.01"],
]);

export function icon(name) {
  return svg("svg", { class: "icon", viewBox: "0 0 16 16", "aria-hidden": "true" }, svg("path", { d: ICONS.get(name) }));
}

/** Puts the icons into the elements of the document that name one. */
export function drawIcons() {
  for (const place of document.querySelectorAll("[data-icon]")) place.prepend(icon(place.dataset.icon));
}

/** Opens below its button, inside the window, whatever its size. */
export function placePanel(panel, button) {
  const [box, gap] = [button.getBoundingClientRect(), 8];
  const left = Math.max(gap, Math.min(box.left, innerWidth - panel.offsetWidth - gap));
  panel.style.left = `${left}px`;
  panel.style.top = `${box.bottom + 6}px`;
  panel.style.maxHeight = `${innerHeight - box.bottom - 6 - gap}px`;
}

let toastTimer = 0;

export function toast(message) {
  const place = $("toast");
  place.textContent = message;
  place.classList.add("shown");
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => place.classList.remove("shown"), 2200);
}

export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    copyBySelection(text); // the page is not served from this machine, or the browser asks first
  }
  toast(`Copied ${what}`);
}

function copyBySelection(text) {
  const area = h("textarea", { class: "sr", "aria-hidden": "true" });
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}
