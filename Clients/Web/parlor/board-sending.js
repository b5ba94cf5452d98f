import { ClientFailure } from "./failure.js";
import { isSame } from "./json.js";
import { commonOutcome } from "./sending-outcome.js";

/**
 * Sends one change of a board. The outbox calls it, even while the room is not open.
 *
 * - The `tempId` makes a create idempotent. Its answer has the element's id, which later changes need.
 * - An update without content has no version: the last one wins.
 * - An update with content has the version that it is based on. After a 409, this fetches the room's elements. If
 *   content and position are those of this update, an earlier attempt succeeded. If only the position differs from this
 *   update, or if the content has not changed since the base version, the update is sent again with the new version.
 *   Otherwise the server's content wins.
 * - A delete succeeds if the element is already gone.
 *
 * @returns an outcome for the outbox; the value of `done` is `{ element }`, `{ deleted: id }` or `{ conflict: element
 * }`.
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

/**
 * Finds, by `tempId`, the element of a create whose answer was lost when the page was closed.
 * @returns its id, or null.
 */
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
