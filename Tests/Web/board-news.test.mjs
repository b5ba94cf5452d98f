import assert from "node:assert/strict";
import { test } from "node:test";
import "./support/english.mjs";

globalThis.document.addEventListener = () => {};
globalThis.document.createElement = () => ({ setAttribute() {}, append() {}, addEventListener() {} });
const window = new EventTarget();
globalThis.addEventListener = window.addEventListener.bind(window);
globalThis.removeEventListener = window.removeEventListener.bind(window);
const stored = new Map();
globalThis.localStorage = { getItem: (key) => stored.get(key) ?? null, setItem: (key, value) => stored.set(key, value) };
const { boardNews, followBoardNews, keepBoardNews } = await import("../../Clients/Web/page/unread.js");
const { newsCounter } = await import("../../Clients/Web/page/room-tabs.js");

/** Stores as another tab does. */
function storeElsewhere(news) {
  stored.set("parlor.news", JSON.stringify(news));
  window.dispatchEvent(Object.assign(new Event("storage"), { key: "parlor.news" }));
}

test("tabs do not overwrite each other's news of boards, and show them", () => {
  keepBoardNews("ada", "one", 2);
  stored.set("parlor.news", '{"ada/one":2,"ada/two":3}');
  keepBoardNews("ada", "three", 1);
  assert.deepEqual(JSON.parse(stored.get("parlor.news")), { "ada/one": 2, "ada/two": 3, "ada/three": 1 });
  let runs = 0;
  const end = followBoardNews(() => { runs += 1; });
  storeElsewhere({ "ada/two": 4 });
  end();
  storeElsewhere({ "ada/two": 5 });
  assert.deepEqual([boardNews("ada", "one"), boardNews("ada", "two"), runs], [0, 5, 1]);
});

const element = (id, isOwn = false) => ({ id, isOwn });

test("what is new on a board counts no more when it is deleted", () => {
  const news = newsCounter(1);
  const [seen, own, first, second] = [element("a"), element("b", true), element("c"), element("d")];
  news.note({ elements: [seen, own], isVerified: false }, 1);
  news.note({ elements: [seen, own, first, second], isVerified: true }, 1);
  assert.equal(news.count, 2);
  news.note({ elements: [own, first, second], isVerified: true }, 1);
  assert.equal(news.count, 2, "that one was seen before");
  news.note({ elements: [own, second, element("e")], isVerified: true }, 1);
  assert.equal(news.count, 2, "one was deleted, and one has come");
  news.note({ elements: [], isVerified: true }, 1);
  assert.equal(news.count, 0, "the board was cleared");
});

test("what was deleted while the room was not open does not count", () => {
  const news = newsCounter(0);
  for (let turn = 0; turn < 2; turn += 1) {
    news.note({ elements: [element("a")], isVerified: true }, 3);
    assert.equal(news.count, 1);
  }
});

test("a count that is known only after the board counts its newest elements, unless they were looked at", () => {
  const isLooked = [false, true];
  const counts = isLooked.map((is) => {
    const news = newsCounter(0);
    const board = { elements: [element("a"), element("b"), element("c")], isVerified: true };
    news.note(board, 0);
    if (is) news.clear();
    news.note(board, 2);
    news.note({ ...board, elements: [element("a"), element("c")] }, 2);
    return news.count;
  });
  assert.deepEqual(counts, [1, 0]);
});
