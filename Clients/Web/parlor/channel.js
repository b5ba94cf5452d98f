import { report } from "./report.js";

/** Messages between the tabs of one origin. Without BroadcastChannel, nothing is sent. */
export class TabChannel {
  #channel = null;
  #listeners = new Map();

  constructor(platform, name) {
    if (!platform.BroadcastChannel) return;
    try {
      this.#channel = new platform.BroadcastChannel(name);
    } catch {
      // A browser that blocks site data may refuse channels too. Then the tabs are not connected.
      return;
    }
    // In node, a channel must not keep the process alive.
    this.#channel.unref?.();
    this.#channel.onmessage = ({ data }) => this.#listeners.get(data?.topic)?.(data.content);
  }

  listen(topic, listener) {
    this.#listeners.set(topic, listener);
  }

  /**
   * Sends a message to the other tabs. It never throws: the change has been made in this tab, and other tabs may notice
   * it later.
   */
  post(topic, content) {
    try {
      this.#channel?.postMessage({ topic, content });
    } catch (error) {
      report(error);
    }
  }
}
