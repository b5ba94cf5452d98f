import { SMALLEST, LARGEST } from "./board-item.js";

// Where elements are and fit. All positions and lengths are in the board's unit, see board-plane.js.

const GRID = 24, GAP = 12;
/** At most this many elements, and places of the view, are compared. The others are likely to be like them. */
const COMPARED = 400, PLACES = 40;

/** Returns a spot for a new element where it covers no other: in view, or else below. */
export function freeSpot(boxes, { w, h }, view) {
  const near = boxes.filter((box) => box.x < view.x + view.w && box.x + box.w > view.x && box.y + box.h > view.y);
  const first = view.x + GRID;
  for (let y = view.y + GRID; ; y += GRID) {
    for (let x = first; x === first || x + w < view.x + view.w;) {
      const other = near.find((box) => x < box.x + box.w + GAP && x + w + GAP > box.x && y < box.y + box.h + GAP && y + h + GAP > box.y);
      if (!other) return { x: Math.round(x), y: Math.round(y) };
      x = other.x + other.w + GAP;
    }
  }
}

/** Returns the corner from which a view of this size shows the most elements whole; of several, the highest. */
export function bestCorner(boxes, { w, h }) {
  const compared = sample(boxes, COMPARED);
  const isWhole = (box, x, y) => box.x >= x && box.y >= y && box.x + Math.min(box.w, w - 2 * GRID) <= x + w && box.y + Math.min(box.h, h - 2 * GRID) <= y + h;
  const places = (key) => sample([...new Set(boxes.map((box) => box[key] - GRID))].sort((a, b) => a - b), PLACES);
  let best = { count: -1 };
  for (const y of places("y")) {
    for (const x of places("x")) {
      const count = compared.filter((box) => isWhole(box, x, y)).length;
      if (count > best.count) best = { count, x, y };
    }
  }
  return best;
}

function sample(values, most) {
  const step = Math.ceil(values.length / most);
  return values.filter((_, index) => index % step === 0);
}

/** Returns `box` after its lower right corner was moved. With a `ratio` of width to height, it keeps that. */
export function resized(box, dx, dy, ratio) {
  const fit = (value) => Math.round(Math.min(LARGEST, Math.max(SMALLEST, value)));
  if (!ratio) return { ...box, w: fit(box.w + dx), h: fit(box.h + dy) };
  // A side that is not changed follows the other one.
  const change = Math.max(dx / ratio, dy, 0) + Math.min(dx / ratio, dy, 0);
  // The longer side is fitted, so that the other one follows it at any size.
  const longer = fit(Math.max(1, ratio) * (Math.max(box.w / ratio, box.h) + change));
  return { ...box, w: Math.round(ratio > 1 ? longer : longer * ratio), h: Math.round(ratio > 1 ? longer / ratio : longer) };
}
