import { ClientFailure } from "./failure.js";
import { commonOutcome } from "./sending-outcome.js";

/** Sends one message. The outbox calls it, even while the room is not open. @returns an outcome for the outbox. */
export async function sendMessage(server, entry) {
  try {
    const { roomId, text } = entry.change;
    return { type: "done", value: await server.send(roomId, text, entry.id) };
  } catch (error) {
    const failure = ClientFailure.of(error);
    // An earlier attempt succeeded, and the message was deleted since.
    return failure.is("message_not_found") ? { type: "gone" } : commonOutcome(failure);
  }
}
