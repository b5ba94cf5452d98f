import { attach } from "../parlor/attach.js";
import { h, fill, text, onceAFrame } from "./dom.js";
import { icon } from "./icons.js";
import { t, failureText } from "./texts.js";
import { clear, route, goTo } from "./route.js";
import { signInView } from "./sign-in.js";
import { roomListView } from "./room-list.js";
import { roomView, noRoomView } from "./room.js";
import { followBoardNews, forgetBoardNews, showUnread, shownBadges } from "./unread.js";
import { followDemoLink } from "./demo.js";
import { notify } from "./notices.js";
import { closeDialogs, leaveOldEntry, toast } from "./dialog.js";

/** Shows `parlor` in the page: the sign-in form, or the list of rooms beside one room. */
export function begin(parlor) {
  leaveOldEntry();
  const app = document.getElementById("app");
  const bannerText = h("span");
  const connect = h("button", { class: "text-button", type: "button", on: {
    click: () => {
      isAsked = true;
      parlor.wake();
      drawBanner();
    },
  } });
  const banner = h("div", { class: "banner", role: "status", hidden: true }, icon("offline", 18), bannerText, connect);
  let view = null;
  let shown = null;

  function draw(force = false) {
    const { status, user } = parlor.session.snapshot;
    const wanted = status === "signedIn" ? user.id : status;
    if (wanted === shown && !force) return;
    shown = wanted;
    closeDialogs();
    view?.end();
    view = null;
    fill(app, banner);
    if (status === "signedIn") {
      view = houseView(parlor, () => draw(true));
    } else if (status === "signedOut") {
      view = signInView(parlor.session);
    }
    if (view) app.append(view.element);
    view?.begin?.();
    drawBanner();
  }

  // Its elements and its text stay as they are while the page tries again by itself: else the button would lose the
  // focus, and screen readers would repeat the text, with each try. It says "Connecting" only if the person has asked
  // for that, until this try has ended.
  const drawBanner = onceAFrame(() => {
    const { state, isCaughtUp, isSlow } = parlor.connection.snapshot;
    const isSignedIn = parlor.session.snapshot.status === "signedIn";
    const isLost = state === "offline" || state === "ended";
    const isAway = isSignedIn && (isLost || (state === "connecting" && !isCaughtUp && wasAway));
    if (isLost) wasAway = true;
    if (state === "connected") wasAway = false;
    banner.hidden = !(isAway || (isSignedIn && isSlow));
    text(bannerText, banner.hidden ? "" : isAway ? bannerLine(state) : t("slow"));
    text(connect, t("connectNow"));
    // A connection that is slow is still there.
    connect.hidden = !isAway;
  });
  let wasAway = false;
  let isAsked = false;

  function bannerLine(state) {
    if (isAsked) return t("reconnecting");
    if (state === "ended") return t("ended");
    const { waiting } = parlor.unsent.snapshot;
    return waiting > 0 ? t("offlineWaiting", { count: waiting }) : t("offline");
  }

  let isWarned = false;
  function warn({ status, failure }) {
    const isUnkept = status === "signedIn" && failure?.kind === "not_kept";
    if (isUnkept && !isWarned) toast(t("sessionNotKept"));
    isWarned = isUnkept;
  }

  parlor.session.subscribe(() => draw());
  parlor.session.subscribe(warn);
  parlor.connection.subscribe(({ state }) => {
    // While the page is offline, the state is set when a try has ended, and not when one begins.
    if (state !== "connecting") isAsked = false;
    drawBanner();
  });
  parlor.unsent.subscribe(drawBanner);
  attach(parlor, window);
  const follow = () => followDemoLink(parlor.session).catch((failure) => toast(failureText(failure)));
  addEventListener("hashchange", follow);
  const started = follow().then(() => parlor.start());
  started.then(() => draw(), () => draw());
  return started;
}

/** The list of rooms beside one room. A narrow screen shows one of the two. */
function houseView(parlor, redraw) {
  const house = h("div", { class: "house" });
  const skip = h("a", { class: "skip", href: "#stage", on: {
    click: (event) => {
      event.preventDefault();
      stage.focus();
    },
  } }, t("skip"));
  const list = roomListView(parlor, redraw);
  const stage = h("main", { class: "stage", id: "stage", tabindex: "-1" });
  house.append(skip, list.element, stage);
  let room = null;
  let shown;

  function show() {
    const { roomId, tab } = route();
    if (roomId === shown) return room.choose?.(tab);
    shown = roomId;
    closeDialogs();
    room?.end();
    fill(stage);
    house.dataset.pane = roomId ? "room" : "list";
    room = roomId ? roomView(parlor, roomId, { onNews, onReturn }) : noRoomView();
    stage.append(room.element);
    room.begin?.();
    list.select(roomId);
    update();
  }
  const update = onceAFrame(() => {
    let count = 0;
    for (const room of parlor.rooms?.snapshot.rooms ?? []) {
      const { messages, elements } = shownBadges(room, parlor.rooms.userId);
      count += messages + elements || Number(room.isNew);
    }
    const open = shown && parlor.rooms?.get(shown);
    showUnread(count, open ? open.displayName : null);
  });
  const onNews = () => {
    update();
    list.drawSoon();
  };
  const onReturn = () => {
    shown = undefined;
    show();
  };
  const ends = [parlor.rooms.subscribe(update), followBoardNews(onNews), notify(parlor)];
  const onKey = (event) => {
    // The browser closes an open dialog after this event. It does not set `defaultPrevented` for that.
    const isForDialog = document.querySelector("dialog[open]") !== null;
    const back = stage.querySelector(".back");
    if (event.key === "Escape" && !event.defaultPrevented && !isForDialog && back?.checkVisibility()) goTo(null);
  };
  addEventListener("hashchange", show);
  document.addEventListener("keydown", onKey);
  return {
    element: house,
    begin: show,
    end() {
      removeEventListener("hashchange", show);
      document.removeEventListener("keydown", onKey);
      ends.forEach((end) => end());
      room?.end();
      list.end();
      const { status, failure } = parlor.session.snapshot;
      if (status !== "signedIn") clear();
      // A session that has ended by itself is likely to go on soon.
      if (status !== "signedIn" && !failure) forgetBoardNews();
      showUnread(0, null);
    },
  };
}
