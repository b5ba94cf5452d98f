/** One person's rooms, messages and elements as they were last, for the next start. What it cannot read or write is not there. */
export class Cache {
  #storage;
  #prefix;
  #isEnded = false;

  constructor(storage, userId) {
    this.#storage = storage;
    this.#prefix = `${userId}/cache/`;
  }

  rooms() {
    return this.#read("rooms");
  }

  keepRooms(rooms) {
    return this.#write([["rooms", rooms]]);
  }

  messages(roomId) {
    return this.#read(`${roomId}/messages`);
  }

  keepMessages(roomId, messages) {
    return this.#write([[`${roomId}/messages`, messages]]);
  }

  elements(roomId) {
    return this.#read(`${roomId}/elements`);
  }

  keepElements(roomId, elements) {
    return this.#write([[`${roomId}/elements`, elements]]);
  }

  /** The room is no longer one's own. */
  remove(roomId) {
    return this.#write([[`${roomId}/messages`, undefined], [`${roomId}/elements`, undefined]]);
  }

  /** Signed out: nothing is kept any more. */
  async removeAll() {
    this.#isEnded = true;
    const kept = await this.#storage.readAll(this.#prefix);
    await this.#storage.write(kept.map(([key]) => [key, undefined]));
  }

  async #read(name) {
    try {
      return (await this.#storage.read(this.#prefix + name)) ?? [];
    } catch {
      return [];
    }
  }

  async #write(changes) {
    if (this.#isEnded) return;
    await this.#storage.write(changes.map(([name, value]) => [this.#prefix + name, value])).catch(() => {});
  }
}
