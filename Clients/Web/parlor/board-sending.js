import { ClientFailure } from "./failure.js";
import { isSame } from "./json.js";
import { commonOutcome } from "./sending-outcome.js";

/**
 * Sends one change of a board. The outbox calls it, also while the room is not open.
 *
 * - A create is idempotent by its `tempId`. Its answer names the element for the changes behind it.
 * - An update without content carries no version: the last one wins. One with content carries the version that it was made on; after
 *   a 409 the list says what the server has: the same as this (an earlier try has arrived), the content that it was made on (another
 *   one has moved it: it is sent again on that), or a newer one, which wins.
 * - A delete of what is gone is done.
 *
 * @returns an outcome of the outbox; `done` has `{ element }`, `{ deleted: id }` or `{ conflict: element }` as its value.
 */
export async function sendBoardChange(server, entry) {
  const { change } = entry;
  try {
    if (change.type === "create") return done({ element: await create(server, entry) });
    const elementId = change.elementId ?? (await findElement(server, entry));
    if (elementId === null) return { type: "gone" };
    if (change.type === "delete") {
      await server.deleteElement(change.roomId, elementId);
      return done({ deleted: elementId });
    }
    return done({ element: await update(server, change, elementId) });
  } catch (error) {
    return outcomeOf(ClientFailure.of(error), server, entry);
  }
}

function done(value) {
  return { type: "done", value };
}

function create(server, { id, change: { roomId, kind, content, position } }) {
  return server.createElement(roomId, { type: kind, content, position: position ?? undefined, tempId: id });
}

function update(server, { roomId, content, position, version }, elementId) {
  const fields = {};
  if (content !== undefined) Object.assign(fields, { content, version });
  if (position !== undefined) fields.position = position;
  return server.updateElement(roomId, elementId, fields);
}

/** For a change behind a create whose answer was lost with the page: the list has its `tempId`. */
async function findElement(server, { id, change }) {
  const element = (await server.elements(change.roomId)).find(({ tempId, createdBy }) => tempId === id && createdBy === change.userId);
  if (!element) return null;
  change.elementId = element.id;
  return element.id;
}

async function outcomeOf(failure, server, entry) {
  const { change } = entry;
  if (failure.is("element_not_found")) {
    return change.elementId === undefined ? { type: "gone" } : done({ deleted: change.elementId });
  }
  if (!failure.is("version_conflict")) return commonOutcome(failure);
  let current;
  try {
    current = (await server.elements(change.roomId)).find(({ id }) => id === change.elementId);
  } catch (error) {
    return commonOutcome(ClientFailure.of(error));
  }
  if (!current) return done({ deleted: change.elementId });
  const isContentOurs = isSame(current.content, change.content);
  if (isContentOurs && (change.position === undefined || isSame(current.position, change.position))) return done({ element: current });
  if (isContentOurs || isSame(current.content, change.base)) {
    change.version = current.version;
    return { type: "again" };
  }
  return done({ conflict: current });
}
