import assert from "node:assert/strict";
import { test } from "node:test";
import { parsePacket } from "../../Clients/Web/parlor/packets.js";
import { connectPolling } from "../../Clients/Web/parlor/polling-transport.js";
import { connectWebSocket } from "../../Clients/Web/parlor/websocket-transport.js";
import { SeqRanges } from "../../Clients/Web/parlor/seq-ranges.js";
import { Backoff } from "../../Clients/Web/parlor/timing.js";
import { badgeText, browserPlatform, personName } from "../../Clients/Web/parlor/parlor.js";
import { RoomsSocket } from "../../Clients/Web/parlor/socket.js";
import { Clock } from "./support/clock.mjs";
import { Network } from "./support/network.mjs";
import { caughtUp, pair, states, texts } from "./support/pair.mjs";
import { seeded } from "./support/random.mjs";

test("packets are parsed, and malformed ones are refused", () => {
  assert.deepEqual(parsePacket('42["message:new",{"a":1}]'), { type: "event", name: "message:new", data: { a: 1 } });
  assert.deepEqual(parsePacket('4312[{"success":true}]'), { type: "ack", id: 12, data: { success: true } });
  assert.deepEqual(parsePacket('40{"sid":"x"}'), { type: "connected" });
  assert.deepEqual(parsePacket("41"), { type: "disconnect" });
  assert.deepEqual(parsePacket('44{"message":"unauthorized","data":{"code":"unauthenticated"}}'), { type: "refused", message: "unauthorized", code: "unauthenticated" });
  assert.deepEqual(parsePacket("2x"), { type: "ping", payload: "x" });
  for (const text of ["", "x", "49", "42{}", "42[", "0{"]) assert.throws(() => parsePacket(text), SyntaxError);
});

test("random bytes are a packet or a SyntaxError", () => {
  const random = seeded(7);
  for (let count = 0; count < 5_000; count += 1) {
    const text = Array.from({ length: Math.floor(random() * 8) }, () => '0123456789[]{}",/-a'[Math.floor(random() * 19)]).join("");
    try {
      parsePacket(text);
    } catch (error) {
      assert.ok(error instanceof SyntaxError, `${text}: ${error}`);
    }
  }
});

/** WebSockets and polls of which a test decides how each goes, and a socket on them. */
function socketOf(clock, { refusesWebSockets = false } = {}) {
  const made = [];
  class WebSocket {
    sent = [];
    constructor() {
      if (refusesWebSockets) throw new DOMException("blocked", "SecurityError");
      made.push({ name: "websocket", socket: this });
    }
    send(text) {
      this.sent.push(text);
    }
    close() {}
  }
  const fetch = (url, { method, body, signal }) => new Promise((resolve, reject) => {
    signal?.addEventListener("abort", () => reject(new Error("aborted")));
    const answer = (text) => resolve({ ok: true, status: 200, text: async () => text });
    made.push({ name: url.includes("sid=") ? method : "polling", body, answer, fail: () => reject(new TypeError("fetch failed")) });
  });
  const platform = browserPlatform({ ...clock, now: clock.now, random: () => 0.5, isOffline: () => false, fetch, WebSocket });
  const updates = [];
  const tokens = { token: async () => "t" };
  const socket = new RoomsSocket({ platform, address: "http://x", tokens, onUpdate: ({ type }) => updates.push(type) });
  return { made, updates, socket };
}

const HANDSHAKE = '0{"sid":"s","pingInterval":25000,"pingTimeout":20000,"maxPayload":100000}';

