import { h, fill, text, onceAFrame } from "./dom.js";
import { icon } from "./icons.js";
import { t, failureText } from "./texts.js";
import { roomMark } from "./marks.js";
import { exactTime, shortDate } from "./format.js";
import { peopleNames, personName } from "../parlor/display.js";
import { chatView } from "./chat.js";
import { boardView } from "./board.js";
import { announce, closeDialogs, toast } from "./dialog.js";
import { showPeople } from "./group-people.js";
import { roomTabs } from "./room-tabs.js";
import { goTo } from "./route.js";

/** Where the screen is so narrow that tabs choose between the conversation and the board; as in parlor.css. */
const TABBED = matchMedia("(max-width: 73.6875em)");

/**
 * One open room: its name and people above the conversation and the board.
 * @param onNews runs when the badge of its board has changed. @param onReturn runs when a room that was gone is the
 * person's again.
 */
export function roomView(parlor, roomId, { onNews, onReturn }) {
  const opened = parlor.open(roomId);
  const me = parlor.rooms.userId;
  const room = () => parlor.rooms?.get(roomId);
  const title = h("h1");
  const sub = h("div", { class: "sub" });
  const people = h("span", { dir: "auto" });
  const presence = h("span", { class: "presence" });
  const made = h("time", { class: "made" });
  sub.append(people, presence, made);
  const mark = roomMark(roomId);
  const members = h("button", { class: "icon-button", type: "button", hidden: true, on: { click: () => showPeople(parlor, roomId) } }, icon("people", 22));
  const head = h("header", { class: "room-head" },
    h("button", { class: "icon-button back", type: "button", "aria-label": t("backToRooms"), on: { click: () => goTo(null) } }, icon("back")),
    mark, h("div", { class: "titles" }, title, sub), members);

  const nameOf = (userId) => {
    const person = room()?.participants.find((participant) => participant.userId === userId);
    return person ? personName(person) : null;
  };
  const unread = () => room()?.badges.messages ?? 0;
  const chat = chatView(parlor, opened.conversation, {
    nameOf, unread, isEmpty: () => room()?.lastMessage === null && !room().messagesUpdatedAt,
  });
  const board = boardView(opened.board, {
    drafts: parlor.drafts,
    isEmpty: () => room()?.elementCount === 0,
    hasAnswered: () => room()?.createdBy === me || opened.conversation.snapshot.items.some((item) => item.isOwn),
  });
  chat.element.id = "pane-chat";
  board.element.id = "pane-board";
  const body = h("div", { class: "room-body" }, chat.element, board.element);
  const tabs = roomTabs(opened.board, {
    person: me, unseen: () => opened.unseenElements, isTabbed: () => TABBED.matches, unread, onNews, isOver: () => opened.board.snapshot.failure?.code === "room_not_found",
    onChoose(id) {
      body.dataset.tab = id;
      (id === "chat" ? chat : board).shown();
    },
  });
  const element = h("div", { class: "room" }, head, tabs.element, body);

  /** Where both are shown side by side, there are no tabs, so they are not panels of tabs. */
  function nameRoles() {
    for (const pane of [chat.element, board.element]) {
      if (TABBED.matches) pane.setAttribute("role", "tabpanel");
      else pane.removeAttribute("role");
    }
    tabs.draw();
  }
  TABBED.addEventListener("change", nameRoles);
  nameRoles();

  let isRenaming = false;
  let titled = null;
  /** The room as it was last drawn. A room that is gone is unknown. */
  let last = null;
  function draw() {
    const current = room();
    const { isGone, removedBy } = opened.conversation.snapshot;
    // The end of a session ends the room, too, and it stays known for a moment.
    if (isGone && current && (isLost || removedBy !== null)) return onReturn();
    if (isGone) return drawGone(removedBy);
    if (!current) {
      if (!isRenaming && titled !== "…") {
        titled = "…";
        fill(title, h("span", { class: "visually-hidden" }, t("loading")), h("span", { class: "bone name-bone", "aria-hidden": "true" }));
      }
      return;
    }
    last = current;
    tabs.draw();
    if (!isRenaming) drawTitle(current);
    const isGroup = current.kind === "group";
    text(people, peopleNames(current));
    members.hidden = !isGroup;
    members.title = t("peopleCount", { count: current.participantCount });
    members.setAttribute("aria-label", `${t("peopleOfGroup")}: ${members.title}`);
    const others = current.participants.filter((person) => person.userId !== me);
    const present = others.filter(({ userId }) => current.present?.includes(userId));
    presence.classList.toggle("is-here", present.length > 0);
    presence.hidden = others.length === 0 || current.present === null;
    if (isGroup && present.length !== 1) drawPresence([present.length > 0 ? t("hereCount", { count: present.length }) : t("nobodyHere"), ""], "");
    else if (!presence.hidden) drawPresence(t(present.length > 0 ? "here" : "notHere", { name: "\n" }).split("\n"), personName(present[0] ?? others[0]));
    mark.classList.toggle("is-active", present.length > 0);
    made.dateTime = current.createdAt;
    made.title = exactTime(current.createdAt);
    text(made, t("created", { date: shortDate(current.createdAt) }));
  }

  /** Of a long name, the end is cut, and not what is said about the person. */
  function drawPresence([before, after], name) {
    if (presence.textContent !== before + name + after) fill(presence, before, h("span", { dir: "auto" }, name), h("span", {}, after));
  }

  function drawTitle(current) {
    const key = `name/${current.name ?? ""}`;
    if (titled === key) return;
    titled = key;
    const isUnnamed = current.name === null;
    fill(title, h("button", { class: `name-button${isUnnamed ? " unnamed" : ""}`, type: "button", title: t("rename"), "aria-label": isUnnamed ? `${t("unnamedRoom")}: ${t("nameThisRoom")}` : `${current.name}: ${t("rename")}`, on: { click: rename } },
      h("span", { dir: "auto" }, isUnnamed ? t("nameThisRoom") : current.name), icon("pencil", 16)));
  }

  function rename() {
    const current = room();
    if (!current) return;
    isRenaming = true;
    const input = h("input", { class: "input", value: current.name ?? "", maxlength: 100, dir: "auto", "aria-label": t("roomName"), placeholder: t("nameThisRoom"), title: t("roomNameHint"), autocomplete: "off", enterkeyhint: "done" });
    const finish = (isKept) => {
      if (!isRenaming) return;
      isRenaming = false;
      titled = null;
      const name = input.value.trim();
      const hadFocus = form.contains(document.activeElement);
      if (isKept && name !== (current.name ?? "")) parlor.rooms.rename(roomId, name).catch((failure) => toast(failureText(failure)));
      draw();
      if (hadFocus) title.querySelector("button")?.focus();
    };
    const form = h("form", { class: "name-form", on: {
      submit: (event) => {
        event.preventDefault();
        finish(true);
      },
      keydown: (event) => {
        if (event.key !== "Escape") return;
        event.preventDefault();
        event.stopPropagation();
        finish(false);
      },
      focusout: (event) => {
        // If the person switches to another window or tab, the form stays open for their return.
        if (document.hasFocus() && !form.contains(event.relatedTarget)) finish(true);
      },
    } }, input, h("button", { class: "icon-button", type: "submit", "aria-label": t("save") }, icon("check")));
    fill(title, form);
    input.focus();
    input.select();
  }

  let isGoneShown = false;
  let isLost = false;
  function drawGone(removedBy) {
    if (isGoneShown) return;
    isGoneShown = true;
    isLost = !room();
    closeDialogs();
    const by = last?.participants.find(({ userId }) => userId === removedBy);
    const name = last?.displayName ?? t("unnamedRoom");
    const heading = removedBy === null ? t("roomGone")
      : removedBy === me ? t("leftGroup", { room: name })
      : by ? t("removedBy", { name: personName(by), room: name }) : t("removed", { room: name });
    const hadFocus = element.contains(document.activeElement) || document.activeElement === document.body;
    const back = h("button", { class: "button", type: "button", on: { click: () => goTo(null) } }, t("backToRooms"));
    fill(element, h("div", { class: "empty" }, roomMark(roomId), h("h2", { dir: "auto" }, heading), h("p", {}, t(removedBy === null ? "roomGoneLead" : "removedLead")), back));
    if (removedBy === null) return;
    announce(heading);
    if (hadFocus) back.focus();
  }

  const later = onceAFrame(draw);
  const ends = [parlor.rooms.subscribe(later), opened.conversation.subscribe(later), parlor.rooms.subscribe(board.noteRoom), opened.conversation.subscribe(board.noteRoom), tabs.end];
  tabs.choose();
  draw();
  return {
    element,
    choose: tabs.choose,
    begin() {
      chat.begin();
      board.begin();
      // On a touch screen, the focus in the field would open the keyboard over half of the messages.
      if (matchMedia("(pointer: coarse)").matches) document.getElementById("stage").focus();
      else chat.focus();
    },
    end() {
      ends.forEach((end) => end());
      TABBED.removeEventListener("change", nameRoles);
      chat.end();
      board.end();
      opened.close();
    },
  };
}

/** Returns what is shown while no room is open. */
export function noRoomView() {
  return { element: h("div", { class: "empty" }, roomMark("welcome"), h("h1", {}, t("chooseRoom")), h("p", {}, t("chooseRoomLead"))), end() {} };
}
