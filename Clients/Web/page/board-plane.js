import { h } from "./dom.js";
import { t } from "./texts.js";

/** The free space to the right of all elements and below them. */
const MARGIN = 240;
const EDGE = 24;

/** Returns a length of the board for CSS. Its unit is a sixteenth of a rem, so that the board grows with the text. */
export const rem = (length) => `${length / 16}rem`;

/** The plane that elements lie on, and that scrolls. */
export function planeView() {
  let origin = { x: 0, y: 0 };
  const layer = h("div", { class: "layer" });
  const surface = h("div", { class: "surface" }, layer);
  const element = h("div", { class: "plane", role: "group", "aria-label": t("board"), tabindex: "-1" }, surface);
  /** Returns how many pixels one unit is. */
  const unit = () => parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;

  return {
    element, surface, layer, unit,
    get origin() {
      return origin;
    },
    /** Returns the part that is in view. */
    view() {
      const scale = unit();
      return { x: element.scrollLeft / scale + origin.x, y: element.scrollTop / scale + origin.y, w: element.clientWidth / scale, h: element.clientHeight / scale };
    },
    goTo({ x, y }) {
      const scale = unit();
      element.scrollTo((x - origin.x) * scale, (y - origin.y) * scale);
    },
    /** Makes it large enough for its elements, also to the left and upwards. What is in view stays there. */
    fit(boxes) {
      const { x, y } = this.view();
      const edge = (most, values) => values.reduce((a, b) => most(a, b), 0);
      const low = { x: edge(Math.min, boxes.map((box) => box.x - EDGE)), y: edge(Math.min, boxes.map((box) => box.y - EDGE)) };
      const margin = boxes.length ? MARGIN : 0;
      layer.style.transform = `translate(${rem(-low.x)}, ${rem(-low.y)})`;
      surface.style.width = rem(edge(Math.max, boxes.map((box) => box.x + box.w)) - low.x + margin);
      surface.style.height = rem(edge(Math.max, boxes.map((box) => box.y + box.h)) - low.y + margin);
      const isMoved = low.x !== origin.x || low.y !== origin.y;
      origin = low;
      if (isMoved) this.goTo({ x, y });
    },
  };
}
