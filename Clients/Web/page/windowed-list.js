import { h, onceAFrame } from "./dom.js";

// A list of rows whose heights are unknown. Only the rows near the view are in the document. A row in the document is
// measured, and its height is kept by key. A row that was never measured is assumed to have the average height. What is
// visible stays visible: each change is made around an anchor, which is the first visible row and how far it is
// scrolled.

/** The distance from the view, in pixels, within which rows are in the document. */
const OVERSCAN = 700;
/** The distance from the end, in pixels, within which the view counts as being at the end. */
const AT_END = 48;

export class WindowedList {
  #scroller;
  #before = h("div");
  #after = h("div");
  #content;
  #key;
  #make;
  #update;
  #onView;
  #items = [];
  #indexes = new Map();
  #rows = new Map();
  // `#heights` is by key, so that heights stay when items move. `#known` is by index. `#tops` is its running sum, for
  // lookups.
  #heights = new Map();
  #known = new Float64Array(0);
  #tops = new Float64Array(1);
  #average = 64;
  #first = 0;
  #last = 0;
  #width = 0;
  #height = 0;
  #sizes;
  isAtEnd = true;

  /**
   * `key(item)` returns an item's key, `make(item)` makes a row, and `update(row, index)` updates it. `onView()` runs
   * after each change of what is visible.
   */
  constructor(scroller, content, { key, make, update, onView }) {
    this.#scroller = scroller;
    this.#content = content;
    this.#key = key;
    this.#make = make;
    this.#update = update;
    this.#onView = onView;
    content.append(this.#before, this.#after);
    const onScroll = onceAFrame(() => this.#scrolled());
    scroller.addEventListener("scroll", onScroll, { passive: true });
    this.#sizes = new ResizeObserver(() => this.#resized());
    this.#sizes.observe(scroller);
  }

  end() {
    this.#sizes.disconnect();
  }

  get items() {
    return this.#items;
  }

  /** Shows `items`. The view stays at the same row, or at the end if it was there. */
  setItems(items) {
    if (items === this.#items) return this.refresh();
    const anchor = this.#anchor();
    this.#items = items;
    this.#indexes = new Map(items.map((item, index) => [this.#key(item), index]));
    this.#lookUp();
    this.#render(this.#resolve(anchor), true);
  }

  /** Updates all rows in the document. */
  refresh() {
    this.#render(this.#resolve(this.#anchor()), true);
  }

  scrollToEnd() {
    this.isAtEnd = true;
    this.#render({ isEnd: true });
  }

  /** Scrolls to a row, `gap` pixels below the upper edge. */
  scrollToKey(key, gap = 0) {
    const index = this.#indexes.get(key);
    if (index === undefined) return;
    this.isAtEnd = false;
    this.#render({ index, offset: -gap });
    this.#noteEnd();
  }

  row(key) {
    return this.#rows.get(key);
  }

  has(key) {
    return this.#indexes.has(key);
  }

  /** Returns the items that are visible. */
  visible() {
    if (this.#scroller.clientHeight === 0) return [];
    const top = this.#scroller.scrollTop - this.#offset();
    const from = this.#indexAt(top + 8);
    const to = this.#indexAt(top + this.#scroller.clientHeight - 8);
    return this.#items.slice(from, to + 1);
  }

  #offset() {
    return this.#before.offsetTop;
  }

  /**
   * Computes the heights by index again. The average changes only here, so that rows do not shift while the person
   * scrolls.
   */
  #lookUp() {
    if (this.#heights.size > 0) this.#average = [...this.#heights.values()].reduce((sum, height) => sum + height, 0) / this.#heights.size;
    this.#known = Float64Array.from(this.#items, (item) => this.#heights.get(this.#key(item)) ?? this.#average);
    this.#tops = new Float64Array(this.#items.length + 1);
    this.#sumFrom(0);
  }

  #sumFrom(first) {
    for (let index = first; index < this.#known.length; index += 1) this.#tops[index + 1] = this.#tops[index] + this.#known[index];
  }

  #indexAt(top) {
    let low = 0, high = this.#items.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#tops[middle] <= top) low = middle;
      else high = middle - 1;
    }
    return Math.max(0, low);
  }

  #anchor() {
    if (this.isAtEnd || this.#items.length === 0) return { isEnd: true };
    const top = this.#scroller.scrollTop - this.#offset();
    const index = this.#indexAt(top);
    const keys = [];
    for (let near = index; near < Math.min(index + 40, this.#items.length); near += 1) keys.push(this.#key(this.#items[near]));
    return { keys, offset: top - this.#tops[index], index };
  }

  /** Returns the anchor's place among the current items: its row, or the next row that still exists. */
  #resolve(anchor) {
    if (anchor.isEnd) return anchor;
    for (const [step, key] of anchor.keys.entries()) {
      const index = this.#indexes.get(key);
      if (index !== undefined) return { index, offset: step === 0 ? anchor.offset : 0 };
    }
    return { index: Math.min(anchor.index, this.#items.length - 1), offset: 0 };
  }

  #render(anchor, isChanged = false) {
    if (this.#scroller.clientHeight === 0 && this.#rows.size === 0 && this.#items.length > 60) return;
    // This is repeated if the rows are so much smaller than estimated that they do not fill the view.
    for (let pass = 0; pass < 3; pass += 1) {
      const height = this.#scroller.clientHeight;
      const total = this.#tops[this.#items.length];
      const top = anchor.isEnd || anchor.index < 0 ? Math.max(0, total - height) : this.#tops[anchor.index] + anchor.offset;
      const first = this.#items.length ? this.#indexAt(top - OVERSCAN) : 0;
      const last = this.#items.length ? this.#indexAt(top + height + OVERSCAN) + 1 : 0;
      const isMoved = this.#place(first, last, isChanged && pass === 0);
      const isMeasured = this.#measure();
      this.#space();
      this.#scrollFor(anchor);
      if (!isMeasured || (pass > 0 && !isMoved) || this.#isFilled()) break;
    }
    this.#onView();
  }

  #scrollFor(anchor) {
    const wanted = anchor.isEnd || anchor.index < 0 ? this.#scroller.scrollHeight - this.#scroller.clientHeight : this.#tops[anchor.index] + anchor.offset + this.#offset();
    if (Math.abs(this.#scroller.scrollTop - wanted) >= 1) this.#scroller.scrollTop = wanted;
  }

  #place(first, last, isChanged) {
    const isMoved = first !== this.#first || last !== this.#last;
    if (!isMoved && !isChanged) return false;
    this.#first = first;
    this.#last = last;
    const shown = this.#items.slice(first, last);
    this.#removeAllBut(new Set(shown.map(this.#key)));
    let next = this.#before.nextSibling;
    for (const [step, item] of shown.entries()) {
      const key = this.#key(item);
      let row = this.#rows.get(key);
      if (!row) {
        row = this.#make(item);
        this.#rows.set(key, row);
      }
      this.#update(row, first + step);
      if (row === next) next = next.nextSibling;
      else this.#content.insertBefore(row, next);
    }
    return isMoved;
  }

  /**
   * Removes the other rows from the document. This comes before rows are placed: a row that is placed before one that
   * goes would be moved, and so would all rows after it. A row that is moved loses the focus and selected text.
   */
  #removeAllBut(wanted) {
    for (const [key, row] of this.#rows) {
      if (wanted.has(key)) continue;
      row.remove();
      this.#rows.delete(key);
    }
  }

  #measure() {
    let lowest = Infinity;
    for (const [key, row] of this.#rows) {
      const height = row.getBoundingClientRect().height;
      const index = this.#indexes.get(key);
      if (height === 0) continue;
      this.#heights.set(key, height);
      if (Math.abs(this.#known[index] - height) < 0.5) continue;
      this.#known[index] = height;
      lowest = Math.min(lowest, index);
    }
    if (lowest === Infinity) return false;
    this.#sumFrom(lowest);
    return true;
  }

  #isFilled() {
    const top = this.#scroller.scrollTop - this.#offset();
    return this.#first <= this.#indexAt(top - OVERSCAN / 2) && this.#last > this.#indexAt(top + this.#scroller.clientHeight + OVERSCAN / 2);
  }

  #space() {
    this.#before.style.height = `${this.#tops[this.#first]}px`;
    this.#after.style.height = `${this.#tops[this.#items.length] - this.#tops[this.#last]}px`;
  }

  #noteEnd() {
    const { scrollHeight, scrollTop, clientHeight } = this.#scroller;
    this.isAtEnd = scrollHeight - scrollTop - clientHeight < AT_END;
  }

  #scrolled() {
    // After a resize, the observer draws. `isAtEnd` must keep its value from the old size until then.
    if (this.#scroller.clientHeight === 0 || this.#scroller.clientHeight !== this.#height) return;
    this.#noteEnd();
    const top = this.#scroller.scrollTop - this.#offset();
    const first = this.#indexAt(top - OVERSCAN / 2), last = this.#indexAt(top + this.#scroller.clientHeight + OVERSCAN / 2) + 1;
    if (first >= this.#first && last <= this.#last) return this.#onView();
    const index = this.#indexAt(top);
    this.#render({ index, offset: top - this.#tops[index] });
  }

  #resized() {
    if (this.#scroller.clientHeight === 0) return;
    const width = this.#scroller.clientWidth;
    const anchor = this.#resolve(this.#anchor());
    this.#height = this.#scroller.clientHeight;
    if (width !== this.#width) {
      // Lines break differently now, so the measured heights no longer hold.
      this.#width = width;
      this.#heights.clear();
    }
    this.#render(anchor, true);
    // A higher view may show the end, which takes no scrolling.
    this.#noteEnd();
  }
}
