import { ClientFailure } from "./failure.js";
import { packets, SEPARATOR } from "./packets.js";

/** The maximum size of a body in bytes, until the handshake sets it. */
const MAX_PAYLOAD = 100_000;

/**
 * Connects by HTTP long-polling: one GET that waits, and one POST at a time. `onText` gets each packet. `onEnd` gets a
 * ClientFailure once, unless `close` was called before.
 * @returns `{ name, send(text), close() }`
 */
export function connectPolling(platform, address, { onText, onEnd }) {
  const base = `${address}/socket.io/?EIO=4&transport=polling`;
  const stop = new AbortController();
  let url = null;
  let maxPayload = MAX_PAYLOAD;
  let outgoing = [];
  let isPosting = false;
  let isOver = false;

  function end(error) {
    if (isOver) return;
    isOver = true;
    stop.abort();
    onEnd(ClientFailure.of(error));
  }

  async function request(method, body) {
    // Each request has a different URL, so that no cache answers it.
    const unique = `${url ?? base}&t=${platform.now().toString(36)}${Math.floor(platform.random() * 1e6).toString(36)}`;
    const headers = body === undefined ? {} : { "Content-Type": "text/plain;charset=UTF-8" };
    const response = await platform.fetch(unique, { method, body, headers, signal: stop.signal, cache: "no-store" });
    const text = await response.text();
    if (!response.ok) throw ClientFailure.offline(`The connection was ended (${response.status}).`);
    return text;
  }

  async function poll() {
    while (!isOver) {
      const received = (await request("GET")).split(SEPARATOR).filter(Boolean);
      // Parlor answers a poll only when it has a packet. An empty answer comes from something else, and polling again
      // would loop without a pause.
      if (received.length === 0) throw ClientFailure.offline("The answer to a poll was empty.");
      for (const packet of received) {
        if (isOver) return;
        if (url === null) {
          const handshake = JSON.parse(packet.slice(1));
          url = `${base}&sid=${encodeURIComponent(handshake.sid)}`;
          maxPayload = handshake.maxPayload ?? MAX_PAYLOAD;
          post();
        }
        onText(packet);
      }
    }
  }

  async function post() {
    if (isPosting || url === null) return;
    isPosting = true;
    try {
      while (outgoing.length > 0 && !isOver) await request("POST", takePayload());
    } catch (error) {
      end(error);
    }
    isPosting = false;
  }

  /** Takes as many packets as fit into one body, at least one. A UTF-16 unit has at most three bytes. */
  function takePayload() {
    let count = 1;
    let size = outgoing[0].length * 3;
    while (count < outgoing.length && size + outgoing[count].length * 3 + 1 <= maxPayload) {
      size += outgoing[count].length * 3 + 1;
      count += 1;
    }
    return outgoing.splice(0, count).join(SEPARATOR);
  }

  poll().catch(end);

  return {
    name: "polling",
    send(text) {
      if (isOver) return;
      outgoing.push(text);
      post();
    },
    close() {
      if (isOver) return;
      isOver = true;
      stop.abort();
      outgoing = [];
      // This ends the session at once. If it does not reach the server, the session ends there after a timeout.
      if (url) platform.fetch(url, { method: "POST", body: packets.close, keepalive: true }).catch(() => {});
    },
  };
}
