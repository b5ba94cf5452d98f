import { ClientFailure } from "./failure.js";
import { browserPlatform } from "./platform.js";
import { within } from "./timing.js";

/** Returns a storage in memory, which does not survive a reload. Like IndexedDB, it copies values. */
export function memoryStorage() {
  const entries = new Map();
  return {
    async read(key) {
      return structuredClone(entries.get(key));
    },
    async readAll(prefix) {
      return [...entries]
        .filter(([key]) => key.startsWith(prefix))
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([key, value]) => [key, structuredClone(value)]);
    },
    async write(changes) {
      // `structuredClone` may throw, so it comes first: all changes are made or none.
      for (const [key, value] of structuredClone(changes)) {
        if (value === undefined) entries.delete(key);
        else entries.set(key, value);
      }
    },
  };
}

const STORE = "entries";
/** The time limit, in milliseconds, for opening the database. Safari's may never answer (WebKit bug 226547). */
const OPEN_TIMEOUT = 3_000;

/**
 * Returns a storage in IndexedDB, with one object store. A write is one transaction. If the browser blocks site data,
 * each call fails. If the database does not open in time, each call fails until the page is loaded again: a stored
 * session that appeared later could be another person's.
 */
export function indexedDBStorage(name = "parlor", factory, platform = browserPlatform()) {
  let opening = null;
  let isGivenUp = false;
  let wasOpen = false;

  function open() {
    // Once it was open, it is this person's, and may take its time.
    opening ??= (wasOpen ? begin() : within(platform, OPEN_TIMEOUT, "IndexedDB does not answer", begin())).catch((error) => {
      isGivenUp ||= error instanceof ClientFailure;
      // After another error a later attempt may succeed, such as when a full private window has space again.
      if (!isGivenUp) opening = null;
      throw error;
    });
    return opening;
  }

  function begin() {
    return new Promise((resolve, reject) => {
      // If site data is blocked, some browsers refuse the factory itself.
      const request = (factory ?? globalThis.indexedDB).open(name, 1);
      request.onupgradeneeded = () => request.result.createObjectStore(STORE);
      request.onerror = () => reject(request.error);
      request.onsuccess = () => {
        const database = request.result;
        if (isGivenUp) return database.close();
        wasOpen = true;
        // Another tab wants to delete or upgrade the database. Without this, it would have to wait until this tab is
        // closed.
        database.onversionchange = () => database.close();
        database.onclose = () => { opening = null; };
        resolve(database);
      };
    });
  }

  async function transact(mode, body) {
    const database = await open();
    return new Promise((resolve, reject) => {
      let transaction;
      try {
        transaction = database.transaction(STORE, mode, mode === "readwrite" ? { durability: "strict" } : undefined);
      } catch (error) {
        opening = null;
        return reject(error);
      }
      let result;
      transaction.oncomplete = () => resolve(result);
      transaction.onabort = transaction.onerror = () => reject(transaction.error);
      try {
        body(transaction.objectStore(STORE), (value) => { result = value; });
      } catch (error) {
        // A value cannot be stored, so the values before it must not stay.
        transaction.abort();
        reject(error);
      }
    });
  }

  return {
    read: (key) => transact("readonly", (store, finish) => {
      const request = store.get(key);
      request.onsuccess = () => finish(request.result);
    }),
    readAll: (prefix) => transact("readonly", (store, finish) => {
      const found = [];
      // No key contains U+FFFF, so all keys with the prefix sort before it.
      const request = store.openCursor(globalThis.IDBKeyRange.bound(prefix, prefix + "\uffff"));
      request.onsuccess = () => {
        const cursor = request.result;
        if (!cursor) return finish(found);
        found.push([cursor.key, cursor.value]);
        cursor.continue();
      };
    }),
    write: (changes) => transact("readwrite", (store) => {
      for (const [key, value] of changes) {
        if (value === undefined) store.delete(key);
        else store.put(value, key);
      }
      // Without this, the browser may first wait for more requests, and a page that is being closed loses the write.
      store.transaction.commit?.();
    }),
  };
}

/** Removes all entries whose key begins with `prefix`. */
export async function removeAll(storage, prefix) {
  const kept = await storage.readAll(prefix);
  await storage.write(kept.map(([key]) => [key, undefined]));
}
