import { ClientFailure } from "./failure.js";

/**
 * Opens a WebSocket. `onText` gets each packet. `onEnd` gets a ClientFailure once, unless `close` was called before.
 * @returns `{ name, send(text), close() }`. Texts that are sent before the WebSocket is open wait for that.
 */
export function connectWebSocket(platform, address, { onText, onEnd }) {
  const url = address.replace(/^http/, "ws") + "/socket.io/?EIO=4&transport=websocket";
  const socket = new platform.WebSocket(url);
  let waiting = [];
  let isOver = false;

  function end(words) {
    if (isOver) return;
    isOver = true;
    onEnd(ClientFailure.offline(words));
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
