import { h, fill, reconcile, keyed, onceAFrame } from "./dom.js";
import { icon } from "./icons.js";
import { t, failureText } from "./texts.js";
import { boxOf, cardOf, imageSize, kindOf, labelOf, looksOf, TYPES } from "./board-item.js";
import { drawingView } from "./board-drawing.js";
import { bestCorner, freeSpot, resized } from "./board-places.js";
import { planeView, rem } from "./board-plane.js";
import { elementEditing } from "./board-editing.js";
import { undoHistory } from "./board-undo.js";
import { menuButton, stepFocus } from "./menu-button.js";
import { ask, toast } from "./dialog.js";
import { failed } from "./failed.js";
import { trackPointer } from "./pointer.js";

const STEP = 8;
/** The keys that go to another element, and its index. The arrows move the element itself. */
const OTHERS = new Map([["PageDown", (index, count) => (index + 1) % count], ["PageUp", (index) => index - 1], ["Home", () => 0], ["End", () => -1]]);

/**
 * A room's board. Several people at once can add, drag, resize, edit, order and delete its elements.
 * @param drafts keeps what is half written. @param isEmpty returns whether the room is known to have no elements.
 * @param hasAnswered returns whether the person has ever written in the room. If not, images are loaded only when the
 * person asks for it: they reveal the person's address in the network to their server, and a stranger can open a room
 * and put one there.
 */
