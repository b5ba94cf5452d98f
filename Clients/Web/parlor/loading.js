import { ClientFailure } from "./failure.js";
import { Backoff, Pause } from "./timing.js";

/**
 * Keeps fetched data current. It fetches when a room is entered and when events may have been missed, one fetch at a
 * time, and retries after a retryable failure.
 *
 * `isVerified` is true if everything shown has been fetched, the room is joined, and there is a connection that has
 * caught up.
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
  /** Rises when the results of earlier requests become obsolete. */
  epoch = 0;

  /**
   * @param fetch `(isCurrent) → { refusal }`. `refusal` is the failure if the room cannot be joined for now. `fetch`
   * has to check `isCurrent()` after each wait, and to change nothing if that is false.
   * @param rejoin runs instead of `fetch` after a rest, with the same rules. What was fetched before is still there.
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

  /** Ends the fetch that is in progress, and the retries. */
  leave() {
    this.#isEntered = false;
    this.#end();
  }

  /** Ends the fetch that is in progress, and fetches nothing until `resume()`, because nobody looks at the room. */
  rest() {
    const isFetched = this.#isFetched;
    this.leave();
    this.#isFetched = isFetched;
    this.#isJoined = false;
    this.#onChange();
  }

  /**
   * Continues after `rest()`. The join brings the changes since then. If the server has said that it cannot replay
   * them, everything is fetched again.
   */
  resume() {
    this.#isEntered = true;
    if (this.#isFetched) this.#start(this.#rejoin);
    else this.begin();
  }

  connected() {
    // This restarts a fetch that is in progress, because it began without a connection.
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

  /** Fetches again. Resolves when the last fetch has ended, even if it failed. */
  async refresh() {
    this.begin();
    while (this.#running) await this.#running;
  }

  /** Marks the data as unverified, and starts a fetch in place of one that is in progress. */
  begin() {
    if (!this.#isEntered) {
      // The data is out of date when loading resumes.
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
      // The fetch begins in the next microtask, so that the caller continues first.
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
