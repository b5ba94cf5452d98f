import { svg, h } from "./dom.js";
import { initials } from "./format.js";

// Pictures of rooms and people, drawn from the id, so that rooms without a name look different at a glance.

function hash(id) {
  let value = 2166136261;
  for (let index = 0; index < id.length; index += 1) value = Math.imul(value ^ id.charCodeAt(index), 16777619);
  value ^= value >>> 15;
  return Math.imul(value, 2246822519) >>> 0;
}

const HUES = 8;

/** Returns the picture of a room: an arched window of six panes. It is lit while somebody is in the room. */
export function roomMark(roomId) {
  const seed = hash(roomId);
  const mark = svg("svg", { viewBox: "0 0 40 40", class: "mark", "aria-hidden": "true", "data-hue": seed % HUES });
  mark.append(svg("path", { class: "mark-frame", d: "M5 37V18a15 15 0 0 1 30 0v19z" }));
  const panes = ["M19 6.2A12 12 0 0 0 8.2 16.5H19z", "M21 6.2A12 12 0 0 1 31.8 16.5H21z", "M8 18.5h11v7.5H8z", "M21 18.5h11v7.5H21z", "M8 28h11v6.5H8z", "M21 28h11v6.5H21z"];
  const bits = (seed >>> 4) % 63;
  const lit = panes.filter((_, index) => bits & (1 << index)).join(""), dark = panes.filter((_, index) => !(bits & (1 << index))).join("");
  mark.append(svg("path", { class: "pane", d: dark }), svg("path", { class: "pane pane-on", d: lit }));
  return mark;
}

export function personMark(person, size = "") {
  return h("span", { class: `avatar ${size}`, "data-hue": hash(person.userId ?? person.id) % HUES, "aria-hidden": "true" }, initials(person));
}

/** Returns the app's logo, a lit window, with its name. */
export function wordmark() {
  const sign = svg("svg", { viewBox: "0 0 32 32", class: "sign", "aria-hidden": "true" });
  sign.append(
    svg("rect", { width: 32, height: 32, rx: 9, class: "sign-wall" }),
    svg("path", { d: "M8 26V14a8 8 0 0 1 16 0v12z", class: "sign-light" }),
    svg("path", { d: "M16 6v20M8 16.5h16", class: "sign-bars" }),
  );
  return h("span", { class: "wordmark" }, sign, h("span", {}, "Parlor"));
}
