import assert from "node:assert/strict";
import { Cache } from "../../../Clients/Web/parlor/cache.js";
import { TabChannel } from "../../../Clients/Web/parlor/channel.js";
import { Conversation, messagesLane } from "../../../Clients/Web/parlor/conversation.js";
import { sendMessage } from "../../../Clients/Web/parlor/message-sending.js";
import { Outbox } from "../../../Clients/Web/parlor/outbox.js";
import { browserPlatform, memoryStorage } from "../../../Clients/Web/parlor/parlor.js";
import { Clock } from "./clock.mjs";
import { ModelRoom } from "./model-room.mjs";
import { seeded } from "./random.mjs";

const LANE = messagesLane("room");
/** Turns within which what needs no time has happened, and waits within which what needs time has. */
const TURNS = 50, WAITS = 2_000;

/** A replay of one history on a conversation, its outbox and its storage: as `RandomRun` of ParlorClient's tests. */
export class Replay {
  #history;
  #room = new ModelRoom();
  #storage = memoryStorage();
  #random;
  #typedCount = 0;
  #otherCount = 0;
  #idCount = 0;
  #refused = new Set();
  /** The retried texts that are not sent yet, nor refused again. */
  #retried = new Set();
  /** Delivered events, which may be delivered again: but not after the server has stopped repeating them. */
  #delivered = [];
  #isConnected = true;
  #isEntered = false;

  // The current run of the app.
  #clock;
  #link;
  #outbox;
  #backing;
  #conversation;

  constructor(history) {
    this.#history = history;
    this.#random = seeded(history.seed);
    for (let number = 0; number < history.before; number += 1) this.#room.write(`before ${number}`, "ann");
    this.#room.forgetEvents();
  }

  async run() {
    this.#startApp();
    for (const step of this.#history.steps) {
      const [name, first, second] = step.split(" ");
      await this.#go(name, isNaN(first) ? first : Number(first), second);
      // How far tasks get between two steps is left open.
      for (let turns = Math.floor(this.#random() * 3); turns > 0; turns -= 1) await this.#clock.advance(0);
      this.#checkOrder();
    }
    await this.#arriveAll();
    const items = this.#conversation.snapshot.items;
    const end = items.map(({ message, text, state }) => `${message?.seq} ${text}${state === "read" ? " read" : ""}`);
    assert.deepEqual(end, this.#history.end);
    assert.deepEqual(items.map(({ message }) => message), this.#room.messages);
  }

  /** Always true: items are in order and unique. */
  #checkOrder() {
    const { items } = this.#conversation.snapshot;
    assert.equal(new Set(items.map(({ id }) => id)).size, items.length, "no row twice");
    const seqs = items.map(({ message }) => message?.seq ?? Infinity);
    assert.deepEqual(seqs, seqs.toSorted((a, b) => a - b || 0), "in order");
  }

  async #go(name, first, second) {
    const room = this.#room;
    switch (name) {
      case "type": return this.#conversation.send(`mine ${this.#typedCount++}`);
      case "other": return room.write(`other ${this.#otherCount++}`, "ann");
      case "delete": return room.delete(room.messages[first].id);
      case "read": return room.read(room.messages[first], "ann");
      case "deliver": return this.#deliver(first);
      case "again": return this.#delivered.length > 0 && this.#apply(this.#delivered[first % this.#delivered.length]);
      case "send": return this.#send(`mine ${first}`, second);
      case "page": return this.#dealPage(first, second);
      case "release": return room.release(first);
      case "disconnect":
        this.#isConnected = false;
        this.#update({ type: "disconnected" });
        if (first !== "kept") this.#delivered = [];
        return room.disconnect(first === "kept");
      case "connect": return this.#connect();
      case "leave": return this.#leave();
      case "enter": return this.#enter();
      case "wait": return this.#clock.advance(first);
      case "older": return void this.#conversation.loadOlder();
      case "remove": return this.#remove(room.messages[first].id, second);
      case "retry": return this.#retry(`mine ${first}`);
      case "discard": return assert.ok(this.#conversation.discard((await this.#failed(`mine ${first}`)).id));
      case "restart": return this.#restart(first === "prepared");
      default: assert.fail(`an unknown step: ${name}`);
    }
  }

  // The app

  #startApp() {
    this.#clock = new Clock();
    this.#link = this.#room.link();
    const platform = browserPlatform({ ...this.#clock, now: this.#clock.now, random: () => 0.5, makeId: () => `t${++this.#idCount}` });
    const cache = new Cache(this.#storage, "me");
    const channel = new TabChannel({}, "parlor");
    const link = this.#link;
    this.#outbox = new Outbox({
      platform, storage: this.#storage, prefix: "me/outbox/", channel, send: (entry) => sendMessage(link, entry),
    });
    this.#backing = {
      platform, server: link, outbox: this.#outbox, cache, ownId: "me", receipts: { add() {} }, onTyping() {},
      onGone: () => assert.fail("the room is gone"),
    };
    this.#isConnected = true;
    this.#outbox.start();
    this.#enter();
  }

  #enter() {
    this.#isEntered = true;
    this.#conversation = new Conversation("room", this.#backing, { isAway: !this.#isConnected });
    this.#conversation.setRoom({ participants: [{ userId: "me" }, { userId: "ann" }] });
    this.#conversation.enter();
  }

  /** What is on its way then arrives while the room is closed. The next visit is another conversation, to which it comes in order. */
  #leave() {
    this.#isEntered = false;
    this.#room.events = [];
    this.#delivered = [];
    this.#conversation.leave();
    return this.#link.leave();
  }

