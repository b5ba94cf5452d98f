import { h, svg } from "./dom.js";
import { icon } from "./icons.js";
import { t } from "./texts.js";
import { curve, simplified, SMALLEST } from "./board-item.js";
import { swatches } from "./board-dialog.js";
import { trackPointer } from "./pointer.js";

const MOST_POINTS = 4_000;
/** The distance of a line to the edges of its smallest box, so that a dot is in the middle. */
const ROOM = SMALLEST / 4;

/**
 * Lets the person draw on `surface` while `isOn()`. `create(content, position)` stores a drawing, and `end()` ends it.
 * `unit()` returns how many pixels one unit of the board is. `scroll(x, y)` scrolls, because two fingers do not draw.
 * @returns the bar with the pens.
 */
export function drawingView(surface, { isOn, unit, scroll, end, create }) {
  let pen = 0;
  let line = null;
  const draft = svg("svg", { class: "draft", "aria-hidden": "true" });
  surface.append(draft);
  trackPointer(surface, {
    from: isOn,
    pan: (dx, dy) => scroll(-dx, -dy),
    begin(event) {
      const bounds = surface.getBoundingClientRect();
      line = { bounds, points: [[event.clientX - bounds.left, event.clientY - bounds.top]], path: svg("path") };
      draft.setAttribute("class", "draft ink");
      draft.dataset.pen = pen;
      draft.append(line.path);
      return true;
    },
    move(_dx, _dy, events) {
      if (line.points.length > MOST_POINTS) return;
      for (const event of events) line.points.push([event.clientX - line.bounds.left, event.clientY - line.bounds.top]);
      line.path.setAttribute("d", curve(line.points.flat()));
    },
    end(_isMoved, isCancelled) {
      line.path.remove();
      if (!isCancelled) create(...stroke(simplified(line.points).map((point) => point.map((value) => value / unit())), pen));
    },
  });
  return h("div", { class: "item-bar pens", role: "toolbar", "aria-label": t("draw"), hidden: true },
    h("span", {}, t("drawHint")), swatches("pen", pen, (index) => (pen = index)),
    h("button", { class: "icon-button primary", type: "button", title: t("done"), "aria-label": t("done"), on: { click: end } }, icon("check", 19)));
}

/** Returns the content and the position of a drawing through `points`. */
function stroke(points, pen) {
  const [left, width] = span(points.map(([x]) => x)), [top, height] = span(points.map(([, y]) => y));
  const tenth = (value) => Math.round(value * 10) / 10;
  return [
    { points: points.flatMap(([x, y]) => [tenth(x - left), tenth(y - top)]), box: [width, height], pen, w: width, h: height },
    { x: left, y: top },
  ];
}

/** Returns where a box around the values begins, and its length. */
function span(values) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const margin = high - low < 2 * ROOM ? ROOM : 0;
  return [low - margin, Math.ceil(high - low) + 2 * margin];
}
