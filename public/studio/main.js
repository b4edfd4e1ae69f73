import { ApiError, call, token } from "./api.js";
import { ask, labelled } from "./dialogs.js";
import { fill, h, setText } from "./dom.js";
import { DurableView } from "./durable-view.js";
import { EphemeralView } from "./ephemeral-view.js";
import { Feed } from "./feed.js";
import { Histories } from "./history.js";
import { ListView } from "./list-view.js";
import { LossesView } from "./losses-view.js";

/** @import { Overview } from "../../src/contract/overview.ts" */

/**
 * @typedef {object} View
 * @property {string} title
 * @property {HTMLElement} element
 * @property {() => void} update Called whenever there is another overview, and once a second.
 */

/** Charts move and ages grow while nothing else happens. */
const TICK_MS = 1000;

/** What the views have in common: the broker as it was last seen, and the way to do something about it. */
export class Studio {
  histories = new Histories();
  #feed = new Feed();
  /** How far the broker's clock is ahead of the page's. */
  #aheadMs = 0;
  /** @type {View | null} */
  #view = null;
  /** @type {Promise<void> | null} */
  #asking = null;

  start() {
    this.#feed.addEventListener("overview", (event) => this.#saw(/** @type {CustomEvent<Overview>} */ (event).detail));
    this.#feed.addEventListener("failure", (event) => this.#failed(/** @type {CustomEvent<unknown>} */ (event).detail));
    addEventListener("hashchange", () => this.#show());
    setInterval(() => this.#view?.update(), TICK_MS);
    element("forget").addEventListener("click", () => {
      token.forget();
      location.reload();
    });
    element("skip").addEventListener("click", (event) => {
      // The address names the view.
      event.preventDefault();
      element("main").focus();
    });
    this.#show();
    this.#feed.start();
  }

  /** @returns {Overview | null} */
  get overview() {
    return this.#feed.overview;
  }

  /** The time by the broker's clock. */
  get now() {
    return Date.now() + this.#aheadMs;
  }

  /**
   * Calls the broker; asks for a token when there is none that may.
   *
   * @template T
   * @param {"GET" | "POST" | "PATCH" | "DELETE"} method
   * @param {string} at
   * @param {unknown} [body]
   * @returns {Promise<T>}
   */
  async call(method, at, body) {
    try {
      return await call(method, at, body);
    } catch (error) {
      if (!(error instanceof ApiError && error.isRefused)) throw error;
      await this.#askToken(error);
      return call(method, at, body);
    }
  }

  /**
   * Something was done: says so, and looks what has become of it.
   *
   * @param {string} text
   */
  done(text) {
    setText(element("said"), text);
    this.#feed.refresh();
  }

  /** @param {Overview} overview */
  #saw(overview) {
    this.#aheadMs = overview.now - Date.now();
    this.histories.add(overview);
    this.#say("live", "");
    element("forget").hidden = token.get() === null;
    this.#view?.update();
  }

  /** @param {unknown} error */
  #failed(error) {
    const isRefused = error instanceof ApiError && error.isRefused;
    if (!isRefused) return this.#say("not live", error instanceof Error ? error.message : String(error));
    this.#say("waiting for a token", "");
    return void this.#askToken(error);
  }

  /**
   * Nothing goes on until there is a token that the broker takes.
   *
   * @param {ApiError} refusal
   */
  #askToken(refusal) {
    this.#asking ??= this.#askUntilGood(refusal).finally(() => {
      this.#asking = null;
    });
    return this.#asking;
  }

  /** @param {ApiError} refusal */
  async #askUntilGood({ message }) {
    this.#feed.stop();
    let problem = token.get() === null ? "" : message;
    for (let isGood = false; !isGood; problem = "") isGood = await askForToken(problem);
    this.#feed.start();
  }

  /**
   * @param {string} status
   * @param {string} problem
   */
  #say(status, problem) {
    setText(element("status"), status);
    element("status").classList.toggle("live", status === "live");
    setText(element("problem"), problem);
    element("problem").hidden = problem === "";
  }

  /** Shows what the address names. */
  #show() {
    const isFirst = this.#view === null;
    const [, kind = "", name = ""] = location.hash.split("/");
    const view = this.#viewOf(kind, decoded(name));
    this.#view = view;
    document.title = `${view.title} – Waggle Studio`;
    for (const link of document.querySelectorAll("nav a")) {
      const isHere = link.getAttribute("href") === `#/${kind}`;
      if (isHere) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    fill(element("main"), view.element);
    view.update();
    // As after the load of a page: a reader begins at its top.
    if (!isFirst) element("main").focus();
    scrollTo(0, 0);
  }

  /**
   * @param {string} kind
   * @param {string} name
   * @returns {View}
   */
  #viewOf(kind, name) {
    if (kind === "durable") return new DurableView(this, name);
    if (kind === "ephemeral") return new EphemeralView(this, name);
    return kind === "losses" ? new LossesView(this) : new ListView(this);
  }
}

/**
 * Resolves with whether the broker takes what was given.
 *
 * @param {string} problem
 */
function askForToken(problem) {
  const input = h("input", { type: "password", name: "token", autocomplete: "off", required: true });
  return ask({
    title: "Token needed",
    text: "This broker asks for a token with the claim admin. It is kept in this tab and ends with it.",
    button: "Use this token",
    fields: [labelled("Token", input)],
    problem,
    run: async () => {
      token.set(input.value.trim());
      try {
        await call("GET", "/api/v1/system/overview");
      } catch (error) {
        token.forget();
        throw error;
      }
    },
  });
}

/** @param {string} text */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** @param {string} id */
function element(id) {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no ${id}`);
  return found;
}

if (top === self) new Studio().start();
else refuseFrame();

/** A page around this one could have its buttons pressed by somebody who sees something else. */
function refuseFrame() {
  setText(element("status"), "not started");
  setText(element("problem"), "The Studio does not run inside of another page.");
  element("problem").hidden = false;
}
