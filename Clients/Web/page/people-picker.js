import { h, fill, text } from "./dom.js";
import { icon } from "./icons.js";
import { t, failureText } from "./texts.js";
import { personMark } from "./marks.js";
import { folded } from "./format.js";
import { personName } from "../parlor/display.js";
import { openDialog } from "./dialog.js";
import { field } from "./form.js";
import { segments } from "./menu.js";
import { stepFocus } from "./menu-button.js";

/** The maximum number of people in a group: the server's. */
export const GROUP_LIMIT = 100;

/**
 * Asks for one person, or for several people of a group. Who is chosen for a group stays so during a search.
 * @param lead what is said above the search. @param action the name of the button that ends the choice of several.
 * @param mayBeOne whether one can choose between the two; if not, a group is asked for. @param people who is chosen
 * already. @param except the ids of who is left out. @param max the maximum number of people.
 * @returns a promise of `{ isGroup, people }`, or of undefined.
 */
export function choosePeople(parlor, { title, lead, action, mayBeOne = false, isGroup = !mayBeOne, people = [], except = [], max = GROUP_LIMIT - 1 }) {
  const chosen = new Map(people.map((person) => [person.id, person]));
  const foot = h("div", { class: "dialog-foot" });
  return openDialog(title, (close) => {
    const known = knownPeople(parlor.rooms).filter(({ id }) => !except.includes(id));
    const isKnown = new Set([...known.map(({ id }) => id), ...except]);
    const more = h("button", { class: "text-button", type: "button", hidden: true, on: { click: () => load(next) } }, t("morePeople"));
    const others = h("div");
    const mine = h("div");
    const status = h("p", { class: "hint", role: "status" });
    const results = h("div", { class: "people-list", on: { keydown: (event) => stepFocus(event, rows(), "ArrowUp", "ArrowDown") } }, mine, others, status, more);
    const chips = h("div", { class: "chips", role: "group", "aria-label": t("chosen") });
    const count = h("span", { class: "hint", role: "status" });
    const submit = h("button", { class: "button primary", type: "button", on: { click: () => close({ isGroup, people: [...chosen.values()] }) } }, action);
    const search = field(t("findPeople"), { type: "search", placeholder: t("findPeopleHint"), autocomplete: "off", autocapitalize: "none", spellcheck: "false", "data-focus": "", on: {
      input: later,
      keydown: (event) => {
        if (event.key !== "ArrowDown") return;
        event.preventDefault();
        rows()[0]?.focus();
      },
    } });
    let found = [];
    let next = null;
    let asked = null;
    let timer = null;

    const rows = () => [...results.querySelectorAll(".person-row")];
    function row(person) {
      const isChosen = chosen.has(person.id);
      const props = isGroup ? { role: "checkbox", "aria-checked": String(isChosen) } : { "aria-label": t("startWith", { name: personName(person) }) };
      return h("button", { class: "person-row", type: "button", "data-id": person.id, ...props, on: { click: () => (isGroup ? toggle(person) : close({ isGroup, people: [person] })) } },
        personMark(person), h("span", { dir: "auto" }, personName(person), h("small", {}, h("bdi", {}, `@${person.username}`))), isGroup ? h("span", { class: "tick" }, icon("check", 16)) : icon("plus"));
    }

    function toggle(person) {
      const isFull = chosen.size >= max && !chosen.has(person.id);
      text(status, isFull ? t("groupFull", { count: GROUP_LIMIT }) : "");
      if (isFull) return;
      if (!chosen.delete(person.id)) chosen.set(person.id, person);
      results.querySelector(`[data-id="${CSS.escape(person.id)}"]`)?.setAttribute("aria-checked", String(chosen.has(person.id)));
      drawChosen();
    }
    function drawChosen() {
      const index = [...chips.children].indexOf(document.activeElement);
      fill(chips, [...chosen.values()].map((person) => h("button", { class: "chip", type: "button", "aria-label": t("unchoose", { name: personName(person) }), on: { click: () => toggle(person) } },
        h("span", { dir: "auto" }, personName(person)), icon("close", 14))));
      chips.hidden = !isGroup || chosen.size === 0;
      if (index >= 0) (chips.children[Math.min(index, chosen.size - 1)] ?? search.input).focus();
      text(count, chosen.size > 0 ? t("chosenCount", { count: chosen.size }) : "");
      submit.disabled = chosen.size === 0;
    }

    function drawMine() {
      const query = folded(search.input.value.trim());
      const shown = known.filter((person) => [person.username, person.firstName ?? ""].some((name) => folded(name).includes(query))).slice(0, 50);
      fill(mine, shown.length > 0 && h("h3", {}, t("yourPeople")), shown.map(row));
    }
    function drawOthers() {
      fill(others, found.length > 0 && h("h3", {}, t("otherPeople")), found.map(row));
    }
    function draw() {
      drawMine();
      drawOthers();
      fill(foot, isGroup && [count, submit]);
      drawChosen();
    }
    async function load(cursor) {
      asked?.abort();
      asked = new AbortController();
      const { signal } = asked;
      if (!cursor) text(status, t("loading"));
      try {
        const query = search.input.value.trim();
        const answer = await parlor.rooms.findPeople(query, { cursor: cursor ?? undefined, limit: 30, signal });
        if (signal.aborted) return;
        next = answer.next;
        const fresh = answer.people.filter(({ id }) => !isKnown.has(id));
        found = cursor ? [...found, ...fresh] : fresh;
        if (cursor) others.append(...fresh.map(row));
        else drawOthers();
        more.hidden = !next;
        text(status, found.length === 0 && !mine.childElementCount ? t("nobodyFound") : "");
      } catch (failure) {
        if (!signal.aborted) text(status, failureText(failure));
      }
    }
    function later() {
      drawMine();
      clearTimeout(timer);
      timer = setTimeout(() => load(null), 200);
    }
    draw();
    load(null);
    return [
      mayBeOne && segments(t("roomKind"), [{ id: false, name: t("onePerson") }, { id: true, name: t("group") }], isGroup, (is) => {
        isGroup = is;
        draw();
      }),
      lead && h("p", { class: "hint" }, lead), search.element, chips, results,
    ];
  }, () => foot);
}

/** Returns the others in the person's rooms: first those of direct rooms. */
function knownPeople({ snapshot: { people, rooms }, userId }) {
  const known = new Map(people.map((person) => [person.id, person]));
  for (const { userId: id, ...person } of rooms.flatMap(({ participants }) => participants)) {
    if (id !== userId && !known.has(id)) known.set(id, { id, ...person });
  }
  return [...known.values()];
}
