// The open room is in the address, after the #. So Back and reloading work, and the server needs only one page.

export function route() {
  const match = /^#\/room\/([^/]+)$/.exec(location.hash);
  try {
    return { roomId: match ? decodeURIComponent(match[1]) : null };
  } catch {
    return { roomId: null };
  }
}

export function roomAddress(roomId) {
  return `#/room/${encodeURIComponent(roomId)}`;
}

export function goTo(roomId) {
  location.hash = roomId ? roomAddress(roomId) : "#/";
}

/** Removes the room from the address, without a new entry in the history. */
export function clear() {
  if (location.hash) history.replaceState(null, "", location.pathname + location.search);
}
