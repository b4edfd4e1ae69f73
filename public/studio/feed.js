import { call } from "./api.js";

/** @import { Overview } from "../../src/contract/overview.ts" */

/** How long one look waits for a change. */
const WAIT_MS = 20_000;
/** Between two looks: however much happens, the broker is asked no more often. */
const PAUSE_MS = 900;
/** After a failure. */
const RETRY_MS = 2000;

/**
 * The overview, again and again, as soon as anything changes. Nobody is asked while the page is hidden.
 */
export class Feed extends EventTarget {
  /** @type {Overview | null} */
  overview = null;
  #isRunning = false;
  /** @type {AbortController} */
  #look = new AbortController();

  start() {
    if (this.#isRunning) return;
    this.#isRunning = true;
    void this.#run();
  }

  stop() {
    this.#isRunning = false;
    this.#look.abort();
  }

  /** Looks at once: something was done that must show. */
  refresh() {
    this.overview = this.overview && { ...this.overview, version: "" };
    this.#look.abort();
  }

  async #run() {
    while (this.#isRunning) {
      this.#look = new AbortController();
      const { signal } = this.#look;
      try {
        if (document.hidden) await shown(signal);
        await this.#once(signal);
      } catch (error) {
        if (signal.aborted) continue;
        this.dispatchEvent(new CustomEvent("failure", { detail: error }));
        await pause(RETRY_MS, signal);
      }
    }
  }

  /** @param {AbortSignal} signal */
  async #once(signal) {
    const query = new URLSearchParams({ after: this.overview?.version ?? "", waitMs: String(WAIT_MS) });
    /** @type {Overview} */
    const overview = await call("GET", `/api/v1/system/overview?${query}`, undefined, signal);
    this.overview = overview;
    this.dispatchEvent(new CustomEvent("overview", { detail: overview }));
    await pause(PAUSE_MS, signal);
  }
}

/** @param {AbortSignal} signal */
function shown(signal) {
  return new Promise((resolve, reject) => {
    document.addEventListener("visibilitychange", resolve, { once: true, signal });
    signal.addEventListener("abort", reject, { once: true });
  });
}

/**
 * @param {number} ms
 * @param {AbortSignal} signal
 * @returns {Promise<void>}
 */
function pause(ms, signal) {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end, { once: true });
  });
}
