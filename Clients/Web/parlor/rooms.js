import { BadgeDoubts } from "./badge-doubts.js";
import { CacheWriter } from "./cache.js";
import { ClientFailure } from "./failure.js";
import { Observable, keepFields, keepList } from "./observable.js";
import { RoomCounts } from "./room-counts.js";
import { byOrder, partsOf, shownRoom, takeName } from "./room-record.js";
import { RoomStore } from "./room-store.js";
import { RoomsFetching } from "./rooms-fetching.js";
import { Pause } from "./timing.js";

/** The minimum time between two changes of the list, in milliseconds. People cannot follow faster changes. */
const SHOW_INTERVAL = 100;
/** When the app comes to the foreground, a list that is older than this is fetched again. */
const FRESHNESS = 5 * 60_000;
/** If a creation had no answer, the same creation within this time makes the same room. */
const CREATION_LIFETIME = 5 * 60_000;
/** The events that a server replays to clients that reconnect. */
const REPEATED = new Set([
  "message:new", "message:deleted", "messages:read", "element:created", "element:updated", "element:deleted", "room:cleared",
  "room:updated", "room:created", "room:badges", "participant:joined", "participant:left", "participant:updated",
]);
/** The fields of `:global` events that name who did it. */
const ACTORS = ["senderId", "createdBy", "updatedBy", "deletedBy", "clearedBy"];
/** The fields of each service. They may be outdated in an answer that names the service in `degraded`. */
const SERVICE_FIELDS = new Map([["messaging", "messages"], ["elements", "elements"]]);

/** The rooms of one person, which events keep up to date. See parlor.d.ts. */
export class Rooms extends Observable {
  #backing;
  #store;
  #counts;
  #doubts;
  #fetching;
  #cacheWriter;
  /** The rooms as they are shown, by id, with the data that each was made from. */
  #made = new Map();
  #order = "activity";
  #typing = new Map();
  /** Who else has the open rooms open: by room and person, true for who is there, and false for who is not. */
  #presence = new Map();
  #isCatchingUp = false;
  #isThrottled = false;
  #isDirty = false;
  #loadedAt = null;
  /** The requests to create a room that have no answer. They may have succeeded. */
  #pendingCreations = new Map();
  /** The rooms that are being left, with true if elements were created there meanwhile. */
  #leaving = new Map();
  /** The rooms that others have made for the person, who has not opened them in this browser, or done anything there. */
  #new = new Set();
  /** New names that the server has not confirmed yet. */
  #renaming = new Map();
  /** Who has removed the person from rooms, by replayed events. The person may have been added again since. */
  #removals = new Map();
  isLoaded = false;

