import { ClientFailure } from "./failure.js";

/**
 * Opens a WebSocket. `onText` gets each packet. `onEnd` gets a ClientFailure once, unless `close` was called before.
 * @returns `{ name, send(text), close() }`. Texts that are sent before the WebSocket is open wait for that.
 */
export function connectWebSocket(platform, address, { onText, onEnd }) {
  const url = address.replace(/^http/, "ws") + "/socket.io/?EIO=4&transport=websocket";
  let socket;
  let waiting = [];
  let isOver = false;

  function end(words) {
    if (isOver) return;
    isOver = true;
    onEnd(ClientFailure.offline(words));
  }
  try {
    socket = new platform.WebSocket(url);
  } catch (error) {
    // A content security policy or a setting of the browser may forbid it. `auto` then goes on to polling. The failure
    // comes in a later turn, because the caller does not have the transport yet.
    queueMicrotask(() => end(`The connection was not allowed (${error?.message ?? error}).`));
    return { name: "websocket", send() {}, close() { isOver = true; } };
  }
  socket.onopen = () => {
    for (const text of waiting ?? []) socket.send(text);
    waiting = null;
  };
  socket.onmessage = ({ data }) => {
    if (!isOver && typeof data === "string") onText(data);
  };
  socket.onerror = () => end("The connection failed.");
  socket.onclose = () => end("The connection was closed.");

  return {
    name: "websocket",
    send(text) {
      if (isOver) return;
      if (waiting) waiting.push(text);
      else socket.send(text);
    },
    close() {
      isOver = true;
      socket.close();
    },
  };
}
