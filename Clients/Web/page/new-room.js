import { h } from "./dom.js";
import { t } from "./texts.js";
import { personName } from "../parlor/display.js";
import { openDialog } from "./dialog.js";
import { field, makeForm } from "./form.js";
import { choosePeople } from "./people-picker.js";
import { goTo } from "./route.js";

/** What the dialog for the name resolves with, if the person wants other people for the room. */
const BACK = "back";

/** Asks for people and a name, and makes a room. If `person` is given, only the name is asked for. */
export async function newRoom(parlor, person = null) {
  let choice = person && { isGroup: false, people: [person] };
  let room = BACK;
  while (room === BACK) {
    if (!person) choice = await choosePeople(parlor, { title: t("newRoom"), action: t("next"), mayBeOne: true, ...choice });
    if (!choice) return;
    room = await nameRoom(parlor, choice, person === null);
    if (!choice.isGroup) choice.people = [];
  }
  if (room) goTo(room.id);
}

function nameRoom(parlor, { isGroup, people }, isChosenHere) {
  const names = people.map(personName);
  return openDialog(isGroup ? t("newGroup") : t("newRoomWith", { name: names[0] }), (close) => {
    const name = field(t("optionalName"), { name: "name", maxlength: 100, autocomplete: "off", dir: "auto", "data-focus": "" });
    const submit = h("button", { class: "button primary", type: "submit" }, t(isGroup ? "startGroup" : "startRoom"));
    const leave = h("button", { class: "button", type: "button", on: { click: () => close(isChosenHere ? BACK : undefined) } }, isChosenHere ? t("back") : t("cancel"));
    const { rooms } = parlor;
    const given = () => name.input.value.trim() || undefined;
    const send = async () => close(await (isGroup ? rooms.createGroup(people.map(({ id }) => id), given()) : rooms.create(people[0].id, given())));
    const texts = { rate_limited: t(isGroup ? "tooManyAdded" : "tooManyUnanswered"), payload_too_large: t("tooManyRooms") };
    return makeForm({ fields: [name], texts, submit, send }, isGroup && h("p", { class: "hint", dir: "auto" }, names.join(", ")), name.element, h("div", { class: "dialog-foot" }, leave, submit)).element;
  });
}