test("after polling has worked, it is tried first, and a WebSocket as soon as polling fails to connect", async () => {
  const clock = new Clock();
  const { made, updates, socket } = socketOf(clock);
  const last = async (name) => {
    await clock.until(name, () => made.at(-1)?.name === name, 1_000);
    return made.at(-1);
  };
  socket.start();
  (await last("websocket")).socket.onerror();
  (await last("polling")).answer(HANDSHAKE);
  // The token is sent while the next poll waits.
  (await last("POST")).answer("ok");
  made.find(({ name }) => name === "GET").answer('40{"sid":"x"}');
  await clock.until("it is connected", () => updates.at(-1) === "connected");
  assert.equal(socket.transportName, "polling");

  (await last("GET")).fail();
  await clock.until("it is lost", () => updates.at(-1) === "disconnected");
  (await last("polling")).fail();
  const { socket: webSocket } = await last("websocket");
  webSocket.onopen();
  webSocket.onmessage({ data: HANDSHAKE });
  await clock.until("the token is sent", () => webSocket.sent.length === 1);
  webSocket.onmessage({ data: '40{"sid":"y"}' });
  await clock.until("it is connected", () => updates.at(-1) === "connected");
  assert.equal(socket.transportName, "websocket");
  socket.stop();
});

test("without any network, an attempt tries each transport once", async () => {
  const clock = new Clock();
  const { made, updates, socket } = socketOf(clock);
  const names = () => made.map(({ name }) => name);
  const failAll = async () => {
    await clock.until("a WebSocket", () => made.length === 1, 40_000);
    made[0].socket.onerror();
    await clock.until("polling", () => made.length === 2);
    made[1].fail();
    await clock.until("it has failed", () => updates.at(-1) === "disconnected");
    assert.deepEqual(names().sort(), ["polling", "websocket"]);
    made.length = 0;
  };
  socket.start();
  await failAll();
  await failAll();
  socket.stop();
});

test("if the browser refuses to make a WebSocket, polling is used", async () => {
  const clock = new Clock();
  const { made, updates, socket } = socketOf(clock, { refusesWebSockets: true });
  socket.start();
  await clock.until("polling", () => made.length === 1, 1_000);
  made[0].answer(HANDSHAKE);
  await clock.until("the token is sent", () => made.some(({ name }) => name === "POST"));
  made.find(({ name }) => name === "POST").answer("ok");
  made.find(({ name }) => name === "GET").answer('40{"sid":"x"}');
  await clock.until("it is connected", () => updates.at(-1) === "connected");
  assert.equal(socket.transportName, "polling");
  socket.stop();
});

/** A server's answers to a polling transport, one by one. */
function scriptedFetch() {
  const requests = [];
  const fetch = (url, { method, body, signal }) => new Promise((resolve, reject) => {
    signal?.addEventListener("abort", () => reject(new Error("aborted")));
    requests.push({ method, url, body, answer: (text, ok = true) => resolve({ ok, status: ok ? 200 : 400, text: async () => text }) });
  });
  return { requests, fetch, now: () => 0, random: () => 0 };
}

const turn = () => new Promise(setImmediate);

test("polling waits for the handshake, posts one body at a time, and ends once", async () => {
  const platform = scriptedFetch();
  const [received, ended] = [[], []];
  const transport = connectPolling(platform, "http://x", { onText: (text) => received.push(text), onEnd: (failure) => ended.push(failure.kind) });
  transport.send("40");
  await turn();
  assert.equal(platform.requests.length, 1);
  platform.requests[0].answer('0{"sid":"s","maxPayload":40}');
  await turn();
  assert.deepEqual(platform.requests.slice(1).map(({ method, body }) => [method, body]), [["POST", "40"], ["GET", undefined]]);
  transport.send("42[1]");
  transport.send("42[2]");
  transport.send("x".repeat(30));
  platform.requests[1].answer("ok");
  await turn();
  assert.equal(platform.requests[3].body, "42[1]\x1e42[2]");
  platform.requests[3].answer("ok");
  await turn();
  assert.equal(platform.requests[4].body, "x".repeat(30));
  platform.requests[2].answer('2\x1e42["e",1]');
  await turn();
  assert.deepEqual(received.slice(1), ["2", '42["e",1]']);
  platform.requests[4].answer("", false);
  await turn();
  assert.deepEqual(ended, ["offline"]);
});

for (const text of ["", "\x1e"]) {
  test(`a poll that is answered with no packet, as ${JSON.stringify(text)}, ends the connection instead of being repeated at once`, async () => {
    const platform = scriptedFetch();
    const ended = [];
    connectPolling(platform, "http://x", { onText: () => {}, onEnd: ({ kind }) => ended.push(kind) });
    platform.requests[0].answer('0{"sid":"s"}');
    await turn();
    platform.requests[1].answer(text);
    await turn();
    assert.deepEqual([platform.requests.length, ended], [2, ["offline"]]);
  });
}

