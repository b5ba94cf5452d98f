// The open room is in the address, after the #, and its tab if that is the board. So Back and reloading work, one can link
// to a board, and the server needs only one page.

export function route() {
  const match = /^#\/room\/([^/]+)(\/board)?$/.exec(location.hash);
  try {
    return { roomId: match ? decodeURIComponent(match[1]) : null, tab: match?.[2] ? "board" : null };
  } catch {
    return { roomId: null, tab: null };
  }
}

export function roomAddress(roomId, tab = "chat") {
  return `#/room/${encodeURIComponent(roomId)}${tab === "board" ? "/board" : ""}`;
}

export function goTo(roomId) {
  location.hash = roomId ? roomAddress(roomId) : "#/";
}

/** Removes the room from the address, without a new entry in the history. */
export function clear() {
  if (location.hash) history.replaceState(null, "", location.pathname + location.search);
}