  /** @param backing `{ platform, server, cache, receipts, channel, ownId, onGone(roomId, removedBy) }` */
  constructor(backing) {
    super();
    this.#backing = backing;
    this.userId = backing.ownId;
    this.#store = new RoomStore(backing.platform.now);
    this.#counts = new RoomCounts(this.userId);
    this.#doubts = new BadgeDoubts(backing.platform.now, this.userId);
    this.#fetching = new RoomsFetching(backing.platform, this.#store, {
      loadAll: () => this.#load(), loadOne: (id) => this.#loadOne(id), onChange: () => this.#show(),
    });
    backing.channel.listen("opened", ({ userId, roomId }) => userId === this.userId && this.#endNew(roomId));
    const rooms = () => this.snapshot.rooms;
    this.#cacheWriter = new CacheWriter(backing.platform, rooms, () => backing.cache.keepRooms(rooms()));
  }

  makeSnapshot(previous) {
    const made = this.#made;
    this.#made = new Map();
    const rooms = [...this.#store.records.values()].sort(byOrder(this.#order)).map((record) => {
      const entry = this.#shown(record, made.get(record.id));
      this.#made.set(record.id, entry);
      return entry.room;
    });
    const shown = keepList(previous?.rooms, rooms);
    const isSame = shown === previous?.rooms && this.#order === previous.order;
    return keepFields(previous, {
      rooms: shown,
      order: this.#order,
      people: isSame ? previous.people : byPerson(shown, this.userId),
      unreadMessages: sum(shown, ({ badges }) => badges.messages),
      unseenElements: sum(shown, ({ badges }) => badges.elements),
      isLoading: this.#fetching.isLoading,
      isLoaded: this.isLoaded,
      failure: this.#fetching.failure,
    });
  }

  get(roomId) {
    return this.snapshot.rooms.find((room) => room.id === roomId);
  }

  setOrder(order) {
    this.#order = order;
    this.invalidate();
  }

  refresh() {
    return this.#fetching.refresh();
  }

  create(userId, name) {
    return this.#create({ otherUserId: userId }, name);
  }

  createGroup(userIds, name) {
    return this.#create({ participantIds: [...userIds] }, name);
  }

  async #create(people, name) {
    const { platform, server } = this.#backing;
    const creation = JSON.stringify([people, name ?? null]);
    const now = platform.now();
    // `Math.abs`: the clock may have been set back.
    for (const [key, { askedAt }] of this.#pendingCreations) {
      if (Math.abs(now - askedAt) > CREATION_LIFETIME) this.#pendingCreations.delete(key);
    }
    const requestId = this.#pendingCreations.get(creation)?.requestId ?? platform.makeId();
    this.#pendingCreations.set(creation, { requestId, askedAt: now });
    const load = this.#store.beginLoad();
    try {
      const answer = await server.makeRoom(people, name, requestId);
      this.#pendingCreations.delete(creation);
      // The room's event may have arrived before this answer, followed by later events.
      if (this.#store.records.has(answer.room.id)) this.#store.abandon();
      else this.#take(answer, load, true);
      return this.get(answer.room.id);
    } catch (error) {
      this.#store.abandon();
      // A final refusal means that no room was created.
      if (!ClientFailure.of(error).isRetryable) this.#pendingCreations.delete(creation);
      throw error;
    }
  }

  async rename(roomId, name) {
    const token = Symbol();
    this.#renaming.set(roomId, { token, name: name.trim() });
    this.#show();
    try {
      return await this.#change(roomId, this.#backing.server.rename(roomId, name));
    } finally {
      if (this.#renaming.get(roomId)?.token === token) this.#renaming.delete(roomId);
      this.#show();
    }
  }

  addPeople(roomId, userIds) {
    return this.#change(roomId, this.#backing.server.addPeople(roomId, [...userIds]));
  }

  setRole(roomId, userId, role) {
    return this.#change(roomId, this.#backing.server.setRole(roomId, userId, role));
  }

  async removePerson(roomId, userId) {
    try {
      await this.#backing.server.removePerson(roomId, userId);
    } catch (error) {
      // Somebody else removed them first, or an earlier answer was lost.
      if (!ClientFailure.of(error).is("user_not_found")) throw error;
    }
    // The answer has no room. If this request fails, it is repeated.
    await this.#loadOne(roomId).catch(() => this.check(roomId));
    return this.get(roomId);
  }

  async leaveGroup(roomId) {
    try {
      await this.#backing.server.removePerson(roomId, this.userId);
    } catch (error) {
      if (!ClientFailure.of(error).is("room_not_found")) throw error;
    }
    this.forget(roomId, this.userId);
  }

  /** Takes the answer to a change of a room. */
  async #change(roomId, answering) {
    const load = this.#store.beginLoad();
    try {
      this.#take(await answering, load, true);
    } catch (error) {
      this.#store.abandon();
      throw error;
    }
    return this.get(roomId);
  }

  markAllRead(roomId) {
    return this.#backing.receipts.addOlder(roomId, undefined, () => this.unreadCount(roomId));
  }

  listParticipants(roomId, options) {
    return this.#backing.server.participants(roomId, options);
  }

  findPeople(q, options) {
    return this.#backing.server.peopleWithoutRooms(q, options);
  }

  // Called by the account, not by screens

  /** Returns the newest count of a room's unread messages, which may not be shown yet; null for an unknown room. */
  unreadCount(roomId) {
    return this.#counts.has(roomId) ? this.#counts.get(roomId).unreadMessages : null;
  }

  unseenAtOpening(roomId) {
    return this.#counts.unseenAtOpening(roomId);
  }

  /** Shows the cached rooms, and fetches all rooms. It does not wait for a socket, which may never connect. */
  async loadFirst() {
    const kept = await this.#backing.cache.rooms();
    this.#cacheWriter.begin();
    if (!this.isLoaded && this.#store.records.size === 0) {
      this.#store.finishAll(this.#store.beginLoad(), kept);
      this.#counts.loadAll(kept);
      for (const room of kept) if (room.isNew) this.#new.add(room.id);
      this.#show();
    }
    if (!this.isLoaded) await this.refresh();
  }

  becomeActive() {
    if (this.#loadedAt === null || Math.abs(this.#backing.platform.now() - this.#loadedAt) > FRESHNESS) this.refresh();
  }

  /** Resolves when the list is cached. */
  flush() {
    return this.#cacheWriter.write();
  }

  end() {
    this.#fetching.end();
    this.#cacheWriter.end();
  }

  /** Opens the room for the person. */
  enter(roomId) {
    this.#leaving.delete(roomId);
    this.#counts.enter(roomId);
    if (this.#new.has(roomId)) this.#backing.channel.post("opened", { userId: this.userId, roomId });
    this.#endNew(roomId);
    this.#show();
  }

  /** Notes the server's answer to joining an open room. What events have said about presence since is newer. */
  noteJoined(room) {
    const { id, participants } = room;
    for (const { userId, isPresent } of participants) {
      if (!this.#presence.get(id)?.has(userId)) this.#notePresence(id, userId, isPresent);
    }
    this.#store.noteJoined(room);
    this.#fetching.fetchNeeded();
    this.#show();
  }

  /** Notes that the room is about to be left on the server. It counts as open until `leave`. */
  beginLeaving(roomId) {
    this.#leaving.set(roomId, false);
    this.#presence.delete(roomId);
    this.#counts.noteAtEnd(roomId, false);
    this.setTyping(roomId, []);
  }

  /** Closes the room, after it was left on the server. From then on, new elements of others count as unseen. */
  leave(roomId) {
    const mayBeUnseen = this.#counts.leave(roomId);
    const isDoubtful = this.#doubts.leave(roomId);
    // Only the server knows whether the room was still open when an element was created.
    const isNewElement = this.#leaving.get(roomId) === true;
    this.#leaving.delete(roomId);
    if (!(mayBeUnseen || isDoubtful || isNewElement) || !this.#store.records.has(roomId)) return;
    this.#store.need(roomId, "answer");
    this.#fetching.fetchNeeded();
  }

  noteAtEnd(roomId, isAtEnd) {
    if (this.#counts.noteAtEnd(roomId, isAtEnd)) this.#show();
  }

  setTyping(roomId, userIds) {
    if (userIds.length > 0) this.#typing.set(roomId, Object.freeze(userIds));
    else this.#typing.delete(roomId);
    this.#show();
  }

  applyUpdate({ type }) {
    if (type === "connected") {
      this.#isCatchingUp = true;
      if (this.#fetching.failure) this.refresh();
    }
    if (type === "recovered" || type === "disconnected") {
      this.#isCatchingUp = false;
      // The `:global` events that would have followed are never replayed.
      this.#store.saidAt.clear();
    }
    // Replayed badges may be old.
    if (type === "recovered") this.#fetching.requireRefresh();
    if (type !== "disconnected") return;
    this.#counts.noteAbsence();
    this.#presence.clear();
    this.#show();
  }

  /** Applies an event, whether it was sent to the room, to everyone or to the person. */
  apply(name, data) {
    if (name === "room:removed") return this.#noteRemoval(data.roomId, data.removedBy ?? this.userId);
    if (name === "room:presence") {
      this.#notePresence(data.roomId, data.userId, data.isPresent);
      return this.#showSoon(false);
    }
    // A replayed event may have been applied before, and old badges would undo later ones.
    const isOld = this.#isCatchingUp && REPEATED.has(name);
    // Who came may have left since. The answer says who is there now.
    if (isOld && name.startsWith("participant:")) return this.#store.check(data.roomId);
    if (name === "participant:left") this.#notePresence(data.roomId, data.userId, false);
    // This compares the badges with the counts from before the event, so it comes first.
    const isDoubtful = !isOld && name === "room:badges" && this.#counts.has(data.roomId)
      && this.#doubts.check(data, this.#counts.get(data.roomId), this.#counts.isOpen(data.roomId));
    const lacksSome = !isOld && this.#counts.apply(name, data);
    if (name === "room:created") this.#noteNew(data.room);
    if (ACTORS.some((actor) => data[actor] === this.userId)) this.#endNew(data.roomId);
    const roomId = this.#store.apply(name, data);
    if (roomId === null) return;
    this.#doubts.note(name, data);
    if (lacksSome || isDoubtful) this.#store.need(roomId, "answer");
    if (this.#leaving.has(roomId) && name.startsWith("element:created")) this.#leaving.set(roomId, true);
    if (isOld) {
      if (!this.#counts.has(roomId)) this.#counts.apply(name, data);
      this.#store.need(roomId, "answer");
    }
    this.#showSoon(name === "room:created");
    if (!isOld) this.#fetching.fetchNeeded();
  }

  /**
   * Fetches a room after the server has refused a page of its messages, or a join. One refusal may be a mistake, and a
   * removal also removes unsent messages. So the room is removed only if this request is refused, too.
   */
  check(roomId) {
    this.#store.check(roomId);
    this.#fetching.fetchNeeded();
  }

  /**
   * Removes a room, because the server says that it is not the person's.
   * @param removedBy who has removed the person from it: they themselves if they have left it, null if that is unknown.
   */
  forget(roomId, removedBy = this.#removals.get(roomId) ?? null) {
    this.#removals.delete(roomId);
    this.#store.forget(roomId);
    this.#counts.forget(roomId);
    this.#doubts.forget(roomId);
    this.#presence.delete(roomId);
    this.#new.delete(roomId);
    this.#show();
    this.#cacheWriter.writeSoon();
    this.#backing.onGone(roomId, removedBy);
  }

  /** Removes a room that the person has lost. If that is replayed, the server is asked: it may be theirs again. */
  #noteRemoval(roomId, removedBy) {
    if (!this.#isCatchingUp) return this.forget(roomId, removedBy);
    this.#removals.set(roomId, removedBy);
    this.#store.check(roomId);
  }

  /** Notes another person's presence in a room that is open here, and not being left. */
  #notePresence(roomId, userId, isPresent) {
    if (userId === this.userId || !this.#counts.isOpen(roomId) || this.#leaving.has(roomId)) return;
    this.#presence.set(roomId, new Map(this.#presence.get(roomId)).set(userId, isPresent));
  }

  #endNew(roomId) {
    if (!this.#new.delete(roomId)) return;
    this.#show();
    this.#cacheWriter.writeSoon();
  }

  #noteNew({ id, createdBy }) {
    if (createdBy !== this.userId && !this.#store.records.has(id) && !this.#counts.isOpen(id)) this.#new.add(id);
  }

  /**
   * Returns the room as it is shown, with the data that it was made from. The object stays the same until something
   * changes.
   */
  #shown(record, made) {
    const renaming = this.#renaming.get(record.id);
    const count = this.#counts.shown(record.id);
    const presence = this.#presence.get(record.id) ?? null;
    const typing = this.#typing.get(record.id) ?? NOBODY;
    const isNew = this.#new.has(record.id);
    const parts = [...partsOf(record, count, presence, typing), renaming?.name, isNew];
    if (made && parts.every((part, index) => part === made.parts[index])) return made;
    let named = record;
    if (renaming) takeName(named = { ...record }, renaming.name);
    return { parts, room: keepIfSame(made?.room, { ...shownRoom(named, count, presence, typing), isNew }) };
  }

  async #load() {
    const load = this.#store.beginLoad();
    let answer;
    try {
      answer = await this.#backing.server.rooms(this.#order);
    } catch (error) {
      this.#store.abandon();
      throw error;
    }
    const missingFields = missingFieldsOf(answer.degraded);
    answer.rooms = answer.rooms.filter(({ id }) => !this.#store.isForgotten(id, load));
    for (const { id } of answer.rooms) this.#removals.delete(id);
    // On a device that knows none of the person's rooms yet, all would be new.
    if (this.#store.records.size > 0) answer.rooms.forEach((room) => this.#noteNew(room));
    const overtaken = this.#store.finishAll(load, answer.rooms, missingFields);
    this.#counts.loadAll(answer.rooms, overtaken, missingFields);
    this.isLoaded = true;
    this.#loadedAt = this.#backing.platform.now();
    this.#show();
    this.#cacheWriter.writeSoon();
    return missingFields.size > 0;
  }

  async #loadOne(roomId) {
    const load = this.#store.beginLoad();
    try {
      this.#take(await this.#backing.server.room(roomId), load);
    } catch (error) {
      this.#store.abandon();
      if (!ClientFailure.of(error).is("room_not_found")) throw error;
      this.forget(roomId);
    }
  }

  #take({ room, degraded }, load, isChange = false) {
    if (this.#store.isForgotten(room.id, load)) return this.#store.abandon();
    this.#removals.delete(room.id);
    const missingFields = missingFieldsOf(degraded);
    const isNews = this.#store.finishOne(load, room, { missingFields, isChange });
    if (isNews || !this.#counts.has(room.id)) this.#counts.load(room, missingFields);
    this.#show();
    this.#cacheWriter.writeSoon();
    this.#fetching.fetchNeeded();
    if (missingFields.size > 0) this.#fetching.noteMissingFields();
  }

  #show() {
    this.#isDirty = false;
    this.invalidate();
  }

  /** Shows the change of an event: at once, or together with those that follow within `SHOW_INTERVAL`. */
  #showSoon(isAtOnce) {
    this.#isDirty = true;
    if (this.#isThrottled && !isAtOnce) return;
    this.#show();
    if (this.#isThrottled) return;
    this.#isThrottled = true;
    new Pause(this.#backing.platform, SHOW_INTERVAL).done.then(() => {
      this.#isThrottled = false;
      if (this.#isDirty) this.#showSoon(false);
    });
  }
}

const NOBODY = Object.freeze([]);

function missingFieldsOf(degraded = []) {
  return new Set(degraded.map((name) => SERVICE_FIELDS.get(name)).filter(Boolean));
}

function sum(values, count) {
  return values.reduce((total, value) => total + count(value), 0);
}

function keepIfSame(known, room) {
  return known && JSON.stringify(known) === JSON.stringify(room) ? known : Object.freeze(room);
}

/**
 * Returns the other people in the direct rooms. The person with the latest activity comes first. Each has these rooms,
 * sorted by `updatedAt`, latest first.
 */
function byPerson(rooms, userId) {
  const people = new Map();
  for (const room of [...rooms].sort(byTime("lastActivityAt"))) {
    const others = room.participants.filter((person) => person.userId !== userId);
    if (room.kind !== "direct" || others.length !== 1) continue;
    const { userId: id, username, firstName } = others[0];
    if (!people.has(id)) people.set(id, { id, username, firstName, rooms: [] });
    people.get(id).rooms.push(room);
  }
  for (const person of people.values()) {
    person.rooms = Object.freeze(person.rooms.sort(byTime("updatedAt")));
    Object.freeze(person);
  }
  return Object.freeze([...people.values()]);
}

function byTime(field) {
  return (a, b) => (a[field] === b[field] ? (a.id < b.id ? 1 : -1) : a[field] < b[field] ? 1 : -1);
}
