import { memoryStorage } from "../../../Clients/Web/parlor/parlor.js";

/** Web Locks and BroadcastChannel of one browser. */
export function browser() {
  let last = Promise.resolve();
  const channels = new Set();
  return {
    storage: memoryStorage(),
    locks: {
      request(_, run) {
        const result = last.then(run);
        last = result.catch(() => {});
        return result;
      },
    },
    BroadcastChannel: class {
      constructor() {
        channels.add(this);
      }
      postMessage(data) {
        for (const other of channels) if (other !== this) queueMicrotask(() => other.onmessage?.({ data: structuredClone(data) }));
      }
      close() {
        channels.delete(this);
      }
    },
  };
}

/** A storage that only removes while `isFull`. */
export function fillable(isFull) {
  const storage = memoryStorage();
  const { write } = storage;
  storage.isFull = isFull;
  storage.write = async (changes) => {
    if (storage.isFull && changes.some(([, value]) => value !== undefined)) throw new Error("full");
    return write(changes);
  };
  return storage;
}
