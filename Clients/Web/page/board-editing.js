import { imageSize, looksOf, TYPES } from "./board-item.js";
import { conflictDialog, imageDialog, itemDialog } from "./board-dialog.js";

/**
 * Opens a board's elements. What the person writes is kept, or asked about, if somebody else changes or deletes the same
 * meanwhile. `put(type, content)` makes a new element. @param isShown returns whether the board is in the page.
 */
export function elementEditing(board, drafts, put, isShown) {
  const find = (id) => board.snapshot.elements.find((item) => item.id === id);

  /** Returns the content of an image that can be shown as large as the window, because it was loaded. */
  function wholeImage(id) {
    const item = find(id);
    return item && imageSize(item.type, item.content) ? item.content : null;
  }
  function open(id) {
    const image = wholeImage(id);
    return image ? imageDialog(image) : edit(id);
  }
  async function edit(id) {
    const item = find(id);
    if (!item || !TYPES.includes(item.type) || item.type === "stroke") return;
    await write(id, item, { isSaved: save });
  }
  async function add(type) {
    const content = await write(type, { type, content: {} }, { isNew: true });
    if (content) put(type, content);
  }
  /**
   * Asks for the content of `item`. What is written is a draft under `name` until it is saved or discarded, so that it
   * outlives the page, the room and the session.
   */
  async function write(name, item, { isNew = false, isSaved = async () => true }) {
    const key = `${board.roomId}/${name}`;
    const draft = drafts.snapshot[key];
    // What others have changed since the edit began, maybe before a reload, is not to be replaced.
    const { content, fields } = draft ? parsed(draft) : item;
    const written = await itemDialog(item.type, { ...content, ...fields }, {
      isNew, isDraft: Boolean(draft), isSaved: (saved) => isSaved({ ...item, content }, saved),
      keep: (typed) => drafts.keep(key, JSON.stringify({ content, fields: typed })),
    });
    // Nobody has discarded it if the room or the session has ended.
    if (written || isShown()) drafts.keep(key, "");
    return written;
  }
  /** Saves an edit of `item`, as it was when the edit began. Resolves with false if the person wants to go on with the edit. */
  async function save({ id, type, content }, fields) {
    // What the person left as it was must not replace what others make of it. A field that is missing shows as 0 or "".
    const isLeft = ([key, value]) => value === content[key] || (!value && content[key] === undefined);
    const changes = Object.fromEntries(Object.entries(fields).filter((field) => !isLeft(field)));
    if (Object.keys(changes).length === 0) return true;
    const current = find(id);
    if (!current || isChangedSince(content, current.content, changes)) return settle(id, type, changes, { ...content, ...changes });
    const edited = { ...current.content, ...changes };
    // Another picture has a shape of its own.
    if (type === "image" && "url" in changes) delete edited.w, delete edited.h;
    board.edit(id, edited);
    return true;
  }
  /**
   * Asks what becomes of `changes`, if others have changed the same or deleted the element. `whole` has all of its fields.
   * It asks again if what would be replaced is no longer what was shown.
   */
  async function settle(id, type, changes, whole) {
    let shown, latest, decision;
    do {
      shown = find(id);
      decision = await conflictDialog(type, whole, shown?.content);
      latest = find(id);
    } while (decision === "mine" && latest && looksOf(latest) !== looksOf(shown));
    if (decision === "mine" && latest) board.edit(id, { ...latest.content, ...changes });
    else if (decision && decision !== "theirs") put(type, whole);
    return decision !== undefined;
  }
  return { add, edit, open, settle, wholeImage };
}

/** Reads a draft. Earlier versions kept the text of a new note as it is. */
function parsed(draft) {
  try {
    const { content, fields } = JSON.parse(draft);
    return { content: content ?? {}, fields };
  } catch {
    return { content: {}, fields: { text: draft } };
  }
}

/** Returns true if `changes` would replace a field that somebody else has changed since the dialog was opened. */
function isChangedSince(before, now, changes) {
  return Object.keys(changes).some((key) => now[key] !== before[key] && now[key] !== changes[key]);
}