  /** Kills the app, and starts it with what is stored. */
  async #restart(isPrepared) {
    await this.#outbox.flush();
    if (isPrepared) await this.#conversation.flush();
    this.#outbox.stop();
    this.#room.end(this.#link);
    this.#delivered = [];
    this.#startApp();
  }

  #connect() {
    this.#isConnected = true;
    const isWhole = this.#room.connect();
    this.#outbox.noteConnection();
    this.#update({ type: "connected" });
    this.#update({ type: "recovered", isWhole });
  }

  #update(update) {
    if (this.#isEntered) this.#conversation.applyUpdate(update);
  }

  /** Delivers the next event, or a later one before it. */
  #deliver(choice) {
    const { events } = this.#room;
    if (!this.#isConnected || events.length === 0) return;
    const [event] = events.splice(choice % Math.min(3, events.length), 1);
    this.#delivered.push(event);
    this.#apply(event);
  }

  #apply([name, data]) {
    if (this.#isEntered) this.#conversation.apply(name, structuredClone(data));
  }

  #dealPage(choice, fate) {
    const calls = this.#room.calls.filter(({ kind }) => kind === "page");
    if (calls.length > 0) this.#room.deal(calls[choice % calls.length], fate);
  }

  /** Deletes a message that is shown here, or else on another device. */
  async #remove(id, fate) {
    const item = this.#conversation.snapshot.items.find(({ message }) => message?.id === id);
    // If it fails, the message stays.
    if (item) this.#conversation.delete(item.id).catch(() => {});
    const call = this.#room.calls.find(({ kind, about }) => kind === "delete" && about === id);
    assert.equal(call !== undefined, item !== undefined);
    if (call) this.#room.deal(call, fate);
    this.#room.delete(id);
  }

  // What is sent

  get #sends() {
    return this.#room.calls.filter(({ kind }) => kind === "send");
  }

  /** Decides about the request that sends a text, when its turn has come. */
  async #send(text, fate) {
    await this.#passTime(() => this.#sends.some(({ about }) => about === text), `${text} is sent`);
    assert.deepEqual(this.#sends.map(({ about }) => about), [text], "one is sent at a time");
    this.#room.deal(this.#sends[0], fate);
    if (fate === "refused") this.#refused.add(text);
    if (fate !== "lost") this.#retried.delete(text);
  }

  async #retry(text) {
    const { id } = await this.#failed(text);
    this.#refused.delete(text);
    this.#retried.add(text);
    this.#conversation.retry(id);
  }

  async #failed(text) {
    const find = () => this.#outbox.entries(LANE).find(({ change, state }) => change.text === text && state === "failed");
    await this.#passTime(find, `${text} has failed`);
    return find();
  }

  /**
   * Lets time pass until `test()` holds. Meanwhile, a request to send gets an answer that changes nothing in the room: its message
   * is stored already, is refused again, or is to wait for a retried one that was typed before it.
   */
  async #passTime(test, words) {
    const { arrived } = this.#room;
    for (let waits = 0; waits < WAITS; waits += 1) {
      for (let turns = 0; turns < TURNS && !test(); turns += 1) await Promise.resolve();
      if (test()) return;
      this.#room.releaseAnswersToSending();
      for (const call of this.#sends) {
        const isRefused = this.#refused.has(call.about);
        const isOvertaken = [...this.#retried].some((text) => numberOf(text) < numberOf(call.about));
        assert.ok(arrived.has(call.about) || isRefused || isOvertaken, `${call.about} is sent in its turn`);
        this.#room.deal(call, arrived.has(call.about) ? "answered" : isRefused ? "refused" : "lost");
      }
      await this.#clock.advance(500);
    }
    assert.fail(`never: ${words}`);
  }

  /** Lets everything arrive, until nothing is left for a while. */
  async #arriveAll() {
    for (let waits = 0, rest = 0; rest < 3; waits += 1) {
      assert.ok(waits < WAITS, "it comes to rest");
      while (this.#room.hasCalls) {
        for (const call of [...this.#room.calls]) this.#room.deal(call, "answered");
        this.#room.release(0);
        await this.#clock.advance(0);
      }
      while (this.#room.events.length > 0) this.#deliver(0);
      const { isVerified, isLoading, hasOlder } = this.#conversation.snapshot;
      if (isVerified && hasOlder) void this.#conversation.loadOlder();
      await this.#clock.advance(1_000);
      const isLeft = this.#room.hasCalls || this.#room.events.length > 0 || this.#outbox.entries(LANE).length > 0;
      rest = isLeft || !isVerified || isLoading || hasOlder ? 0 : rest + 1;
    }
  }
}

/** The place in the order typed of an own text, `mine N`. */
function numberOf(text) {
  return Number(text.slice("mine ".length));
}
