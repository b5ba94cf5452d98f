/** Time that passes when a test says so; timers of one moment run in the order they were set. */
export class Clock {
  #now = Date.parse("2030-01-01T00:00:00Z");
  #timers = [];
  #count = 0;

  now = () => this.#now;

  setTimeout = (run, milliseconds) => {
    const timer = { at: this.#now + Math.max(0, milliseconds), number: this.#count++, run };
    this.#timers.push(timer);
    return timer;
  };

  clearTimeout = (timer) => {
    this.#timers = this.#timers.filter((other) => other !== timer);
  };

  /** Lets `milliseconds` pass, and everything that follows from each timer happen before the next. */
  async advance(milliseconds) {
    const end = this.#now + milliseconds;
    await settle();
    for (;;) {
      const next = this.#timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at || a.number - b.number)[0];
      if (!next) break;
      this.clearTimeout(next);
      this.#now = next.at;
      next.run();
      await settle();
    }
    this.#now = end;
  }

  /** Passes until `test()` holds; fails after `limit` milliseconds. */
  async until(words, test, limit = 120_000) {
    const end = this.#now + limit;
    await settle();
    while (!test()) {
      if (this.#now >= end) throw new Error(`never: ${words}`);
      await this.advance(20);
    }
  }
}

/** All that needs no time. */
function settle() {
  return new Promise((resolve) => setImmediate(resolve));
}
