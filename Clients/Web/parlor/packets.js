// The part of Socket.IO 5 over Engine.IO 4 that Parlor uses: the default namespace, without binary data.

/** Separates the packets in one body of long-polling. */
export const SEPARATOR = "\x1e";

const ENGINE = { open: "0", close: "1", ping: "2", pong: "3", message: "4", noop: "6" };

export const packets = {
  close: ENGINE.close,
  pong: (payload) => ENGINE.pong + payload,
  connect: (auth) => `${ENGINE.message}0${JSON.stringify(auth)}`,
  event: (name, payload, ackId) => `${ENGINE.message}2${ackId ?? ""}${JSON.stringify([name, payload])}`,
};

/**
 * Parses a packet.
 * @returns `{ type, … }`: `open` with `handshake`; `ping` with `payload`; `close`; `connected`; `refused` with
 * `message` and `code`; `disconnect`; `event` with `name` and `data`; `ack` with `id` and `data`; `other`.
 * @throws SyntaxError for a malformed packet.
 */
export function parsePacket(text) {
  const rest = text.slice(1);
  switch (text[0]) {
    case ENGINE.open: return { type: "open", handshake: JSON.parse(rest) };
    case ENGINE.close: return { type: "close" };
    case ENGINE.ping: return { type: "ping", payload: rest };
    case ENGINE.message: return parseMessage(rest);
    case ENGINE.pong: case ENGINE.noop: return { type: "other" };
    default: throw new SyntaxError("not an Engine.IO packet");
  }
}

function parseMessage(text) {
  const match = /^([0-4])(?:\/[^,]*,?)?(\d*)/.exec(text);
  if (!match) throw new SyntaxError("not a Socket.IO packet");
  const [head, type, id] = match;
  const rest = text.slice(head.length);
  const data = rest ? JSON.parse(rest) : undefined;
  switch (type) {
    case "0": return { type: "connected" };
    case "1": return { type: "disconnect" };
    case "2":
      if (!Array.isArray(data) || typeof data[0] !== "string") throw new SyntaxError("not a Socket.IO event");
      return { type: "event", name: data[0], data: data[1] };
    case "3": return { type: "ack", id: Number(id), data: data?.[0] };
    default: return { type: "refused", message: data?.message ?? "refused", code: data?.data?.code ?? null };
  }
}
