import { ClientFailure } from "./failure.js";
import { Pause, SLOW_AFTER } from "./timing.js";

/** The time limit of a request, in milliseconds. */
const TIMEOUT = 20_000;
/** The longest pause, in seconds, that a server can ask for. */
const LONGEST_WAIT = 3_600;

/** Sends requests to one server, and reads its answers. */
export class Caller {
  #platform;
  #server;
  #onSlow;

  /** @param onSlow runs with true when a request waits for long, and with false at each answer. */
  constructor(platform, server, onSlow = () => {}) {
    this.#platform = platform;
    this.#server = server;
    this.#onSlow = onSlow;
  }

  /**
   * Sends a request.
   * @param path the path below `/api`, encoded by `path`.
   * @returns `{ data, page, degraded }`; `data` is null for 204.
   * @throws ClientFailure, or the reason of `signal` if that is aborted. An answer that violates the contract counts
   * as `offline`, which is retryable: it comes from something else, such as a proxy or a hotel's login page.
   */
  async call(method, path, { query = {}, body, token, signal } = {}) {
    const parameters = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== undefined && value !== null));
    const url = `${this.#server}/api${path}${String(parameters) ? `?${parameters}` : ""}`;
    const headers = { Accept: "application/json", "X-Request-Id": this.#platform.makeId() };
    if (body !== undefined) headers["Content-Type"] = "application/json";
    if (token) headers.Authorization = `Bearer ${token}`;

    const stop = new AbortController();
    const timeout = new Pause(this.#platform, TIMEOUT);
    timeout.done.then((isLate) => isLate && stop.abort());
    const slow = new Pause(this.#platform, SLOW_AFTER);
    slow.done.then((isOver) => isOver && this.#onSlow(true));
    const abort = () => stop.abort();
    signal?.addEventListener("abort", abort);
    if (signal?.aborted) abort();
    let response, text;
    try {
      response = await this.#platform.fetch(url, {
        method, headers, body: body === undefined ? undefined : JSON.stringify(body), signal: stop.signal, cache: "no-store",
      });
      text = await response.text();
    } catch (error) {
      signal?.throwIfAborted();
      throw ClientFailure.offline(`The server was not reached (${error?.message ?? error}).`);
    } finally {
      timeout.cancel();
      slow.cancel();
      signal?.removeEventListener("abort", abort);
    }
    this.#onSlow(false);
    return read(response, text, headers["X-Request-Id"]);
  }
}

/** Encodes a path's segments. */
export function path(...segments) {
  return segments.map((segment) => `/${encodeURIComponent(segment)}`).join("");
}

function read(response, text, requestId) {
  const { status } = response;
  if (status === 204) return { data: null };
  let answer;
  try {
    answer = JSON.parse(text);
  } catch {
    answer = null;
  }
  const isSuccess = status >= 200 && status < 300;
  // `in` throws if the answer is valid JSON but no object.
  if (isSuccess && typeof answer === "object" && answer !== null && "data" in answer) return answer;
  const error = answer?.error;
  if (isSuccess || typeof error?.code !== "string") {
    throw ClientFailure.offline(`Something other than the server has answered (${status}).`);
  }
  const seconds = Number.parseInt(response.headers.get("Retry-After") ?? "", 10);
  throw ClientFailure.refused(error.code, error.message, {
    isRetryable: status === 429 || status >= 500,
    status,
    requestId: error.requestId ?? requestId,
    retryAfter: seconds >= 0 ? Math.min(seconds, LONGEST_WAIT) * 1000 : null,
  });
}
