import assert from "node:assert/strict";
import { test } from "node:test";
import "./support/english.mjs";
import { Clock } from "./support/clock.mjs";

/** A document, frames and time, as far as a module of the page needs them. */
function browser() {
  const clock = new Clock();
  const document = Object.assign(new EventTarget(), { hidden: false, documentElement: {} });
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

/** An element's children, as far as `reconcile` needs them. `placed` has those that were put into the document. */
function container() {
  const children = [];
  const parent = {
    children,
    placed: [],
    get firstElementChild() {
      return children[0] ?? null;
    },
    insertBefore(element, next) {
      element.remove();
      children.splice(next ? children.indexOf(next) : children.length, 0, element);
      parent.placed.push(element.id);
    },
  };
  parent.make = (id) => ({
    id,
    get nextElementSibling() {
      return children[children.indexOf(this) + 1] ?? null;
    },
    remove() {
      if (children.includes(this)) children.splice(children.indexOf(this), 1);
    },
  });
  return parent;
}

test("elements that stay in order are not moved when others go or come", async () => {
  const { setTimeout } = globalThis;
  browser();
  try {
    const { reconcile } = await import("../../Clients/Web/page/dom.js");
    const parent = container();
    const show = (...ids) => {
      parent.placed = [];
      reconcile(parent, ids, (id) => id, parent.make, () => {});
      assert.deepEqual(parent.children.map(({ id }) => id), ids);
      return parent.placed;
    };
    assert.deepEqual(show("a", "b", "c", "d", "e"), ["a", "b", "c", "d", "e"]);
    assert.deepEqual(show("b", "c", "d", "e", "f"), ["f"], "the first goes, and one comes");
    assert.deepEqual(show("b", "d", "f"), [], "some go");
    assert.deepEqual(show("f", "b", "d"), ["f"], "the last goes to the front");
  } finally {
    Object.assign(globalThis, { setTimeout });
  }
});

test("addresses become links, without what belongs to the sentence around them, and nothing else does", async () => {
  const { setTimeout } = globalThis;
  browser();
  try {
    const { linked } = await import("../../Clients/Web/page/dom.js");
    document.createElement = (tag) => ({ tag, setAttribute(name, value) { this[name] = value; }, append(text) { this.text = text; } });
    const links = (text) => {
      const parts = linked(text);
      assert.equal(parts.map((part) => part.text ?? part).join(""), text);
      return parts.filter(({ tag }) => tag).map(({ href, text: shown }) => (href === shown ? shown : [shown, href]));
    };
    const foo = "https://en.wikipedia.org/wiki/Foo_(bar)";
    for (const around of ["see X", "(see X)", "X.", "“X”", "[X], and", "X?!", "(X).", "X。", "（X）、", "「X」！"]) {
      assert.deepEqual(links(around.replace("X", foo)), [foo], around);
    }
    assert.deepEqual(links("(https://example.org/a)"), ["https://example.org/a"]);
    assert.deepEqual(links("www.example.com, and ada.l+x@mail.example.org."), [["www.example.com", "https://www.example.com/"], ["ada.l+x@mail.example.org", "mailto:ada.l+x@mail.example.org"]]);
    for (const around of ["„X“", "»X«", "‚X‘", "*X*", "‹X›"]) assert.deepEqual(links(around.replace("X", foo)), [foo], around);
    // A part of an e-mail address is somebody else's.
    for (const none of ["jörg@example.org", "o'brien@example.org", "o’brien@example.org", "www.a.b@c.de"]) assert.deepEqual(links(none), [], none);
    assert.deepEqual(links("https://ada@example.org/ and https://example.org/@ada"), ["https://ada@example.org/", "https://example.org/@ada"]);
    for (const none of ["javascript:alert(1)", "data:text/html,x", "ada@", "@ada", "a@b", "www.", "awww.x", "foo.www.example.com", "äwww.example.com", "www..com", "https://", "ftp://example.org/x"]) assert.deepEqual(links(none), [], none);
    const began = performance.now();
    for (const long of ["a".repeat(4_000), `www.${")".repeat(4_000)}`, "a.".repeat(2_000), `x@${"a.".repeat(2_000)}`, "(".repeat(4_000)]) links(long);
    assert.ok(performance.now() - began < 1_000);
  } finally {
    Object.assign(globalThis, { setTimeout });
  }
});

test("texts that are announced in one frame are said together, and not again later", async () => {
  const { setTimeout } = globalThis;
  const { paint } = browser();
  try {
    const { announce } = await import("../../Clients/Web/page/dialog.js");
    const live = { textContent: "" };
    document.getElementById = () => live;
    announce("Ben: one");
    announce("Ben: two");
    paint();
    assert.equal(live.textContent, "Ben: one\nBen: two");
    announce("Ben: three");
    assert.equal(live.textContent, "", "so that a text that is said twice is said twice");
    paint();
    assert.equal(live.textContent, "Ben: three");
  } finally {
    Object.assign(globalThis, { setTimeout });
  }
});

test("on an encrypted page, an image's address has to be encrypted, too", async () => {
  const { setTimeout } = globalThis;
  browser();
  try {
    const { isUnencrypted } = await import("../../Clients/Web/page/board-item.js");
    const isRefused = (page, address) => {
      globalThis.location = new URL(page);
      return isUnencrypted(address);
    };
    assert.equal(isRefused("https://parlor.example/", "http://example.org/a.png"), true);
    assert.equal(isRefused("https://parlor.example/", "https://example.org/a.png"), false);
    assert.equal(isRefused("http://127.0.0.1:8080/", "http://example.org/a.png"), false);
  } finally {
    delete globalThis.location;
    Object.assign(globalThis, { setTimeout });
  }
});
