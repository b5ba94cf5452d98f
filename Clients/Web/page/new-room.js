import { h, fill, text } from "./dom.js";
import { icon } from "./icons.js";
import { t, failureText } from "./texts.js";
import { personMark } from "./marks.js";
import { folded } from "./format.js";
import { personName } from "../parlor/display.js";
import { openDialog } from "./dialog.js";
import { field, makeForm } from "./form.js";
import { goTo } from "./route.js";

/** What the dialog for the name resolves with, if the person wants another one for the room. */
const BACK = "back";

/** Asks for a person and a name, and creates a room. If `person` is given, only the name is asked for. */
export async function newRoom(parlor, person = null) {
  let room = BACK;
  while (room === BACK) {
    const someone = person ?? (await choosePerson(parlor));
    if (!someone) return;
    room = await nameRoom(parlor, someone, person === null);
  }
  if (room) goTo(room.id);
}

function choosePerson(parlor) {
  return openDialog(t("newRoom"), (close) => {
    const known = parlor.rooms.snapshot.people;
    const results = h("div", { class: "people-list" });
    const more = h("button", { class: "text-button", type: "button", hidden: true, on: { click: () => load(next) } }, t("morePeople"));
    const others = h("div");
    const mine = h("div");
    const status = h("p", { class: "hint", role: "status" });
    results.append(mine, others, status, more);
    const search = field(t("findPeople"), { type: "search", placeholder: t("findPeopleHint"), autocomplete: "off", autocapitalize: "none", spellcheck: "false", "data-focus": "", on: { input: later } });
    let next = null;
    let asked = null;
    let timer = null;

    const row = (person) => h("button", { class: "person-row", type: "button", "aria-label": t("startWith", { name: personName(person) }), on: { click: () => close(person) } },
      personMark(person), h("span", { dir: "auto" }, personName(person), h("small", {}, h("bdi", {}, `@${person.username}`))), icon("plus"));

    function drawMine() {
      const query = folded(search.input.value.trim());
      const shown = known.filter((person) => [person.username, person.firstName ?? ""].some((name) => folded(name).includes(query))).slice(0, 50);
      fill(mine, shown.length > 0 && h("h3", {}, t("yourPeople")), shown.map(row));
      return shown.length;
    }
    async function load(cursor) {
      asked?.abort();
      asked = new AbortController();
      const { signal } = asked;
      if (!cursor) text(status, t("loading"));
      try {
        const query = search.input.value.trim();
        const found = await parlor.rooms.findPeople(query, { cursor: cursor ?? undefined, limit: 30, signal });
        if (signal.aborted) return;
        next = found.next;
        if (!cursor) fill(others, found.people.length > 0 && h("h3", {}, t("otherPeople")));
        others.append(...found.people.map(row));
        more.hidden = !next;
        text(status, found.people.length === 0 && !mine.childElementCount ? t("nobodyFound") : "");
      } catch (failure) {
        if (!signal.aborted) text(status, failureText(failure));
      }
    }
    function later() {
      drawMine();
      clearTimeout(timer);
      timer = setTimeout(() => load(null), 200);
    }
    drawMine();
    load(null);
    return [search.element, results];
  });
}

function nameRoom(parlor, person, isChosenHere) {
  return openDialog(t("newRoomWith", { name: personName(person) }), (close) => {
    const name = field(t("optionalName"), { name: "name", maxlength: 100, autocomplete: "off", dir: "auto", "data-focus": "" });
    const submit = h("button", { class: "button primary", type: "submit" }, t("startRoom"));
    const leave = h("button", { class: "button", type: "button", on: { click: () => close(isChosenHere ? BACK : undefined) } }, isChosenHere ? t("back") : t("cancel"));
    const send = async () => close(await parlor.rooms.create(person.id, name.input.value.trim() || undefined));
    const texts = { rate_limited: t("tooManyUnanswered"), payload_too_large: t("tooManyRooms") };
    return makeForm({ fields: [name], texts, submit, send }, name.element, h("div", { class: "dialog-foot" }, leave, submit)).element;
  });
}
