import { h, fill, text, reconcile, appendKeyed, keyed, onceAFrame } from "./dom.js";
import { icon } from "./icons.js";
import { t } from "./texts.js";
import { chosen, keepChoice } from "./choices.js";
import { failed, outdated } from "./failed.js";
import { roomMark, personMark, wordmark } from "./marks.js";
import { folded, relativeTime, explainTimes, shortDate, spoken } from "./format.js";
import { badgeText, peopleNames, personName } from "../parlor/display.js";
import { accountMenu, segments } from "./menu.js";
import { actionMenu } from "./menu-button.js";
import { announce } from "./dialog.js";
import { newRoom } from "./new-room.js";
import { roomAddress } from "./route.js";
import { shownBadges } from "./unread.js";

/** The minimum height of a row, in pixels. */
const LOWEST_ROW = 64;
/** The time, in milliseconds, that is spent in a frame on rows out of view. Input has to wait for that long. */
const TIME_FOR_MORE = 20;

/** The list of rooms, sorted or grouped by person. */
export function roomListView(parlor, redraw) {
  const { rooms, drafts } = parlor;
  const me = rooms.userId;
  let grouping = chosen("grouping", "rooms");
  let query = "";
  let selected = null;

  const later = onceAFrame(() => draw());
  const addLater = onceAFrame(() => addMore());
  /** Everything that the list shows. The first rows are made at once, the others in later frames. */
  let entries = [];
  const filter = h("input", { class: "input", type: "search", placeholder: t("filterRooms"), "aria-label": t("filterRooms"), autocomplete: "off", on: {
    input: () => draw(),
    keydown: (event) => {
      if (event.key === "Escape" && filter.value) {
        event.preventDefault();
        filter.value = "";
        draw();
      } else if (event.key === "ArrowDown") {
        event.preventDefault();
        list.querySelector(".room-row")?.focus();
      }
    },
  } });
  const order = h("select", { "aria-label": t("sortBy"), title: t("sortBy"), on: {
    change: () => {
      rooms.setOrder(order.value);
      keepChoice("order", order.value);
      list.scrollTop = 0;
    },
  } }, [["activity", "sortActivity"], ["messages", "sortMessages"], ["content", "sortContent"]].map(([value, key]) => h("option", { value }, t(key))));
  const kept = chosen("order", rooms.snapshot.order);
  if (["activity", "messages", "content"].includes(kept) && kept !== rooms.snapshot.order) rooms.setOrder(kept);
  order.value = kept;
  const sorting = h("span", { class: "sort" }, icon("sort", 16), order);
  const list = h("div", { class: "rooms", on: { keydown: move, contextmenu: openMenu } });
  const rows = h("div", { role: "list" });
  const notice = h("div");
  const warning = h("div", { role: "status" });
  list.append(rows, notice);
  explainTimes(list);
  const element = h("nav", { class: "side", "aria-label": t("rooms") },
    h("header", { class: "side-head" },
      wordmark(),
      h("button", { class: "icon-button primary", type: "button", "aria-label": t("newRoom"), title: t("newRoom"), on: { click: () => newRoom(parlor) } }, icon("plus")),
      accountMenu(parlor, redraw)),
    h("div", { class: "side-tools" },
      h("div", { class: "search" }, icon("search", 18), filter),
      h("div", { class: "tool-row" },
        segments(t("rooms"), [{ id: "rooms", name: t("rooms") }, { id: "people", name: t("people") }], grouping, (id) => {
          grouping = id;
          keepChoice("grouping", id);
          draw();
        }),
        sorting)),
    warning, list);

  function matches(room) {
    return !query || folded(`${room.displayName}\n${room.participants.map((person) => `${person.username} ${person.firstName ?? ""}`).join("\n")}`).includes(query);
  }

  function draw() {
    query = folded(filter.value.trim());
    const { rooms: all, people, isLoaded, isLoading, failure } = rooms.snapshot;
    const isGrouped = grouping === "people";
    sorting.hidden = isGrouped;
    rows.classList.toggle("is-grouped", isGrouped);
    entries = isGrouped
      ? people.flatMap((person) => {
        const shown = person.rooms.filter(matches);
        return shown.length ? [{ key: `person/${person.id}`, person }, ...shown.map((room) => ({ key: room.id, room }))] : [];
      })
      : all.filter(matches).map((room) => ({ key: room.id, room }));
    const limit = Math.max(Math.ceil(innerHeight / LOWEST_ROW), keyed(rows).size);
    reconcile(rows, entries.slice(0, limit), keyOf, make, update);
    if (entries.length > limit) addLater();
    announceNew(all, isLoaded);
    drawNotice(entries.length, all.length, isLoaded, isLoading, failure);
    drawWarning(all.length > 0 && !isLoaded && failure !== null && parlor.connection.snapshot.state === "connected");
  }

  /** The rooms that need no announcement, or have had it. Those that are cached were announced when they came. */
  const announced = new Set(rooms.snapshot.rooms.map(({ id }) => id));
  function announceNew(all, isLoaded) {
    for (const { id, isNew, kind, createdBy, participants, name, displayName } of all) {
      const creator = participants.find(({ userId }) => userId === createdBy);
      const isDue = isLoaded && isNew && !announced.has(id);
      // Who has added the person to a group is unknown here.
      if (isDue && kind === "group") announce(t("addedToGroup", { room: displayName }));
      else if (isDue && creator) announce(t("addedTo", { name: personName(creator), room: name ?? t("unnamedRoom") }));
      announced.add(id);
    }
  }

  function addMore() {
    const end = performance.now() + TIME_FOR_MORE;
    while (keyed(rows).size < entries.length && performance.now() < end) appendKeyed(rows, entries[keyed(rows).size], keyOf, make, update);
    if (keyed(rows).size < entries.length) addLater();
  }

  const keyOf = (entry) => entry.key;
  const make = ({ room, person }) => (room ? makeRow(room.id) : makePerson(person));
  const update = (row, { room, person }) => (room ? updateRow(row, room) : updatePerson(row, person));

  let notified = "";
  function drawNotice(shown, all, isLoaded, isLoading, failure) {
    const state = shown > 0 ? ""
      : all > 0 && query ? `no-match/${query}` : isLoaded ? "none" : failure && !isLoading ? `failed/${failure.code}` : "loading";
    if (state === notified) return;
    notified = state;
    list.setAttribute("aria-busy", String(state === "loading"));
    if (state === "loading") {
      fill(notice, h("span", { class: "visually-hidden" }, t("loading")), Array.from({ length: 7 }, () => h("div", { class: "bone-row", "aria-hidden": "true" }, h("div", { class: "bone" }), h("div", { class: "bone" }), h("div", { class: "bone" }))));
    } else if (state === "none") {
      fill(notice, h("div", { class: "empty" }, roomMark("none"), h("h2", {}, t("noRooms")), h("p", {}, t("noRoomsLead")),
        h("button", { class: "button primary", type: "button", on: { click: () => newRoom(parlor) } }, icon("plus", 18), t("newRoom"))));
    } else if (state.startsWith("no-match")) {
      fill(notice, h("div", { class: "empty" }, h("p", { dir: "auto" }, t("noMatch", { query: filter.value.trim() }))));
    } else if (state.startsWith("failed/")) {
      fill(notice, h("div", { class: "empty" }, failed(t("roomsFailed"), failure, () => rooms.refresh())));
    } else {
      fill(notice);
    }
  }

  let isWarned = false;
  /** Without a connection, the page says so for all that it shows. */
  function drawWarning(isOutdated) {
    if (isOutdated === isWarned) return;
    isWarned = isOutdated;
    fill(warning, isOutdated && outdated(t("roomsOutdated"), () => rooms.refresh()));
  }

  function makeRow(roomId) {
    const part = {
      mark: roomMark(roomId), title: h("div", { class: "title", dir: "auto" }), people: h("div", { class: "people", dir: "auto" }),
      last: h("div", { class: "last", dir: "auto" }), time: h("time"), badge: h("span", { class: "badge" }), news: h("span", { class: "badge quiet" }),
      elements: h("span"), made: h("span", { class: "made" }), kind: h("span"), group: h("span", { hidden: true }),
    };
    const row = h("a", { class: "room-row", href: roomAddress(roomId) },
      part.mark,
      h("div", { class: "pair" }, part.title, h("span", { class: "when" }, part.kind, part.time)),
      h("div", { class: "pair" }, part.last, h("span", { class: "badges" }, part.news, part.badge)),
      h("div", { class: "facts" }, part.group, part.people, part.made, part.elements));
    const item = h("div", { role: "listitem" }, row);
    item.row = row;
    item.parts = part;
    return item;
  }

  function updateRow(item, room) {
    const { parts: part, row } = item;
    const badges = shownBadges(room, me);
    // The draft of the open room is in view.
    const draft = room.id === selected ? null : drafts.snapshot[room.id];
    const unsent = parlor.unsentText(room.id);
    const at = rooms.snapshot.order === "content" ? room.updatedAt : rooms.snapshot.order === "messages" ? room.messagesUpdatedAt ?? room.lastActivityAt : room.lastActivityAt;
    const when = relativeTime(at);
    if (item.room !== room || item.unread !== badges.messages || item.news !== badges.elements || item.draft !== draft || item.unsent !== unsent || item.when !== when) {
      Object.assign(item, { room, draft, unsent, when });
      item.unread = badges.messages;
      const isGroup = room.kind === "group";
      const title = isGroup ? room.displayName : room.name ?? t("unnamedRoom");
      text(part.title, title);
      part.title.classList.toggle("unnamed", room.name === null);
      const count = t("peopleCount", { count: room.participantCount });
      if (isGroup && item.count !== room.participantCount) {
        item.count = room.participantCount;
        fill(part.group, icon("people", 14), String(room.participantCount));
        part.group.title = count;
      }
      part.group.hidden = !isGroup;
      // The title of an unnamed group has the names.
      part.people.hidden = isGroup && room.name === null;
      text(part.people, part.people.hidden ? "" : peopleNames(room));
      const typists = room.typing;
      part.last.classList.toggle("is-typing", typists.length > 0);
      part.last.classList.toggle("is-draft", !typists.length && Boolean(draft));
      text(part.last, lastLine(room, draft, unsent));
      text(part.badge, badgeText(badges.messages) || (room.isNew ? t("newMark") : ""));
      if (item.news !== badges.elements) {
        item.news = badges.elements;
        fill(part.news, badges.elements > 0 && [icon("board", 13), badgeText(badges.elements)]);
      }
      if (item.elements !== room.elementCount) {
        item.elements = room.elementCount;
        fill(part.elements, icon("board", 13), String(room.elementCount));
        part.elements.title = t("elementCount", { count: room.elementCount });
      }
      if (item.activity !== room.lastActivityType) {
        item.activity = room.lastActivityType;
        fill(part.kind, icon(room.lastActivityType === "message" ? "chat" : "pencil", 13));
      }
      if (badges.messages > 0) row.setAttribute("aria-haspopup", "menu");
      else row.removeAttribute("aria-haspopup");
      row.classList.toggle("has-unread", room.isNew || Object.values(badges).some((count) => count > 0));
      const isVisited = room.present?.length > 0;
      row.classList.toggle("is-active", isVisited);
      text(part.made, t("created", { date: shortDate(room.createdAt) }));
      part.made.dataset.time = room.createdAt;
      row.setAttribute("aria-label", [
        room.isNew && t("newMark"), title, isGroup && `${t("group")}, ${count}`, part.people.textContent,
        badges.messages > 0 && t("unreadMessages", { count: badges.messages }),
        badges.elements > 0 && t("newElements", { count: badges.elements }),
        isVisited && t("someoneHere"), spoken(part.last.textContent), when, t("elementCount", { count: room.elementCount }), part.made.textContent,
      ].filter(Boolean).join(", "));
    }
    if (part.time.dateTime !== at) {
      part.time.dateTime = at;
      part.time.removeAttribute("title");
    }
    text(part.time, when);
    if (room.id === selected) row.setAttribute("aria-current", "page");
    else row.removeAttribute("aria-current");
  }

  function lastLine({ typing, lastMessage: last, ...room }, draft, unsent) {
    if (typing.length > 0) return typingText({ typing, ...room });
    if (draft) return t("draft", { text: draft });
    if (unsent !== null) return t("youSaid", { text: unsent });
    if (!last) return t("noMessagesYet");
    if (last.senderId === me) return t("youSaid", { text: last.text });
    // Of a large group, the sender may be unknown here.
    const sender = room.kind === "group" && room.participants.find(({ userId }) => userId === last.senderId);
    return sender ? t("saidNew", { name: personName(sender), text: last.text }) : last.text;
  }
  function typingText(room) {
    if (room.typing.length > 1) return t("typingMany");
    const person = room.participants.find((participant) => participant.userId === room.typing[0]);
    return person ? t("typingOne", { name: personName(person) }) : t("typing");
  }

  function makePerson(person) {
    const name = h("span", { dir: "auto" });
    const count = h("small");
    const item = h("div", { class: "person-head", role: "listitem" }, personMark(person), h("h2", {}, name, count),
      h("button", { class: "icon-button", type: "button", "aria-label": t("newRoomWith", { name: personName(person) }), title: t("newRoomWith", { name: personName(person) }),
        on: { click: () => newRoom(parlor, person) } }, icon("plus")));
    item.parts = { name, count };
    return item;
  }
  function updatePerson(item, person) {
    text(item.parts.name, personName(person));
    text(item.parts.count, t("roomCount", { count: person.rooms.length }));
  }

  /** Opens the menu of a room with unread messages. For other rooms, the browser opens its own. */
  function openMenu(event) {
    const row = event.target.closest(".room-row");
    const item = row?.parentElement;
    if (!item?.unread) return;
    event.preventDefault();
    if (!item.menu) {
      const read = { name: t("markAsRead"), sign: "checks", run: () => rooms.markAllRead(item.room.id), isPossible: () => parlor.connection.snapshot.state === "connected" };
      item.append(item.menu = actionMenu(row, item.parts.title.textContent, [read]));
    }
    item.menu.togglePopover(true);
  }

  function move(event) {
    if (event.key === "F10" && !event.shiftKey) return openMenu(event);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || !event.target.classList.contains("room-row")) return;
    event.preventDefault();
    const all = [...rows.querySelectorAll(".room-row")];
    const next = all[all.indexOf(event.target) + step];
    if (next) next.focus();
    else if (step < 0) filter.focus();
  }

  const ends = [rooms.subscribe(later), drafts.subscribe(later), parlor.connection.subscribe(later), parlor.unsent.subscribe(later)];
  const clock = setInterval(later, 30_000);
  draw();
  return {
    element,
    drawSoon: later,
    select(roomId) {
      selected = roomId;
      draw();
    },
    end() {
      entries = [];
      ends.forEach((end) => end());
      clearInterval(clock);
    },
  };
}
