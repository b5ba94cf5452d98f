// Shows the page with made-up data and without a server:
// dev/mock.html?messages=10000&state=loading|empty|failed|offline|slow|signedOut
import { begin } from "../page/app.js";
import { Value } from "../parlor/observable.js";

const query = new URLSearchParams(location.search);
const state = query.get("state") ?? "";
const me = { id: "u0", username: "ada", firstName: "Ada", email: null };
const others = [["u1", "ben.k", "Ben"], ["u2", "chidi", "Chidi"], ["u3", "dalia_r", "Dalia Rahman"], ["u4", "שירה", "שירה"]].map(([id, username, firstName]) => ({ id, username, firstName, email: null }));
const ago = (minutes) => new Date(Date.now() - minutes * 60_000).toISOString();

const NAMES = ["Kitchen plans", null, "Trip to Lisbon", null, "Book club: The Left Hand of Darkness and everything after", "Budget", null, "מתכונים", "Garden", null, "Band practice", "<b>Not bold</b>"];
const SAID = ["Tea is ready", "I put the plan on the board, have a look when you are back.", "Shall we meet at the station at nine?", "https://example.org/a/very/long/address/that/goes/on?and=on is what I meant", "Yes!", "Let me think about it.\nTwo lines, then.", "שלום, מה שלומך?", "<script>alert(1)</script>"];
const count = Number(query.get("rooms") ?? 12);
const rooms = state === "empty" ? [] : Array.from({ length: count }, (_, index) => {
  const other = others[index % others.length];
  const isGroup = index % 5 === 4;
  const people = isGroup ? [me, ...others] : [me, other];
  const name = NAMES[index % NAMES.length];
  const last = SAID[index % SAID.length];
  return {
    id: `room-${index * 7919}`, name, kind: isGroup ? "group" : "direct", displayName: name ?? (isGroup ? "Ada & Ben & Chidi +2" : `Ada & ${other.firstName}`), createdBy: index % 3 ? "u0" : other.id, createdAt: ago(60 * 24 * (index + 2)), updatedAt: ago(index * 300 + 2),
    messagesUpdatedAt: ago(index * 240), lastActivityAt: ago(index * 240), lastActivityType: index % 4 ? "message" : "roomUpdate",
    participantCount: people.length,
    participants: people.map((person) => ({ userId: person.id, username: person.username, firstName: person.firstName, joinedAt: ago(9999), role: person === me ? "owner" : "member" })),
    elementCount: (index * 5) % 17, badges: { messages: [3, 0, 0, 128, 0][index % 5], elements: index % 6 === 2 ? 2 : 0 }, hasUnread: index % 5 === 0 || index % 6 === 2, isNew: index === 3,
    lastMessage: index % 7 === 6 ? null : { id: `l${index}`, senderId: index % 2 ? "u0" : other.id, text: last, createdAt: ago(index * 240) }, present: index === 0 ? [other.id] : null, typing: index === 0 ? [other.id] : [],
  };
});

const failure = { kind: "offline", code: "offline", message: "" };
const list = new Value({
  rooms: state === "loading" || state === "failed" ? [] : rooms, order: "activity", people: others.map((person) => ({ ...person, rooms: rooms.filter((room) => room.kind === "direct" && room.participants[1].userId === person.id) })).filter((person) => person.rooms.length),
  unreadMessages: rooms.reduce((sum, room) => sum + room.badges.messages, 0), unseenElements: 0, isLoading: state === "loading", isLoaded: state !== "loading" && state !== "failed", failure: state === "failed" ? failure : null,
});
function change(id, fields) {
  const index = rooms.findIndex((room) => room.id === id);
  rooms[index] = { ...rooms[index], ...fields(rooms[index]) };
  rooms[index].participantCount = rooms[index].participants.length;
  list.set({ rooms: [...rooms] });
}
Object.assign(list, {
  userId: "u0", get: (id) => rooms.find((room) => room.id === id), setOrder(order) { list.set({ order }); }, async refresh() {},
  async create() { return rooms[0]; },
  async createGroup() { return rooms[4]; },
  async addPeople() {},
  async removePerson(id, userId) { change(id, ({ participants }) => ({ participants: participants.filter((person) => person.userId !== userId) })); },
  async setRole(id, userId, role) { change(id, ({ participants }) => ({ participants: participants.map((person) => (person.userId === userId ? { ...person, role } : person)) })); },
  async leaveGroup() {},
  async rename(id, name) { Object.assign(rooms.find((room) => room.id === id), { name: name || null }); list.set({ rooms: [...rooms] }); },
  async markAllRead(id) { Object.assign(rooms.find((room) => room.id === id).badges, { messages: 0 }); list.set({ rooms: rooms.map((room) => ({ ...room })) }); },
  async findPeople(q = "") { return { people: others.filter((person) => person.username.startsWith(q)), next: null }; },
});