export function boardView(board, { drafts, isEmpty, hasAnswered }) {
  let mayLoad = false;
  let chosen = null;
  let isDrawing = false;
  // The element that the pointer holds, and its box. It follows the pointer, even if the server moves it meanwhile.
  let held = null;

  const area = planeView();
  const { element: plane, surface, layer } = area;
  const empty = h("div", { class: "empty" });
  plane.append(empty);
  const bar = h("div", { class: "item-bar", role: "toolbar", hidden: true });
  const notice = h("div", { role: "status" });
  const pens = drawingView(surface, {
    isOn: () => isDrawing, unit: area.unit, scroll: (x, y) => plane.scrollBy(x, y),
    end() {
      setDrawing(false);
      drawTool.focus();
    },
    create: (content, { x, y }) => board.create({ type: "stroke", content: { ...content, z: highest() }, position: { x: Math.round(x + area.origin.x), y: Math.round(y + area.origin.y) } }),
  });
  const tool = (sign, label, click, props = {}) => h("button", { class: "tool", type: "button", title: label, "aria-label": label, ...props, on: { click } }, icon(sign, 19), h("span", {}, label));
  const drawTool = tool("draw", t("draw"), () => setDrawing(!isDrawing), { "aria-pressed": "false" });
  const past = undoHistory(board);
  const { add, edit, open, settle, wholeImage } = elementEditing(board, drafts, put, () => element.isConnected);
  const more = menuButton("tool end", t("more"), [
    { name: t("undo"), sign: "undo", run: () => undo(), isPossible: () => !past.isEmpty },
    { name: t("clearBoard"), sign: "trash", run: clearAll, isPossible: () => board.snapshot.elements.length > 0 },
  ]);
  const tools = h("div", { class: "board-tools", role: "toolbar", "aria-label": t("boardTools"), on: { keydown: (event) => stepFocus(event, [...tools.querySelectorAll(".tool")], "ArrowLeft", "ArrowRight") } },
    ...["note", "image", "link"].map((type) => tool(type, t(type), () => {
      setDrawing(false);
      add(type);
    })), drawTool, more);
  const element = h("section", { class: "board", "aria-label": t("board") }, tools, notice, plane, bar, pens, h("p", { id: "board-keys", hidden: true }, t("moveHint")));

  const find = (id) => board.snapshot.elements.find((item) => item.id === id);

  // ---- Drawing elements ----

  let isPlaced = false;
  function draw() {
    const { elements, isLoading, isVerified, failure, conflict } = board.snapshot;
    if (!mayLoad && (hasAnswered() || elements.some((item) => item.isOwn))) {
      mayLoad = true;
      for (const node of keyed(layer).values()) node.item = node.content = null;
    }
    const order = new Map(stacked().map(({ id }, rank) => [id, rank]));
    const hadFocus = layer.contains(document.activeElement);
    reconcile(layer, elements, (item) => item.id, makeItem, (node, item) => updateItem(node, item, order.get(item.id)));
    // Somebody else has deleted the focused element.
    if (hadFocus && document.activeElement === document.body) plane.focus({ preventScroll: true });
    if (!keyed(layer).has(stop)) setStop(elements[0]?.id);
    if (!held) area.fit(elements.map(boxOf));
    if (chosen && !find(chosen)) choose(null);
    drawBar();
    drawEmpty(elements.length, isLoading, isVerified, failure);
    drawConflict(conflict);
    if (!isPlaced && elements.length > 0 && plane.clientWidth > 0) {
      isPlaced = true;
      area.goTo(bestCorner(elements.map(boxOf), area.view()));
    }
  }

  /** Returns the elements from back to front. Of those with the same `z`, the newer is in front. */
  function stacked() {
    return board.snapshot.elements.map((item, index) => ({ item, z: boxOf(item).z, index })).sort((a, b) => a.z - b.z || a.index - b.index).map(({ item }) => item);
  }

  function makeItem(item) {
    const node = h("div", { class: "item", tabindex: "-1", role: "group", "aria-describedby": "board-keys", "data-id": item.id, on: {
      focus: () => choose(item.id), dblclick: () => wholeImage(item.id) || edit(item.id),
      click: (event) => {
        if (node.wasDragged) event.preventDefault();
        else if (node.wasChosen && event.target === node.firstElementChild && wholeImage(item.id)) open(item.id);
      },
    } });
    node.classList.toggle("is-stroke", item.type === "stroke");
    node.grip = h("span", { class: "grip", "aria-hidden": "true" });
    node.addEventListener("pointerdown", () => (node.wasChosen = chosen === item.id));
    // A finger drags only what it has chosen before: else nobody could scroll a board, or read a long note, without moving it.
    trackPointer(node, { from: (event) => !isDrawing && !node.grip.contains(event.target) && (event.pointerType === "mouse" || node.wasChosen), begin: () => hold(item.id, node), move: drag, end: release });
    trackPointer(node.grip, { from: () => !isDrawing, begin: () => hold(item.id, node), move: resize, end: release });
    requestAnimationFrame(() => node.classList.add("moves"));
    return node;
  }

  function updateItem(node, item, rank) {
    if (node.rank !== rank) node.style.zIndex = node.rank = rank;
    if (node.item !== item) {
      if (node.content !== item.content || node.type !== item.type) {
        const looks = looksOf(item) + (item.type === "image" && mayLoad);
        if (node.looks !== looks) {
          fill(node, cardOf(item, mayLoad), node.grip);
          reach(node, stop === item.id);
        }
        [node.looks, node.content, node.type] = [looks, item.content, item.type];
      }
      node.item = item;
      node.setAttribute("aria-label", labelOf(item));
      node.classList.toggle("is-saving", item.state === "saving" && !item.element);
      node.classList.toggle("is-failed", item.state === "failed");
      node.dataset.failed = item.state === "failed" ? t("notSaved") : "";
    }
    if (held?.id !== item.id) place(node, boxOf(item));
  }

  function place(node, box) {
    const key = `${box.x}/${box.y}/${box.w}/${box.h}`;
    if (node.placed === key) return;
    node.placed = key;
    node.style.transform = `translate(${rem(box.x)}, ${rem(box.y)})`;
    node.style.width = rem(box.w);
    node.style.height = rem(box.h);
  }

  let isKnown = false;
  function drawEmpty(count, isLoading, isVerified, failure) {
    isKnown ||= isVerified || count > 0;
    const isRefused = failure && !failure.isRetryable;
    // Without a connection, too, a board that was empty is empty.
    const isFree = (isKnown || isEmpty()) && !isRefused;
    const state = count > 0 || isDrawing ? "" : isFree ? "empty" : isLoading || !failure ? "loading" : `failed/${failure.code}`;
    if (empty.dataset.state === state) return;
    empty.dataset.state = state;
    empty.hidden = state === "";
    if (state === "loading") fill(empty, h("span", { class: "visually-hidden" }, t("loading")), h("div", { class: "bone board-bone", "aria-hidden": "true" }));
    else if (state === "empty") fill(empty, icon("board", 40), h("h2", {}, t("emptyBoard")), h("p", {}, t("emptyBoardLead")));
    else if (state) fill(empty, failed(t("boardFailed"), failure, () => board.refresh()));
  }

  let shownConflict = null;
  function drawConflict(conflict) {
    if (conflict === shownConflict) return;
    const theirs = conflict && find(conflict.id);
    // Of a size or an order, nothing is lost that was written.
    if (theirs && looksOf(theirs) === looksOf(conflict)) return board.dismissConflict(conflict);
    shownConflict = conflict;
    fill(notice, conflict && h("div", { class: "notice" }, t("conflict"), h("button", { class: "text-button", type: "button", on: { click: compare } }, t("compare"))));
  }
  async function compare() {
    // Another tab may settle this one meanwhile, and the board shows the next one.
    const conflict = shownConflict;
    const { id, type, content } = conflict;
    if (await settle(id, type, content, content)) board.dismissConflict(conflict);
  }

  // ---- Selecting and changing ----

  // Tab goes to one element only, the one that was chosen last, because a board may have hundreds.
  let stop = null;
  function setStop(id) {
    reach(keyed(layer).get(stop), false);
    stop = id;
    reach(keyed(layer).get(stop), true);
  }
  function reach(node, isReached) {
    for (const part of node ? [node, ...node.querySelectorAll("a, button")] : []) part.tabIndex = isReached ? 0 : -1;
  }

  function choose(id) {
    if (chosen === id) return;
    if (id) setStop(id);
    keyed(layer).get(chosen)?.classList.remove("is-chosen");
    chosen = id;
    keyed(layer).get(chosen)?.classList.add("is-chosen");
    drawBar();
  }

  let barred = "";
  function drawBar() {
    const item = chosen && find(chosen);
    if (item) bar.setAttribute("aria-label", labelOf(item));
    // It is drawn again only if it has other buttons: else a button would go while it is pressed, or has the focus.
    const key = item ? `${item.id}/${item.state === "failed"}/${item.type}` : "";
    if (key === barred) return;
    barred = key;
    bar.hidden = !item;
    if (!item) return;
    const small = (sign, label, click, more = "") => h("button", { class: `icon-button ${more}`, type: "button", title: label, "aria-label": label, on: { click } }, icon(sign, 19));
    fill(bar,
      item.state === "failed" && [small("retry", t("retry"), () => board.retry(item.id)), small("close", t("discard"), () => discard(item.id))],
      TYPES.includes(item.type) && item.type !== "stroke" && small("pencil", t("edit"), () => edit(item.id)),
      small("front", t("toFront"), () => reorder(item.id, 1)), small("backwards", t("toBack"), () => reorder(item.id, -1)),
      // The second click of a double click would delete the next element, which is chosen then.
      small("trash", t("delete"), ({ detail }) => detail > 1 || remove(item.id), "danger-ink"));
  }

  function hold(id, node) {
    const item = find(id);
    if (!item) return false;
    node.focus({ preventScroll: true });
    choose(id);
    held = { id, node, from: boxOf(item), box: boxOf(item), unit: area.unit(), isResized: false };
    node.classList.add("is-held");
    return true;
  }
  function drag(dx, dy) {
    if (!held) return;
    held.box = { ...held.box, x: Math.round(held.from.x + dx / held.unit), y: Math.round(held.from.y + dy / held.unit) };
    place(held.node, held.box);
    board.move(held.id, { x: held.box.x, y: held.box.y });
  }
  function resize(dx, dy) {
    if (!held) return;
    held.isResized = true;
    const item = find(held.id);
    if (item) held.box = resized(held.from, dx / held.unit, dy / held.unit, ratioOf(item));
    place(held.node, held.box);
  }
  /** Returns the width of an image divided by its height; null for other elements, which have no shape of their own. */
  function ratioOf(item) {
    const [w, height] = imageSize(item.type, item.content) ?? (item.type === "image" ? [boxOf(item).w, boxOf(item).h] : []);
    return w ? w / height : null;
  }
  function release(isMoved, isCancelled) {
    if (!held) return;
    const { id, node, from, box, isResized } = held;
    held = null;
    node.classList.remove("is-held");
    const item = find(id);
    if (isCancelled && isMoved && item && !isResized) board.move(id, { x: from.x, y: from.y });
    if (isMoved && item && !isCancelled) {
      if (isResized) change(item, from, { w: box.w, h: box.h });
      else past.noteChange(id, { x: from.x, y: from.y }, { x: box.x, y: box.y });
    }
    later();
  }

  /** Changes an element's place, size or order, such that it can be undone. `after` has the fields of its box to change. */
  function change(item, box, after) {
    past.noteChange(item.id, Object.fromEntries(Object.keys(after).map((key) => [key, box[key]])), after);
    if ("x" in after) board.move(item.id, after);
    else board.edit(item.id, { ...item.content, ...after });
  }
  function undo(step) {
    const id = past.undo(step);
    if (!past.has(toasted)) hideToast();
    if (id) show(id);
  }

  function reorder(id, direction) {
    const item = find(id);
    if (!item) return;
    const heights = board.snapshot.elements.filter((other) => other.id !== id).map((other) => boxOf(other).z);
    const z = heights.length === 0 ? 0 : direction > 0 ? Math.max(...heights) + 1 : Math.min(...heights) - 1;
    change(item, boxOf(item), { z });
  }
  function remove(id) {
    const index = board.snapshot.elements.findIndex((item) => item.id === id);
    const item = board.snapshot.elements[index];
    const step = toasted = past.noteDeletion(inOrder(item));
    board.delete(id);
    hideToast = toast(t("deleted", { kind: kindOf(item.type) }), { name: t("undo"), run: () => undo(step) });
    const next = board.snapshot.elements.filter((item) => item.id !== id)[Math.max(0, index - 1)];
    (next ? keyed(layer).get(next.id) ?? plane : plane).focus({ preventScroll: true });
  }
  /** Returns the element as it can come back: as the newest one, it would be in front of those with the same `z`. */
  function inOrder(item) {
    const order = stacked();
    const [below, z, above] = [-1, 0, 1].map((step) => order[order.indexOf(item) + step]).map((other) => other && boxOf(other).z);
    return above === z ? { ...item, content: { ...item.content, z: ((below ?? z - 2) + z) / 2 } } : item;
  }
  async function discard(id) {
    if (await ask(t("discardAsk"), t("discardLead"), t("discard"))) board.discard(id);
  }
  let hideToast = () => {};
  /** The step that the toast offers to undo. */
  let toasted = null;
  async function clearAll() {
    if (await ask(t("clearBoardAsk"), t("clearBoardLead"), t("clear"))) await board.clear().catch((failure) => toast(failureText(failure)));
  }
  function put(type, content) {
    const spot = freeSpot(board.snapshot.elements.map(boxOf), boxOf({ type, content: {}, position: null }), area.view());
    show(board.create({ type, content: { ...content, z: highest() }, position: spot }));
  }
  function show(id) {
    requestAnimationFrame(() => requestAnimationFrame(() => {
      const node = keyed(layer).get(id);
      node?.scrollIntoView({ block: "nearest", inline: "nearest" });
      node?.focus({ preventScroll: true });
    }));
  }
  function highest() {
    return board.snapshot.elements.reduce((most, item) => Math.max(most, boxOf(item).z), -1) + 1;
  }

  function setDrawing(isOn) {
    if (isDrawing === isOn) return;
    isDrawing = isOn;
    drawTool.setAttribute("aria-pressed", String(isOn));
    plane.classList.toggle("is-drawing", isOn);
    pens.hidden = !isOn;
    choose(null);
    later();
  }
  plane.addEventListener("pointerdown", (event) => !isDrawing && (event.target === surface || event.target === layer || event.target === plane) && choose(null));

  // ---- Keys ----

  element.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && (isDrawing || chosen)) {
      event.preventDefault();
      if (bar.contains(event.target)) return keyed(layer).get(chosen)?.focus({ preventScroll: true });
      setDrawing(false);
      keyed(layer).get(chosen)?.blur();
      choose(null);
      plane.focus({ preventScroll: true });
      return;
    }
    if (event.key.toLowerCase() === "z" && (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey) {
      event.preventDefault();
      return undo();
    }
    const item = event.target.classList.contains("item") ? find(event.target.dataset.id) : null;
    if (!item) return;
    const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (way) {
      const step = event.altKey ? 1 : STEP;
      const box = boxOf(item);
      if (event.shiftKey) {
        const { w, h: height } = resized(box, way[0] * step, way[1] * step, ratioOf(item));
        change(item, box, { w, h: height });
      } else {
        change(item, box, { x: box.x + way[0] * step, y: box.y + way[1] * step });
      }
    } else if (OTHERS.has(event.key)) {
      const { elements } = board.snapshot;
      keyed(layer).get(elements.at(OTHERS.get(event.key)(elements.indexOf(item), elements.length)).id).focus();
    } else if (event.key === "F10" && !event.shiftKey) {
      // With Shift, the key opens the context menu.
      choose(item.id);
      bar.querySelector("button").focus();
    } else if (event.key === "Enter") open(item.id);
    // A key that is held must not delete one element after the other.
    else if (event.key === "Delete" || event.key === "Backspace") event.repeat || remove(item.id);
    else return;
    event.preventDefault();
  });

  const later = onceAFrame(draw);
  // An image that nobody has resized takes its own size when it has come.
  layer.addEventListener("load", later, true);
  const unsubscribe = board.subscribe(later);
  return {
    element, begin: draw, shown: later,
    noteRoom: () => (!mayLoad || empty.dataset.state === "loading") && later(),
    end() {
      unsubscribe();
      hideToast();
    },
  };
}
