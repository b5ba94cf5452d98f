import { svg } from "./dom.js";

// The icons are lines on a grid of 24, in the colour of the text around them.
const PATHS = {
  plus: "M12 5v14M5 12h14",
  close: "M6 6l12 12M18 6L6 18",
  back: "M15 5l-7 7 7 7",
  search: "M10.5 4a6.5 6.5 0 1 1 0 13 6.5 6.5 0 0 1 0-13zM15.5 15.5L20 20",
  send: "M12 19V6M6 11.5L12 5.5l6 6",
  down: "M12 5v14M6 13l6 6 6-6",
  pencil: "M4 20l1-4L16 5l3 3L8 19l-4 1zM14 7l3 3",
  trash: "M5 7h14M10 7V4.5h4V7M7 7l1 13h8l1-13M10.5 11v5.5M13.5 11v5.5",
  note: "M5 4h14v10l-6 6H5zM19 14h-6v6",
  image: "M4 5h16v14H4zM4 16l4.5-4.5L13 16l3-3 4 4M15.5 9.5h.01",
  link: "M10 14a4 4 0 0 0 6 .4l3-3a4 4 0 0 0-5.7-5.7L12 7M14 10a4 4 0 0 0-6-.4l-3 3a4 4 0 0 0 5.7 5.7L12 17",
  more: "M5.5 11a1 1 0 1 1 0 2a1 1 0 1 1 0-2M12 11a1 1 0 1 1 0 2a1 1 0 1 1 0-2M18.5 11a1 1 0 1 1 0 2a1 1 0 1 1 0-2",
  undo: "M8 5L4 9l4 4M4 9h10a5 5 0 0 1 0 10h-3",
  draw: "M4 17c3-9 6-11 7-9s-4 8-1 8 4-6 6-5-1 5 4 4",
  front: "M12 20V9M7.5 13.5L12 9l4.5 4.5M5 4.5h14",
  backwards: "M12 4v11M7.5 10.5L12 15l4.5-4.5M5 19.5h14",
  eye: "M3 12c4-7 14-7 18 0-4 7-14 7-18 0zM12 9.5a2.5 2.5 0 1 1 0 5 2.5 2.5 0 0 1 0-5z",
  chat: "M4 5h16v11H11l-5 4v-4H4z",
  board: "M4 5h16v14H4zM8 9h4v4H8zM15 10h2M15 14h2",
  clock: "M12 4a8 8 0 1 1 0 16 8 8 0 0 1 0-16zM12 8v4.5l3 1.5",
  check: "M5 12.5l4.5 4.5L19 7.5",
  checks: "M2.5 12.5L7 17l9-9.5M11 15.5l1.5 1.5 9-9.5",
  alert: "M12 4l9 16H3zM12 10v4.5M12 17.2v.1",
  retry: "M19 12a7 7 0 1 1-2-5M19 4v4h-4",
  sun: "M12 8a4 4 0 1 1 0 8 4 4 0 0 1 0-8zM12 2.5v2M12 19.5v2M2.5 12h2M19.5 12h2M5.3 5.3l1.4 1.4M17.3 17.3l1.4 1.4M5.3 18.7l1.4-1.4M17.3 6.7l1.4-1.4",
  moon: "M19.5 14.5A8 8 0 0 1 9.5 4.5a8 8 0 1 0 10 10z",
  system: "M4 5h16v11H4zM9 20h6M12 16v4",
  exit: "M10 4H5v16h5M15 8l4 4-4 4M19 12H9",
  sort: "M7 5v14M3.5 15.5L7 19l3.5-3.5M13 7h8M13 12h6M13 17h4",
  people: "M9 5a3.5 3.5 0 1 1 0 7 3.5 3.5 0 0 1 0-7zM2.5 19.5c0-3.5 3-5.5 6.5-5.5s6.5 2 6.5 5.5M15.5 5.3a3.5 3.5 0 0 1 0 6.4M18 14.4c2.2.8 3.5 2.6 3.5 5.1",
  key: "M15 4a5 5 0 1 1 0 10 5 5 0 0 1 0-10zM11.3 12.7L4 20M7 17l2.5 2.5",
  offline: "M4 4l16 16M8.5 14.5a5 5 0 0 1 5.5-1M5 11a10 10 0 0 1 4-2.4M13 8.1a10 10 0 0 1 6 2.9M12 18.5h.01",
};

/** @param size the number of pixels of each side, if the text has its usual size. */
export function icon(name, size = 20) {
  return svg(
    "svg",
    { viewBox: "0 0 24 24", width: `${size / 16}rem`, height: `${size / 16}rem`, class: `icon icon-${name}`, "aria-hidden": "true", focusable: "false" },
    svg("path", { d: PATHS[name] }),
  );
}