function open(roomId) {
  const total = Number(query.get("messages") ?? 40);
  const other = list.get(roomId)?.participants[1] ?? others[0];
  const items = state === "loading" || state === "empty" ? [] : Array.from({ length: total }, (_, index) => {
    const isOwn = (index >> 1) % 3 === 1;
    const senderId = isOwn ? "u0" : other.userId;
    const createdAt = ago((total - index) * 47);
    const words = SAID[(index * 5) % SAID.length] + (index % 11 === 3 ? " ".concat("and so on ".repeat(20)) : "");
    return { id: `m${index}`, senderId, text: words, createdAt, isOwn, isUnread: !isOwn && index >= total - 3, state: index < total - 2 ? "read" : "sent", failure: null, message: { id: `m${index}`, seq: index + 1, sender: other, readBy: isOwn || index < total - 3 ? [{ userId: "u0" }] : [] } };
  });
  if (items.length > 5) {
    items.push({ id: "f", senderId: "u0", text: "This one did not make it", createdAt: ago(0), isOwn: true, state: "failed", failure: { code: "rate_limited", message: "" }, message: null });
    items.push({ id: "s", senderId: "u0", text: "On its way", createdAt: ago(0), isOwn: true, state: "sending", failure: null, message: null });
  }
  const conversation = new Value({ items, hasOlder: false, isLoading: state === "loading", isLoadingOlder: false, isVerified: state !== "loading", failure: null, typing: state === "empty" ? [] : [other.userId], firstUnreadId: query.has("unread") ? `m${total - Number(query.get("unread"))}` : null, isGone: roomId === "gone" });
  Object.assign(conversation, {
    roomId, send(text) {
      const id = crypto.randomUUID();
      conversation.set({ items: [...conversation.snapshot.items, { id, senderId: "u0", text: text.trim(), createdAt: ago(0), isOwn: true, state: "sending", failure: null, message: null }] });
      return id;
    },
    retry() {}, discard(id) { conversation.set({ items: conversation.snapshot.items.filter((item) => item.id !== id) }); }, async delete(id) { this.discard(id); }, async loadOlder() { return true; }, async refresh() {}, noteVisible() {}, markReadUpTo() {}, typed() {}, stoppedTyping() {},
  });
  const make = (id, type, content, x, y) => ({ id, type, content, position: { x, y }, state: id === "e7" ? "failed" : "saved", element: {}, createdAt: ago(5), isOwn: true });
  const wave = Array.from({ length: 60 }, (_, index) => [index * 4, 40 + Math.sin(index / 6) * 36]).flat();
  const board = new Value({
    elements: state === "loading" || state === "empty" ? [] : [
      make("e1", "note", { text: "Groceries\n– tea\n– lemons\n– that bread from the corner", tint: 0 }, 32, 28), make("e2", "note", { text: "Ask Ben about the shelf", tint: 2, w: 180, h: 96, z: 2 }, 268, 52),
      make("e3", "link", { url: "https://example.org/recipes/lemon-cake", title: "Lemon cake" }, 60, 214), make("e4", "image", { url: "https://example.invalid/x.png", alt: "The garden in May" }, 340, 190),
      make("e5", "stroke", { points: wave, box: [240, 80], pen: 1, w: 240, h: 80 }, 70, 330), make("e6", "poll", { text: "From another client" }, 360, 420), make("e7", "note", { text: "<img src=x onerror=alert(1)>", tint: 3, w: 220, h: 80 }, 40, 450),
    ], isLoading: state === "loading", isVerified: state !== "loading", failure: null, conflict: null,
  });
  const change = (id, changes) => board.set({ elements: board.snapshot.elements.map((element) => (element.id === id ? { ...element, ...changes } : element)) });
  Object.assign(board, {
    roomId, create(fields) { const id = crypto.randomUUID(); board.set({ elements: [...board.snapshot.elements, { ...make(id, fields.type, fields.content), position: fields.position }] }); return id; },
    move: (id, position) => change(id, { position }), edit: (id, content) => change(id, { content }), delete: (id) => board.set({ elements: board.snapshot.elements.filter((element) => element.id !== id) }),
    async clear() { board.set({ elements: [] }); }, retry() {}, discard() {}, dismissConflict() {}, async refresh() {},
  });
  return { roomId, conversation, board, close() {} };
}

const drafts = Object.assign(new Value({ [rooms[1]?.id]: "Half a sen" }), { keep(roomId, text) { drafts.set({ [roomId]: text }); } });
const session = new Value({ status: state === "signedOut" ? "signedOut" : "signedIn", user: me, failure: null });
Object.assign(session, { async login() { session.set({ status: "signedIn" }); }, async register() { session.set({ status: "signedIn" }); }, async logout() { session.set({ status: "signedOut" }); }, async changePassword() {}, async endSignIn() {}, async endOtherSignIns() {}, async signIns() { return [{ id: "s0", current: true, userAgent: navigator.userAgent, address: "127.0.0.1", createdAt: ago(9999), lastUsedAt: ago(0) }, { id: "s1", current: false, userAgent: "ParlorApp/1.0 (iPhone)", address: "192.0.2.7", createdAt: ago(99), lastUsedAt: ago(7) }]; } });
window.mock = { session, list, rooms };
begin({
  session, rooms: list, drafts, connection: new Value({ state: state === "offline" ? "offline" : "connected", isCaughtUp: true, isSlow: state === "slow" }), unsent: new Value({ waiting: state === "offline" ? 2 : 0, failed: 0 }),
  unsentText: () => null, async start() {}, async stop() {}, wake() {}, rest() {}, async flush() {}, open,
});