test("a WebSocket that fails and closes ends once, and not after being closed here", () => {
  const made = [];
  class WebSocket {
    sent = [];
    constructor(url) {
      this.url = url;
      made.push(this);
    }
    send(text) {
      this.sent.push(text);
    }
    close() {
      this.onclose();
    }
  }
  const ended = [];
  const handlers = { onText: () => {}, onEnd: (failure) => ended.push(failure.kind) };
  const first = connectWebSocket({ WebSocket }, "https://host", handlers);
  first.send("early");
  made[0].onopen();
  assert.deepEqual([made[0].url, made[0].sent], ["wss://host/socket.io/?EIO=4&transport=websocket", ["early"]]);
  made[0].onerror();
  made[0].onclose();
  connectWebSocket({ WebSocket }, "http://host", handlers).close();
  assert.deepEqual(ended, ["offline"]);
});

test("a silent server is dropped, and connected to again", async () => {
  const network = new Network();
  const device = await network.device(network.parlor.addPerson("ada"));
  await caughtUp(network.clock, device);
  const [socket] = device.wires.sockets;
  socket.deliver = () => {};
  const { connection } = device.parlor;
  const seen = [];
  connection.subscribe(({ state, isSlow }) => seen.push(`${state} ${isSlow}`));
  device.parlor.open("room");
  await network.clock.advance(7_900);
  assert.equal(connection.snapshot.isSlow, false);
  await network.clock.until("it is slow", () => connection.snapshot.isSlow, 200);
  await network.clock.advance(20_000);
  assert.deepEqual([connection.snapshot.isSlow, connection.snapshot.state], [true, "connected"]);
  await network.clock.until("it is given up", () => seen.includes("offline false"), 46_000);
  await caughtUp(network.clock, device);
});

test("a slow connection is slow until the next ack", async () => {
  const { clock, a, roomId } = await pair();
  const { connection } = a.parlor;
  const { conversation } = a.parlor.open(roomId);
  await clock.advance(1_000);
  const [socket] = a.wires.sockets;
  const { deliver } = socket;
  socket.deliver = () => {};
  conversation.send("one");
  await clock.until("it is slow", () => connection.snapshot.isSlow, 9_000);
  assert.equal(connection.snapshot.isCaughtUp, true);
  socket.deliver = deliver;
  conversation.send("two");
  await clock.until("it is no longer", () => !connection.snapshot.isSlow, 5_000);
});

test("a request over HTTP that waits for long counts, too, and ends the typing of others", async () => {
  const { clock, a, b, roomId } = await pair();
  const { connection, rooms } = a.parlor;
  const { conversation } = a.parlor.open(roomId);
  const theirs = b.parlor.open(roomId).conversation;
  await clock.advance(1_000);
  theirs.typed();
  await clock.until("typing shows", () => conversation.snapshot.typing.length === 1, 1_000);
  const { fetch } = a.wires;
  let answer;
  const [socket] = a.wires.sockets;
  const { deliver } = socket;
  // The server stands still.
  socket.deliver = () => {};
  a.wires.fetch = (...rest) => new Promise((resolve) => { answer = () => resolve(fetch(...rest)); });
  const renamed = rooms.rename(roomId, "Kitchen");
  await clock.advance(7_900);
  assert.equal(connection.snapshot.isSlow, false);
  await clock.until("it is slow", () => connection.snapshot.isSlow, 200);
  assert.deepEqual([conversation.snapshot.typing, rooms.get(roomId).typing], [[], []]);
  answer();
  await Promise.all([renamed, clock.advance(1_000)]);
  assert.equal(connection.snapshot.isSlow, false);
  socket.deliver = deliver;
});

