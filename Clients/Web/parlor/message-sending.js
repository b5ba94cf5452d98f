import { ClientFailure } from "./failure.js";
import { commonOutcome } from "./sending-outcome.js";

/** A message that has waited for longer, in milliseconds, may no longer be true. So the person has to send it again. */
const LONGEST_WAIT = 24 * 3_600_000;
const TOO_OLD = { code: "too_old", message: "The message is more than a day old." };

/** Sends one message. The outbox calls it, even while the room is not open. @returns an outcome for the outbox. */
export async function sendMessage(server, entry, now) {
  if (now - entry.createdAt > LONGEST_WAIT) return { type: "failed", failure: TOO_OLD };
  try {
    const { roomId, text } = entry.change;
    return { type: "done", value: await server.send(roomId, text, entry.id) };
  } catch (error) {
    const failure = ClientFailure.of(error);
    // An earlier attempt succeeded, and the message was deleted since.
    return failure.is("message_not_found") ? { type: "gone" } : commonOutcome(failure);
  }
}
