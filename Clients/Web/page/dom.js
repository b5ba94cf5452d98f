// Makes elements. Strings become text nodes; nothing here parses HTML.

const SVG = "http://www.w3.org/2000/svg";

/**
 * Makes an element. `props` has attributes, and `class`, `on` (listeners by event) and `style`. Styles are set through
 * CSSOM, because the page's Content-Security-Policy forbids inline styles.
 */
export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (name === "class") element.className = value;
    else if (name === "on") for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    else if (name === "style") for (const [key, entry] of Object.entries(value)) element.style.setProperty(key, entry);
    else if (value !== false && value != null) element.setAttribute(name, value === true ? "" : String(value));
  }
  add(element, children);
  return element;
}

export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value != null) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

function add(parent, children) {
  for (const child of children) {
    if (child == null || child === false) continue;
    if (Array.isArray(child)) add(parent, child);
    else parent.append(child);
  }
}

/** Replaces the children of `parent`. */
export function fill(parent, ...children) {
  parent.replaceChildren();
  add(parent, children);
  return parent;
}

/** Sets the text of an element only if it differs, so that unchanged rows cause no layout. */
export function text(element, value) {
  if (element.textContent !== value) element.textContent = value;
}

/**
 * Updates the children of `parent` to match `items`. There is one element for each key. It is made once, updated in
 * place, and moved only if it is out of order. `make(item)` makes an element, and `update(element, item)` runs on each
 * element.
 */
export function reconcile(parent, items, key, make, update) {
  const present = keyed(parent);
  const focused = document.activeElement;
  // First, because an element that is moved loses the focus and its scroll position: all that follow one that goes
  // would be moved before it.
  const wanted = new Set(items.map(key));
  for (const [id, element] of present) {
    if (wanted.has(id)) continue;
    element.remove();
    present.delete(id);
  }
  let next = parent.firstElementChild;
  for (const item of items) {
    const id = key(item);
    const element = present.get(id) ?? addKeyed(present, id, make(item));
    update(element, item);
    if (element === next) next = next.nextElementSibling;
    else parent.insertBefore(element, next);
  }
  // An element that was moved has lost the focus, such as a room whose new message brings it to the top.
  if (focused !== document.activeElement && parent.contains(focused)) focused.focus({ preventScroll: true });
}

/** Appends the element of one more item, which follows those that already have an element. */
export function appendKeyed(parent, item, key, make, update) {
  const element = addKeyed(keyed(parent), key(item), make(item));
  update(element, item);
  parent.append(element);
}

function addKeyed(present, id, element) {
  present.set(id, element);
  return element;
}

/** Returns the elements that `reconcile` and `appendKeyed` have made, by key. */
export function keyed(parent) {
  return parent.keyed ?? (parent.keyed = new Map());
}

/** The functions that wait for a frame. */
const waiting = new Set();

// A frame that is requested just before the page is hidden comes only when the page is visible again.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) for (const run of waiting) setTimeout(run, 0);
});

/** Returns a function that runs `work` at most once a frame. A hidden page has no frames, so a timer is used there. */
export function onceAFrame(work) {
  let isDue = false;
  const run = () => {
    if (!isDue) return;
    isDue = false;
    waiting.delete(run);
    work();
  };
  return () => {
    if (isDue) return;
    isDue = true;
    if (document.hidden) {
      setTimeout(run, 50);
    } else {
      waiting.add(run);
      requestAnimationFrame(run);
    }
  };
}

/** Returns a normalised http or https address; null for anything else. */
export function webAddress(value) {
  if (typeof value !== "string" || value.length > 4000) return null;
  try {
    const url = new URL(value.trim());
    return url.protocol === "http:" || url.protocol === "https:" ? url.href : null;
  } catch {
    return null;
  }
}

export function outsideLink(href, ...children) {
  return h("a", { href, target: "_blank", rel: "noopener noreferrer nofollow" }, ...children);
}

/** A web address, with or without its protocol, or an e-mail address. Its parts are bounded, so that it takes linear time. */
const ADDRESS = /(?:https?:\/\/|(?<![\p{L}\p{N}_.-])www\.(?=[\p{L}\p{N}]))[^\s<>"`]+|(?<![\p{L}\p{M}\p{N}_.+-]|[\p{L}\p{M}]['’])[\w.+-]{1,64}@(?:[\w-]{1,63}\.){1,8}[a-z]{2,24}\b/giu;

/** Returns the parts of a text: strings, and links for the addresses in it. */
export function linked(value) {
  const parts = [];
  let end = 0;
  for (const match of value.matchAll(ADDRESS)) {
    const address = withoutEnding(match[0]);
    const link = addressLink(address);
    if (!link) continue;
    parts.push(value.slice(end, match.index), link);
    end = match.index + address.length;
  }
  parts.push(value.slice(end));
  return parts;
}

function addressLink(address) {
  const isWeb = /^https?:/i.test(address);
  if (!isWeb && address.includes("@") && !/^www\./i.test(address)) return h("a", { href: `mailto:${address}` }, address);
  // What is before the @ would be a name to sign in with, and what is after it the server.
  if (!isWeb && address.includes("@")) return null;
  const href = webAddress(isWeb ? address : `https://${address}`);
  return href && outsideLink(href, address);
}

/** Removes what belongs to the sentence around an address: marks at its end, and brackets that were not opened in it. */
function withoutEnding(address) {
  const unopened = {};
  for (const [closing, opening] of [")(", "][", "}{", "）（", "」「", "』『", "】【"]) unopened[closing] = address.split(closing).length - address.split(opening).length;
  let end = address.length;
  for (; end > 0; end -= 1) {
    const last = address[end - 1];
    if (unopened[last] > 0) unopened[last] -= 1;
    else if (!".,;:!?…*'’‘”“»«›‹。，、；：！？".includes(last)) break;
  }
  return address.slice(0, end);
}
