import { h, svg, fill, linked, webAddress, outsideLink } from "./dom.js";
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
/** The longest side of an image that nobody has resized. */
const IMAGE_SIDE = 320;

/** The sizes that images have by themselves, scaled down to `IMAGE_SIDE`, by address. Only images that were shown are in it. */
const ownSizes = new Map();

const number = (value, low, high, otherwise) => (typeof value === "number" && Number.isFinite(value) ? Math.min(high, Math.max(low, value)) : otherwise);
const words = (value) => (typeof value === "string" ? value : "");
const choice = (value) => (Number.isInteger(value) && value >= 0 && value < 5 ? value : 0);

/** Returns an element's position, size and layer. */
export function boxOf({ type, content, position }) {
  const [width, height] = type === "stroke" ? strokeBox(content) : imageSize(type, content) ?? SIZES.get(type) ?? SIZES.get("note");
  return {
    x: number(position?.x, -FARTHEST, FARTHEST, 40), y: number(position?.y, -FARTHEST, FARTHEST, 40),
    w: number(content.w, SMALLEST / 2, LARGEST, width), h: number(content.h, SMALLEST / 2, LARGEST, height),
    z: number(content.z, -1e9, 1e9, 0),
  };
}

/** Returns the own size of an image that was shown. */
export function imageSize(type, { url }) {
  return type === "image" ? ownSizes.get(url) : undefined;
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

/** Returns a string that is the same for elements with the same inner nodes. */
export function looksOf({ type, content }) {
  return JSON.stringify([type, { ...content, w: 0, h: 0, z: 0 }]);
}

/**
 * Returns an element's inner nodes.
 * @param mayLoad false if an image is to be loaded only when the person asks for it.
 */
export function cardOf({ type, content }, mayLoad = true) {
  switch (type) {
    case "note": return note(content);
    case "image": return picture(content, mayLoad);
    case "link": return link(content);
    case "stroke": return stroke(content);
    default: return h("div", { class: "card unknown", dir: "auto" }, h("b", {}, type), words(content.text) || words(content.title) || JSON.stringify(content).slice(0, 400));
  }
}

/** Returns true for an address that a browser does not load into this page, because only the page is encrypted. */
export function isUnencrypted(href) {
  return location.protocol === "https:" && href.startsWith("http:");
}

function note({ text, tint }) {
  const card = h("div", { class: "card note", dir: "auto", "data-tint": choice(tint) }, linked(words(text)));
  // Else the browser would drag the link instead of the note.
  for (const anchor of card.querySelectorAll("a")) anchor.setAttribute("draggable", "false");
  return card;
}

function picture({ url, alt }, mayLoad) {
  const card = h("div", { class: "card picture" });
  const src = webAddress(url);
  const missing = (reason, action) => fill(card, h("div", { class: "missing" }, words(alt) && h("b", { dir: "auto" }, alt), h("span", {}, reason),
    src && addressLink(src), src && h("button", { class: "text-button", type: "button", on: { click: load } }, action)));
  const failed = () => missing(t(src && isUnencrypted(src) ? "imageUnencrypted" : "imageFailed"), t("tryAgain"));
  const loaded = ({ target: { naturalWidth, naturalHeight } }) => {
    // An SVG may have no size.
    if (!naturalWidth || !naturalHeight) return ownSizes.set(url, SIZES.get("image"));
    const scale = Math.min(1, IMAGE_SIDE / naturalWidth, IMAGE_SIDE / naturalHeight);
    ownSizes.set(url, [naturalWidth, naturalHeight].map((side) => Math.max(SMALLEST / 2, Math.round(side * scale))));
  };
  const load = () => fill(card, h("img", { alt: words(alt), decoding: "async", referrerpolicy: "no-referrer", draggable: "false", on: { error: failed, load: loaded }, src }));
  if (!src) failed();
  else if (mayLoad || ownSizes.has(url)) load();
  else missing(t("imageAsks"), t("showImage"));
  return card;
}

function addressLink(href) {
  const anchor = outsideLink(href, href.replace(/^https?:\/\/(www\.)?/, "").replace(/\/$/, ""));
  anchor.setAttribute("draggable", "false");
  anchor.setAttribute("dir", "ltr");
  return anchor;
}

function link(content) {
  const href = webAddress(content.url);
  const title = words(content.title);
  return h("div", { class: "card web" }, title && h("b", { dir: "auto" }, title), href ? addressLink(href) : h("span", { dir: "ltr" }, words(content.url)));
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
