/** Ranges of `seq`, ascending. Each is `[low, high]`, with both ends included. Adjacent ranges are merged. */
export class SeqRanges {
  #ranges = [];

  get lowest() {
    return this.#ranges[0]?.[0];
  }

  /** The first missing range between two others; undefined if there is none. */
  get firstGap() {
    const [first, second] = this.#ranges;
    return second && [first[1] + 1, second[0] - 1];
  }

  contains(seq) {
    const range = this.#ranges[this.#indexEndingAtOrAfter(seq)];
    return range !== undefined && range[0] <= seq;
  }

  insert(low, high = low) {
    const first = this.#indexEndingAtOrAfter(low - 1);
    let end = first;
    while (end < this.#ranges.length && this.#ranges[end][0] <= high + 1) {
      low = Math.min(low, this.#ranges[end][0]);
      high = Math.max(high, this.#ranges[end][1]);
      end += 1;
    }
    this.#ranges.splice(first, end - first, [low, high]);
  }

  clear() {
    this.#ranges = [];
  }

  /** Searches from the end, because new numbers come last. */
  #indexEndingAtOrAfter(seq) {
    let index = this.#ranges.length;
    while (index > 0 && this.#ranges[index - 1][1] >= seq) index -= 1;
    return index;
  }
}
