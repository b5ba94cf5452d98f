import { ClientFailure } from "./failure.js";
import { isAmong, isSame } from "./json.js";
import { commonOutcome } from "./sending-outcome.js";

/** The failures of an edit in conflict: somebody else had changed the content or deleted the element first. */
const CHANGED = { code: "version_conflict", message: "Somebody else changed the element first." };
const DELETED = { code: "element_not_found", message: "Somebody else deleted the element first." };

/** Returns whether an outcome, or an entry of the outbox, is an edit in conflict. */
export function isConflict({ failure }) {
  return failure?.code === CHANGED.code || isDeletion(failure);
}

/** Returns whether a conflict's failure says that the element was deleted. */
export function isDeletion(failure) {
  return failure?.code === DELETED.code;
}

/**
 * Sends one change of a board. The outbox calls it, even while the room is not open.
 *
 * - The `tempId` makes a create idempotent. Its answer has the element's id, which later changes need.
 * - An update without content has no version: the last one wins.
 * - An update with content has the version that it is based on. After a 409, this fetches the room's elements. If
 *   content and position are those of this update, an earlier attempt succeeded. If only the position differs from this
 *   update, or if the content is that of the base version or of an earlier version of this update, which another tab
 *   has sent, the update is sent again with the new version.
 *   Otherwise the server's content wins, and the update fails as a conflict. The outbox keeps what the person wrote.
 * - An update with content is a conflict, too, if the element is gone. Any other change then succeeds.
 *
 * @returns an outcome for the outbox. `done` and a conflict have the server's state as their value: `{ element }` or `{
 * deleted: id }`, where the id is undefined if the server never told it.
 */
export async function sendBoardChange(server, entry) {
  const { change } = entry;
  try {
    if (change.type === "create") return done({ element: await create(server, entry) });
    const elementId = change.elementId ?? (await findElement(server, entry));
    if (elementId === null) return deleted(change);
    if (change.type === "delete") {
      await server.deleteElement(change.roomId, elementId);
      return deleted(change);
    }
    return done({ element: await update(server, change, elementId) });
  } catch (error) {
    return outcomeOf(ClientFailure.of(error), server, entry);
  }
}

function done(value) {
  return { type: "done", value };
}

/** Returns the outcome of a change whose element is gone. */
function deleted({ type, content, elementId }) {
  const value = { deleted: elementId };
  return type === "update" && content !== undefined ? { type: "failed", failure: DELETED, value } : done(value);
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
  if (failure.is("element_not_found")) return deleted(change);
  if (!failure.is("version_conflict")) return commonOutcome(failure);
  let current;
  try {
    current = (await server.elements(change.roomId)).find(({ id }) => id === change.elementId);
  } catch (error) {
    return commonOutcome(ClientFailure.of(error));
  }
  if (!current) return deleted(change);
  const isContentOurs = isSame(current.content, change.content);
  if (isContentOurs && (change.position === undefined || isSame(current.position, change.position))) return done({ element: current });
  if (isContentOurs || isSame(current.content, change.base) || isAmong(change.earlier ?? [], current.content)) {
    change.version = current.version;
    return { type: "again" };
  }
  return { type: "failed", failure: CHANGED, value: { element: current } };
}
