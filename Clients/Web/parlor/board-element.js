import { isSame } from "./json.js";

/**
 * Returns the elements as they are shown: stored ones in the order of creation, then new ones, each with its unsent
 * changes applied. An element that has not changed is the same object as in `previous`.
 */
export function boardElements({ store, entries, ownId, previous }) {
  const changes = new Map();
  for (const entry of entries) changes.set(entry.id, [...(changes.get(entry.id) ?? []), entry]);
  const shown = [];
  for (const element of store.all) {
    const id = store.shownId(element);
    shown.push(overlay(stored(id, element, ownId), changes.get(id) ?? [], ownId));
    changes.delete(id);
  }
  for (const [id, waiting] of changes) {
    const first = waiting[0];
    if (first.change.type === "create") shown.push(overlay(created(id, first, ownId), waiting, ownId));
  }
  const known = new Map(previous.map((element) => [element.id, element]));
  return shown.filter(Boolean).map((element) => keepIfSame(known.get(element.id), element));
}

function stored(id, element, ownId) {
  const { type, content, position, createdBy, createdAt, updatedBy, updatedAt } = element;
  return { id, type, content, position, createdBy, createdAt, updatedBy, updatedAt, isOwn: createdBy === ownId, element };
}

function created(id, { change, createdAt }, ownId) {
  const time = new Date(createdAt).toISOString();
  return {
    id, type: change.kind, content: change.content, position: change.position, createdBy: ownId, createdAt: time, updatedBy: ownId,
    updatedAt: time, isOwn: true, element: null,
  };
}

/** Applies unsent changes to an element. @returns null if the element will be deleted. */
function overlay(base, entries, ownId) {
  const element = { ...base, state: "saved", failure: null };
  for (const { change, state, failure, createdAt } of entries) {
    if (change.type === "delete" && state !== "failed") return null;
    if (change.type === "update") {
      if (change.content !== undefined) element.content = change.content;
      if (change.position !== undefined) element.position = change.position;
      Object.assign(element, { updatedBy: ownId, updatedAt: new Date(createdAt).toISOString() });
    }
    if (state === "failed") Object.assign(element, { state, failure });
    else if (element.state !== "failed") element.state = "saving";
  }
  return element;
}

function keepIfSame(known, element) {
  if (known && Object.keys(element).every((key) => isUnchanged(known[key], element[key]))) return known;
  // The outbox modifies its own objects later, so they are copied.
  if (element.state !== "saved") {
    for (const key of ["content", "position"]) {
      element[key] = known && isSame(known[key], element[key]) ? known[key] : structuredClone(element[key]);
    }
  }
  return Object.freeze(element);
}

function isUnchanged(a, b) {
  return a === b || (typeof a === "object" && isSame(a, b));
}
