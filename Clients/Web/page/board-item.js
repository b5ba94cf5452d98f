import { h, svg, fill, webAddress, outsideLink } from "./dom.js";
import { icon } from "./icons.js";
import { t } from "./texts.js";

// How an element of the board looks. Any client may write anything into `content`, so each field is checked before it is
// used.
// note: {text, tint, w, h, z} · image: {url, alt, w, h, z} · link: {url, title, w, h, z}
// stroke: {points: [x, y, …], box: [w, h], pen, w, h, z}

// A Map, because in an object the type "constructor" would find what all objects inherit.
const SIZES = new Map([["note", [208, 144]], ["image", [264, 192]], ["link", [248, 76]], ["stroke", [120, 80]]]);
export const TYPES = [...SIZES.keys()];
export const SMALLEST = 48;
export const LARGEST = 2400;
const FARTHEST = 20_000;

const number = (value, low, high, otherwise) => (typeof value === "number" && Number.isFinite(value) ? Math.min(high, Math.max(low, value)) : otherwise);
const words = (value) => (typeof value === "string" ? value : "");
const choice = (value) => (Number.isInteger(value) && value >= 0 && value < 5 ? value : 0);

/** Returns an element's position, size and layer. */
export function boxOf({ type, content, position }) {
  const [width, height] = type === "stroke" ? strokeBox(content) : SIZES.get(type) ?? SIZES.get("note");
  return {
    x: number(position?.x, -FARTHEST, FARTHEST, 40), y: number(position?.y, -FARTHEST, FARTHEST, 40),
    w: number(content.w, SMALLEST / 2, LARGEST, width), h: number(content.h, SMALLEST / 2, LARGEST, height),
    z: number(content.z, -1e9, 1e9, 0),
  };
}

function strokeBox({ box }) {
  const [width, height] = SIZES.get("stroke");
  return [number(box?.[0], 1, LARGEST, width), number(box?.[1], 1, LARGEST, height)];
}

export function kindOf(type) {
  return t(TYPES.includes(type) ? type : "other");
}

export function labelOf({ type, content }) {
  const kind = TYPES.includes(type) ? kindOf(type) : `${kindOf(type)} (${type})`;
  const said = words(content.text) || words(content.title) || words(content.alt) || words(content.url);
  return said ? `${kind}: ${said.slice(0, 200)}` : kind;
}

/** Returns an element's inner nodes. */
export function cardOf({ type, content }) {
  switch (type) {
    case "note": return h("div", { class: "card note", dir: "auto", "data-tint": choice(content.tint) }, words(content.text));
    case "image": return picture(content);
    case "link": return link(content);
    case "stroke": return stroke(content);
    default: return h("div", { class: "card unknown", dir: "auto" }, h("b", {}, type), words(content.text) || words(content.title) || JSON.stringify(content).slice(0, 400));
  }
}

function picture(content) {
  const card = h("div", { class: "card picture" });
  const broken = () => fill(card, h("div", { class: "broken" }, icon("image", 28), h("span", { dir: "auto" }, words(content.alt) || t("imageFailed"))));
  const src = webAddress(content.url);
  if (!src) broken();
  else card.append(h("img", { alt: words(content.alt), decoding: "async", referrerpolicy: "no-referrer", draggable: "false", on: { error: broken }, src }));
  return card;
}

function link(content) {
  const href = webAddress(content.url);
  const title = words(content.title);
  const shown = href ? href.replace(/^https?:\/\/(www\.)?/, "").replace(/\/$/, "") : words(content.url);
  const anchor = href ? outsideLink(href, shown) : h("span", {}, shown);
  anchor.setAttribute("draggable", "false");
  anchor.setAttribute("dir", "ltr");
  return h("div", { class: "card web" }, title && h("b", { dir: "auto" }, title), anchor);
}

function stroke(content) {
  const [width, height] = strokeBox(content);
  const d = curve(content.points);
  return h("div", { class: "card ink-card" },
    svg("svg", { class: "ink", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", "data-pen": choice(content.pen), "aria-hidden": "true" },
      svg("path", { class: "hit", d }), svg("path", { d })));
}

/** Returns a smooth SVG path through points in the form [x, y, x, y, …]. */
export function curve(points) {
  const flat = Array.isArray(points) ? points.slice(0, 8000).map((value) => number(value, -LARGEST, LARGEST, 0)) : [];
  if (flat.length < 2) return "";
  if (flat.length < 6) return `M${flat[0]} ${flat[1]}L${flat.at(-2) + (flat.length === 2 ? 0.1 : 0)} ${flat.at(-1)}`;
  let path = `M${flat[0]} ${flat[1]}`;
  for (let index = 2; index + 3 < flat.length; index += 2) {
    path += `Q${flat[index]} ${flat[index + 1]} ${(flat[index] + flat[index + 2]) / 2} ${(flat[index + 1] + flat[index + 3]) / 2}`;
  }
  return `${path}L${flat.at(-2)} ${flat.at(-1)}`;
}

/** The distance, in pixels, by which a simplified line may differ from the drawn one. */
const TOLERANCE = 0.8;

/**
 * Returns fewer points for the same line: it leaves out points closer to the line than `TOLERANCE` (Ramer, Douglas,
 * Peucker).
 */
export function simplified(points) {
  if (points.length < 3) return points;
  const kept = new Uint8Array(points.length);
  kept[0] = kept[points.length - 1] = 1;
  const open = [[0, points.length - 1]];
  while (open.length) {
    const [from, to] = open.pop();
    const [ax, ay] = points[from], [bx, by] = points[to];
    const length = Math.hypot(bx - ax, by - ay);
    let farthest = 0, at = -1;
    for (let index = from + 1; index < to; index += 1) {
      const [x, y] = points[index];
      const distance = length === 0 ? Math.hypot(x - ax, y - ay) : Math.abs((bx - ax) * (ay - y) - (ax - x) * (by - ay)) / length;
      if (distance > farthest) [farthest, at] = [distance, index];
    }
    if (farthest > TOLERANCE) {
      kept[at] = 1;
      open.push([from, at], [at, to]);
    }
  }
  return points.filter((_, index) => kept[index]);
}
