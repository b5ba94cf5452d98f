/** The rules for the text of a message. See parlor.d.ts. */
export const messageText = Object.freeze({
  limit: 4_000,
  count: (text) => [...text.trim()].length,
  canBeSent(text) {
    const count = messageText.count(text);
    return count > 0 && count <= messageText.limit;
  },
});
