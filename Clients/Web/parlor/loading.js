import { ClientFailure } from "./failure.js";
import { Backoff, Pause } from "./timing.js";

/**
 * Keeps fetched data current: it is fetched on entering and whenever events may have been missed, one
 * fetch at a time, and retried after a temporary failure.
 *
 * `isVerified`: all that is shown has been fetched, the server sends every change, and there is a connection.
 */
export class Loading {
  #platform;
  #fetch;
  #rejoin;
  #onChange;
  #backoff = new Backoff(5_000, 30_000);
  #retry = null;
  #running = null;
  #isFetched = false;
  #isJoined = false;
  #isEntered = false;
  isAway;
  isLoading = false;
  failure = null;
  /** Rises when earlier requests become obsolete. */
  epoch = 0;

  /**
   * @param fetch `(isCurrent) → { refusal }`: why it is not joined for now, if so; checks `isCurrent()` after each wait.
   * @param rejoin the same after a rest; what was fetched before it is still there.
   */
  constructor(platform, { isAway, fetch, rejoin = async () => ({}), onChange }) {
    this.#platform = platform;
    this.#fetch = fetch;
    this.#rejoin = rejoin;
    this.#onChange = onChange;
    this.isAway = isAway;
  }

  get isFetched() {
    return this.#isFetched;
  }

  get isVerified() {
    return this.#isFetched && this.#isJoined && !this.isAway;
  }

  enter() {
    this.#isEntered = true;
    this.begin();
  }

  /** Cancels what is under way. */
  leave() {
    this.#isEntered = false;
    this.#end();
  }

  /** Cancels what is under way, and fetches nothing until `resume`: nobody looks. */
  rest() {
    const isFetched = this.#isFetched;
    this.leave();
    this.#isFetched = isFetched;
    this.#isJoined = false;
    this.#onChange();
  }

  /** Continues: changes since `rest` come with the joining, unless the server has said that it cannot repeat them. */
  resume() {
    this.#isEntered = true;
    if (this.#isFetched) this.#start(this.#rejoin);
    else this.begin();
  }

  connected() {
    // Even during a fetch, which began without a connection.
    if (!this.#isFetched) this.begin();
  }

  recovered(isWhole) {
    this.isAway = false;
    if (!isWhole || !this.#isFetched) this.begin();
    this.#onChange();
  }

  disconnected() {
    this.isAway = true;
    this.#onChange();
  }

  /** Resolves with the last fetch. */
  async refresh() {
    this.begin();
    while (this.#running) await this.#running;
  }

  /** Marks the shown data as outdated. */
  begin() {
    if (!this.#isEntered) {
      // Outdated when it is resumed.
      this.#isFetched = false;
      return;
    }
    this.#end();
    this.isLoading = true;
    this.#start(this.#fetch);
  }

  note(error) {
    this.failure = error && ClientFailure.of(error);
    this.#onChange();
  }

  #end() {
    this.epoch += 1;
    this.#retry?.cancel();
    this.#retry = null;
    this.#isFetched = false;
    this.isLoading = false;
  }

  #start(work) {
    const { epoch } = this;
    const running = this.#run(epoch, work).finally(() => {
      if (this.#running === running) this.#running = null;
    });
    this.#running = running;
    this.#onChange();
  }

  async #run(epoch, work) {
    const isCurrent = () => epoch === this.epoch;
    try {
      // A turn later, so that the caller continues first.
      await null;
      if (!isCurrent()) return;
      const { refusal = null } = await work(isCurrent);
      if (!isCurrent()) return;
      this.#isFetched = true;
      this.#isJoined = refusal === null;
      this.failure = refusal;
      if (refusal) this.#later(refusal);
      else this.#backoff.reset();
    } catch (error) {
      if (!isCurrent()) return;
      this.failure = ClientFailure.of(error);
      if (this.failure.isRetryable) this.#later(this.failure);
    }
    this.isLoading = false;
    this.#onChange();
  }

  #later(failure) {
    this.#retry = new Pause(this.#platform, this.#backoff.next(this.#platform.random(), failure.retryAfter));
    this.#retry.done.then((isOver) => isOver && this.begin());
  }
}
