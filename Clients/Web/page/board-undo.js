import { boxOf } from "./board-item.js";

/** Changes of the same kind, such as those of a key that is held down, are one step if they follow within this time. */
const PAUSE = 1_000;
const REMEMBERED = 100;

/**
 * The person's deletions, moves, and changes of size and order, while the board is shown. Each can be undone once. A
 * change after which somebody else has changed the same again is left as it is.
 */
export function undoHistory(board) {
  let steps = [];
  /** The ids that elements got when they came back, by the ids that they had before. */
  const returned = new Map();
  const find = (id) => board.snapshot.elements.find((item) => item.id === (returned.get(id) ?? id));

  function add(step) {
    steps = [...steps, step].slice(-REMEMBERED);
    return step;
  }

  function back({ element, id, before, after }) {
    if (element) {
      const now = board.restore(element);
      for (const [old, current] of returned) if (current === element.id) returned.set(old, now);
      returned.set(element.id, now);
      return now;
    }
    const item = find(id);
    const box = item && boxOf(item);
    if (!item || Object.keys(after).some((key) => box[key] !== after[key])) return null;
    if ("x" in before) board.move(item.id, before);
    else board.edit(item.id, { ...item.content, ...before });
    return item.id;
  }

  return {
    get isEmpty() {
      return steps.length === 0;
    },
    has: (step) => steps.includes(step),
    /** @returns the step, for `undo`. */
    noteDeletion: (element) => add({ element }),
    /** @param before the fields of the element's box that have changed. */
    noteChange(id, before, after) {
      const last = steps.at(-1);
      const at = Date.now();
      const isSameKind = last?.id === id && String(Object.keys(last.before)) === String(Object.keys(before)) && at - last.at < PAUSE;
      if (isSameKind) Object.assign(last, { after, at });
      else add({ id, before, after, at });
    },
    /**
     * Undoes one step, by default the last one that can be undone. A step that is no longer there was undone before.
     * @returns the id of the element; null if there was nothing to undo.
     */
    undo(wanted = null) {
      for (let step = wanted ?? steps.at(-1); steps.includes(step); step = steps.at(-1)) {
        steps = steps.filter((other) => other !== step);
        const id = back(step);
        if (id || wanted) return id;
      }
      return null;
    },
  };
}