test("a dismissal ends the connection, and an ended session is detected", async () => {
  const network = new Network();
  const { parlor: server, clock } = network;
  const device = await network.device(server.addPerson("ada"));
  await caughtUp(clock, device);
  server.tokens.clear();
  server.sessions.clear();
  [...device.wires.sockets][0].deliver("41");
  await clock.advance(1_000);
  assert.equal(device.parlor.session.snapshot.status, "signedOut");
});

test("a connection that the server has ended stays so until `wake`, while the session goes on", async () => {
  const network = new Network();
  const { clock } = network;
  const { parlor, wires } = await network.device(network.parlor.addPerson("ada"));
  await caughtUp(clock, { parlor });
  [...wires.sockets][0].deliver("41");
  await clock.advance(60_000);
  assert.equal(parlor.session.snapshot.status, "signedIn");
  assert.equal(parlor.connection.snapshot.state, "ended");
  parlor.wake();
  await caughtUp(clock, { parlor });
  assert.equal(parlor.connection.snapshot.state, "connected");
  await parlor.stop();
  parlor.wake();
  await clock.advance(60_000);
  assert.equal(parlor.connection.snapshot.state, "idle");
});

test("a message in flight when the server ends the connection is not refused, and its room is joined again", async () => {
  const { clock, a, b, roomId } = await pair();
  const [mine, theirs] = [a.parlor.open(roomId).conversation, b.parlor.open(roomId).conversation];
  await clock.advance(1_000);
  const [socket] = a.wires.sockets;
  const { deliver } = socket;
  socket.deliver = () => {};
  mine.send("hello");
  await clock.advance(200);
  assert.deepEqual(states(mine), ["sending"]);
  deliver("41");
  await clock.advance(1_000);
  assert.deepEqual(states(mine), ["sent"]);
  assert.deepEqual(texts(theirs), ["hello"]);
  assert.equal(a.parlor.connection.snapshot.state, "ended");
  a.parlor.wake();
  await caughtUp(clock, a);
  theirs.send("still there?");
  await clock.advance(1_000);
  assert.deepEqual(texts(mine), ["hello", "still there?"]);
});

test("ranges are merged and gaps found as in a set of numbers", () => {
  const random = seeded(3);
  const ranges = new SeqRanges();
  const set = new Set();
  for (let count = 0; count < 300; count += 1) {
    const low = 1 + Math.floor(random() * 200);
    const high = low + Math.floor(random() * 4);
    ranges.insert(low, high);
    for (let seq = low; seq <= high; seq += 1) set.add(seq);
    const sorted = [...set].sort((a, b) => a - b);
    const after = sorted.find((seq) => !set.has(seq + 1));
    const next = sorted.find((seq) => seq > after);
    assert.deepEqual(ranges.firstGap, next && [after + 1, next - 1]);
    assert.equal(ranges.contains(low - 1), set.has(low - 1));
    assert.equal(ranges.lowest, sorted[0]);
  }
});

test("pauses double up to a bound, and are as long as the server asks", () => {
  const backoff = new Backoff(500, 3_000);
  assert.deepEqual([0, 1, 2, 3, 4].map(() => backoff.next(1)), [500, 1_000, 2_000, 3_000, 3_000]);
  assert.equal(backoff.next(0, 7_000), 7_000);
  backoff.reset();
  assert.equal(backoff.next(0.5), 250);
});

test("badges and names are formatted for lists", () => {
  assert.deepEqual([0, 1, 99, 100].map(badgeText), ["", "1", "99", "99+"]);
  assert.equal(personName({ firstName: " ", username: "ada" }), "ada");
});

test("a browser that reports a lost network is offline at once, and connected as soon as it is back", async () => {
  const network = new Network();
  const { clock } = network;
  const { parlor, wires } = await network.device(network.parlor.addPerson("ada"));
  await caughtUp(clock, { parlor });
  parlor.wake();
  await clock.advance(100);
  assert.equal(parlor.connection.snapshot.state, "connected");
  wires.isOffline = true;
  parlor.wake();
  await clock.until("offline", () => parlor.connection.snapshot.state === "offline", 1_000);
  wires.isOffline = false;
  parlor.wake();
  await clock.until("back", () => parlor.connection.snapshot.isCaughtUp, 1_000);
});
