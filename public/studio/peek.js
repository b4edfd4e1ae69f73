import { path } from "./api.js";
import { readable } from "./bodies.js";
import { fill, h, setText } from "./dom.js";
import { age, plural, span, time } from "./format.js";

import { groupName } from "./groups.js";

/** @import { Child } from "./dom.js" */
/** @import { Studio } from "./main.js" */

/** How many messages one look shows. */
const LIMIT = 20;

/**
 * @typedef {object} Peeked
 * @property {string} id
 * @property {string} ref
 * @property {"ready" | "delayed" | "leased"} state
 * @property {string | null} due_at
 * @property {number} timestamp_ms
 * @property {number} attempts
 * @property {string} body
 * @property {{ "CF-Content-Type": "json" | "text" | "bytes" | "v8", origin?: Origin }} metadata
 */
/** @typedef {{ source_queue: string, attempts: number, last_error: string }} Origin */

/** What lies in a queue: nothing is leased by looking. */
export class Peek {
  element = h("section", { hidden: true });
  #load;
  #said = h("p", { class: "quiet", role: "status" });
  #list = h("ol", { class: "messages" });

  /** @param {(limit: number) => Promise<HTMLElement[]>} load The oldest messages. */
  constructor(load) {
    this.#load = load;
    this.element.append(h("h2", { textContent: "Messages" }), this.#said, this.#list);
  }

  async look() {
    this.element.hidden = false;
    setText(this.#said, "Looking …");
    try {
      const messages = await this.#load(LIMIT);
      const more = messages.length === LIMIT ? "The oldest " : "";
      setText(
        this.#said,
        messages.length === 0 ? "The queue is empty." : `${more}${plural(messages.length, "message")}.`,
      );
      fill(this.#list, ...messages);
    } catch (error) {
      setText(this.#said, error instanceof Error ? error.message : String(error));
    }
  }
}

/**
 * @param {Studio} studio
 * @param {string} queue
 */
export function peekDurable(studio, queue) {
  return new Peek(async (limit) => {
    /** @type {{ messages: Peeked[] }} */
    const { messages } = await studio.call("POST", path`/api/v1/queues/${queue}/messages/peek`, { batch_size: limit });
    return messages.map((message) => durableItem(message, studio.now));
  });
}

/**
 * @param {Peeked} message
 * @param {number} now
 */
function durableItem({ id, state, due_at, timestamp_ms, attempts, body, metadata }, now) {
  const { about, text } = readable(metadata["CF-Content-Type"], body);
  const due = due_at === null ? "" : `, due in ${span(Date.parse(due_at) - now)}`;
  const { origin } = metadata;
  return item(id, text, [
    h("span", { class: `note ${state === "ready" ? "" : "warn"}`, textContent: state + due }),
    h("span", { textContent: about }),
    h("span", { title: time(timestamp_ms), textContent: `sent ${age(timestamp_ms, now)} ago` }),
    h("span", { textContent: plural(attempts, "delivery", "deliveries") }),
    origin !== undefined &&
      h("span", {
        textContent: `from ${origin.source_queue} after ${plural(origin.attempts, "delivery", "deliveries")}: ${origin.last_error}`,
      }),
  ]);
}

/**
 * @typedef {object} PeekedPayload
 * @property {string} id
 * @property {string} partition
 * @property {unknown} payload
 * @property {number} enqueuedAtMs
 * @property {string[]} groups Those that have not settled it.
 */

/**
 * @param {Studio} studio
 * @param {string} queue
 */
export function peekEphemeral(studio, queue) {
  return new Peek(async (limit) => {
    /** @type {{ messages: PeekedPayload[] }} */
    const { messages } = await studio.call("GET", `${path`/api/v1/ephemeral/queues/${queue}/peek`}?limit=${limit}`);
    return messages.map(({ id, partition, payload, enqueuedAtMs, groups }) =>
      item(id, JSON.stringify(payload, null, 2), [
        h("span", { textContent: `partition ${partition}` }),
        h("span", { title: time(enqueuedAtMs), textContent: `pushed ${age(enqueuedAtMs, studio.now)} ago` }),
        h("span", {
          textContent: groups.length === 0 ? "no group yet" : `owed to ${groups.map(groupName).join(", ")}`,
        }),
      ]),
    );
  });
}

/**
 * @param {string} id
 * @param {string} body
 * @param {Child[]} facts
 */
function item(id, body, facts) {
  return h(
    "li",
    {},
    h("p", { class: "facts" }, h("code", { textContent: id }), ...facts),
    h("pre", { tabIndex: 0, role: "group", "aria-label": `Body of ${id}`, textContent: body }),
  );
}
