import assert from "node:assert/strict";
import { test } from "node:test";
import { Clock } from "./support/clock.mjs";

/** A document, frames and time, as far as a module of the page needs them. */
function browser() {
  const clock = new Clock();
  const document = Object.assign(new EventTarget(), { hidden: false });
  const frames = [];
  Object.assign(globalThis, { document, setTimeout: clock.setTimeout, requestAnimationFrame: (run) => frames.push(run) });
  return {
    clock,
    paint: () => frames.splice(0).forEach((run) => run()),
    setHidden(isHidden) {
      document.hidden = isHidden;
      document.dispatchEvent(new Event("visibilitychange"));
    },
  };
}

test("what waits for a frame is done if the page is hidden before it, and not again later", async () => {
  const { setTimeout } = globalThis;
  const { clock, paint, setHidden } = browser();
  try {
    const { onceAFrame } = await import("../../Clients/Web/page/dom.js");
    let count = 0;
    const update = onceAFrame(() => { count += 1; });
    update();
    update();
    paint();
    assert.equal(count, 1);
    update();
    setHidden(true);
    await clock.advance(100);
    assert.equal(count, 2, "the frame never comes");
    update();
    await clock.advance(100);
    assert.equal(count, 3, "a hidden page");
    setHidden(false);
    paint();
    assert.equal(count, 3);
    update();
    paint();
    assert.equal(count, 4);
  } finally {
    Object.assign(globalThis, { setTimeout });
  }
});
