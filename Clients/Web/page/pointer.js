import { onceAFrame } from "./dom.js";

/** The distance, in pixels, up to which a press is a click. */
const THRESHOLD = 4;

/**
 * Follows a pointer while it is down. `from(event)` returns whether the press counts, and `begin(event)` whether the
 * drag can begin. Then `move(dx, dy, events)` runs at most once a frame, and `end(isMoved, isCancelled)` once. A drag is
 * cancelled by a second finger, and if the browser takes it over, to scroll for example. After a second finger, `pan(dx, dy)`
 * runs at each move of the first one, with the distance since the last move.
 */
export function trackPointer(element, { from, begin, move, end, pan = () => {} }) {
  element.addEventListener("pointerdown", (down) => {
    if (down.button !== 0 || !down.isPrimary || !from(down)) return;
    if (!begin(down)) return;
    down.stopPropagation();
    let isMoved = false;
    let events = [];
    let latest = down;
    let isPanning = false;
    element.wasDragged = false;
    const flush = onceAFrame(() => {
      const last = events.at(-1);
      if (!last) return;
      const batch = events;
      events = [];
      move(last.clientX - down.clientX, last.clientY - down.clientY, batch);
    });
    const onMove = (event) => {
      if (event.pointerId !== down.pointerId) return;
      const [dx, dy] = [event.clientX - latest.clientX, event.clientY - latest.clientY];
      latest = event;
      if (isPanning) return pan(dx, dy);
      if (!isMoved) {
        if (Math.hypot(event.clientX - down.clientX, event.clientY - down.clientY) < THRESHOLD) return;
        isMoved = element.wasDragged = true;
        element.setPointerCapture(down.pointerId);
      }
      events.push(...(event.getCoalescedEvents?.().length ? event.getCoalescedEvents() : [event]));
      flush();
    };
    const onSecond = (event) => {
      if (isPanning || event.pointerType !== "touch") return;
      isPanning = true;
      events = [];
      end(isMoved, true);
    };
    const onEnd = (event) => {
      if (event.pointerId !== down.pointerId) return;
      stop.abort();
      if (isPanning) return;
      const last = events.at(-1);
      const isCancelled = event.type === "pointercancel";
      if (isMoved && last && !isCancelled) move(last.clientX - down.clientX, last.clientY - down.clientY, events);
      events = [];
      end(isMoved, isCancelled);
    };
    const stop = new AbortController();
    addEventListener("pointerdown", onSecond, { signal: stop.signal });
    addEventListener("pointermove", onMove, { signal: stop.signal });
    addEventListener("pointerup", onEnd, { signal: stop.signal });
    addEventListener("pointercancel", onEnd, { signal: stop.signal });
  });
}
