import { h, fill, reconcile, text } from "./dom.js";
import { icon } from "./icons.js";
import { t, failureText } from "./texts.js";
import { personMark } from "./marks.js";
import { personName } from "../parlor/display.js";
import { ask, openDialog, toast } from "./dialog.js";
import { menuButton } from "./menu-button.js";
import { newRoom } from "./new-room.js";
import { choosePeople, GROUP_LIMIT } from "./people-picker.js";
import { goTo } from "./route.js";

/** What the dialog resolves with, if the person leaves the group. */
const LEAVE = "leave";

/** Shows who is in a group. Owners add and remove people, and set roles. Everybody may leave. */
export async function showPeople(parlor, roomId) {
  const { rooms } = parlor;
  const me = rooms.userId;
  const room = () => rooms.get(roomId);
  const list = h("ul", { class: "group-people", tabindex: "-1", "data-focus": "" });
  const unknown = h("p", { class: "hint" });
  const foot = h("div", { class: "dialog-foot" });
  let footed = "";

  function draw(close) {
    const current = room();
    if (!current) return;
    const { participants, participantCount, present } = current;
    const owners = participants.filter(({ role }) => role === "owner").map(({ userId }) => userId);
    const isOwner = owners.includes(me);
    const hadFocus = list.contains(document.activeElement);
    reconcile(list, participants, ({ userId }) => userId, () => h("li"), (row, person) => {
      const mayChange = isOwner && (person.userId !== me || owners.length > 1);
      drawRow(row, person, { isOwner, mayChange, isHere: person.userId !== me && Boolean(present?.includes(person.userId)) });
    });
    // The row that had it is gone.
    if (hadFocus && !list.contains(document.activeElement)) list.focus();
    const rest = participantCount - participants.length;
    text(unknown, t("othersHere", { count: rest }));
    unknown.hidden = rest <= 0;
    const mayAdd = isOwner && participantCount < GROUP_LIMIT;
    if (footed === String(mayAdd)) return;
    footed = String(mayAdd);
    fill(foot,
      h("button", { class: "button", type: "button", on: { click: () => leave(close) } }, icon("exit", 18), t("leaveGroup")),
      mayAdd && h("button", { class: "button primary", type: "button", on: { click: add } }, icon("plus", 18), t("addPeople")));
  }

  function drawRow(row, person, { isOwner, mayChange, isHere }) {
    const sign = JSON.stringify([person, isOwner, mayChange, isHere]);
    if (row.sign === sign) return;
    row.sign = sign;
    const isHeld = row.contains(document.activeElement);
    const name = personName(person);
    const isMe = person.userId === me;
    const id = { id: person.userId, username: person.username, firstName: person.firstName };
    const isPossible = () => true;
    const role = person.role === "owner" ? "member" : "owner";
    const actions = [
      !isMe && { name: t("roomForTwo"), sign: "chat", run: () => newRoom(parlor, id), isPossible },
      mayChange && { name: t(role === "owner" ? "makeOwner" : "makeMember"), sign: "key", run: () => attempt(rooms.setRole(roomId, person.userId, role)), isPossible },
      isOwner && !isMe && { name: t("removeFromGroup"), sign: "close", run: () => remove(person), isPossible },
    ].filter(Boolean);
    fill(row, personMark(person),
      h("span", {}, h("b", {}, h("span", { dir: "auto" }, name), isMe && h("span", { class: "badge quiet" }, t("you")), person.role === "owner" && h("span", { class: "badge quiet" }, t("owner"))),
        h("small", {}, h("bdi", {}, `@${person.username}`), isHere && ` · ${t("hereNow")}`)),
      actions.length > 0 && menuButton("icon-button", t("moreAbout", { name }), actions));
    if (isHeld) row.querySelector("button")?.focus();
  }

  async function attempt(change) {
    try {
      await change;
    } catch (failure) {
      toast(failure.code === "rate_limited" ? t("tooManyAdded") : failureText(failure));
    }
  }
  async function add() {
    const { participants, participantCount } = room();
    const except = participants.map(({ userId }) => userId);
    const choice = await choosePeople(parlor, { title: t("addPeople"), lead: t("addLead"), action: t("add"), except, max: GROUP_LIMIT - participantCount });
    if (choice) await attempt(rooms.addPeople(roomId, choice.people.map(({ id }) => id)));
  }
  async function remove(person) {
    const isSure = await ask(t("removeAsk", { name: personName(person) }), t("removeLead"), t("remove"));
    if (isSure) await attempt(rooms.removePerson(roomId, person.userId));
  }
  async function leave(close) {
    const { displayName, participantCount } = room();
    const isSure = await ask(t("leaveAsk", { room: displayName }), t(participantCount === 1 ? "leaveLastLead" : "leaveLead"), t("leave"));
    if (isSure) close(LEAVE);
  }

  let end = () => {};
  const result = await openDialog(t("peopleOfGroup"), (close) => {
    end = rooms.subscribe(() => draw(close));
    draw(close);
    return [list, unknown];
  }, () => foot);
  end();
  if (result !== LEAVE) return;
  const { displayName } = room() ?? {};
  await attempt(rooms.leaveGroup(roomId).then(() => {
    goTo(null);
    toast(t("leftGroup", { room: displayName }));
  }));
}
