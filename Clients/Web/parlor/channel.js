import { report } from "./report.js";

/** What tabs of one origin say to one another; without BroadcastChannel, nothing. */
export class TabChannel {
  #channel = null;
  #listeners = new Map();

  constructor(platform, name) {
    if (!platform.BroadcastChannel) return;
    try {
      this.#channel = new platform.BroadcastChannel(name);
    } catch {
      // The browser keeps nothing for the page, and connects no tabs.
      return;
    }
    // node: a channel alone keeps no process alive.
    this.#channel.unref?.();
    this.#channel.onmessage = ({ data }) => this.#listeners.get(data?.topic)?.(data.content);
  }

  listen(topic, listener) {
    this.#listeners.set(topic, listener);
  }

  /** Never throws: what is posted has happened in this tab, and others only learn of it later. */
  post(topic, content) {
    try {
      this.#channel?.postMessage({ topic, content });
    } catch (error) {
      report(error);
    }
  }
}
