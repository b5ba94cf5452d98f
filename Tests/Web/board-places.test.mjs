import assert from "node:assert/strict";
import { test } from "node:test";
import "./support/english.mjs";

globalThis.document.addEventListener = () => {};
const { bestCorner, freeSpot, resized } = await import("../../Clients/Web/page/board-places.js");

const view = { x: 0, y: 0, w: 500, h: 400 };

test("a new element covers no other, even if all of the view is covered", () => {
  assert.deepEqual(freeSpot([], { w: 208, h: 144 }, view), { x: 24, y: 24 });
  const wall = Array.from({ length: 40 }, (_, index) => ({ x: index % 4 * 150, y: Math.floor(index / 4) * 100, w: 150, h: 100 }));
  const { x, y } = freeSpot(wall, { w: 208, h: 144 }, view);
  assert.ok(x >= 24 && y >= 1_000, "below all of them");
  assert.deepEqual(freeSpot(wall.slice(0, 8), { w: 600, h: 50 }, view), { x: 24, y: 216 }, "also if it is wider than the view");
});

test("a board opens where most elements are whole", () => {
  const box = (x, y) => ({ x, y, w: 100, h: 100 });
  const { x, y } = bestCorner([box(-5_000, 0), box(1_000, 1_200), box(1_200, 1_000), box(1_150, 1_250), box(9_000, 40)], view);
  assert.deepEqual([x, y], [976, 976]);
  const grid = Array.from({ length: 300 }, (_, index) => ({ x: index % 20 * 220, y: Math.floor(index / 20) * 160, w: 208, h: 144 }));
  assert.deepEqual(bestCorner(grid, { w: 1_000, h: 700 }), { count: 16, x: -24, y: -24 });
});

test("an image keeps its shape at every size", () => {
  for (const [ratio, box] of [[2, { w: 320, h: 160 }], [0.5, { w: 160, h: 320 }], [1, { w: 100, h: 100 }], [2, { w: 300, h: 300 }]]) {
    for (const by of [-1_000, -20, 0, 30, 9_000]) {
      const { w, h } = resized(box, by, by, ratio);
      assert.ok(Math.abs(w - h * ratio) <= Math.max(1, ratio), `${w} × ${h}`);
      assert.ok(Math.max(w, h) >= 48 && Math.max(w, h) <= 2_400);
    }
  }
});

test("one side of an image makes all of it larger or smaller", () => {
  const box = { w: 320, h: 160 };
  for (const [dx, dy] of [[-40, 0], [0, -20], [40, 0], [0, 20]]) {
    const by = dx + 2 * dy;
    assert.deepEqual(resized(box, dx, dy, 2), { w: 320 + by, h: 160 + by / 2 });
  }
  assert.deepEqual(resized(box, -40, -20, 2), { w: 280, h: 140 });
  assert.deepEqual(resized(box, -40, 1, 2), { w: 282, h: 141 }, "a finger that does not move straight");
});
