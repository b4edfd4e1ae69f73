import { path } from "./api.js";
import { showNotes } from "./cells.js";
import { Charts } from "./charts.js";
import { h, setAttribute, setText } from "./dom.js";
import { pause, purge, replayDeadLetters, resume } from "./durable-actions.js";
import { consumersTable, partitionsTable } from "./durable-tables.js";
import { Facts } from "./facts.js";
import { age, ago, bytes, count, span } from "./format.js";
import { depthOf, durableKey } from "./history.js";
import { durableNotes } from "./list-view.js";
import { peekDurable } from "./peek.js";
import { sendDurable } from "./send.js";

/** @import { DurableOverview } from "../../src/contract/overview.ts" */
/** @import { Detail } from "./durable-tables.js" */
/** @import { Studio, View } from "./main.js" */

/** Beside what the overview tells, the partitions and consumers are asked for this often. */
const DETAIL_MS = 3000;

/** One durable queue. @implements {View} */
export class DurableView {
  title;
  element;
  #studio;
  #name;
  /** @type {Detail | null} */
  #detail = null;
  #askedAt = 0;
  #seenVersion = "";
  #notes = h("span", { class: "notes" });
  #missing = h("p", { class: "quiet", hidden: true, textContent: "There is no such queue." });
  #content = h("div");
  #error = h("p", { class: "problem", hidden: true });
  #facts = new Facts();
  #charts = new Charts();
  #partitions = partitionsTable();
  #consumers;
  #noConsumers = h("p", {
    class: "quiet",
    hidden: true,
    textContent: "Nobody consumes it: messages wait until they are too old.",
  });
  #pause = button("Pause", () => this.#togglePause());
  #replay = button("Replay dead letters", () => replayDeadLetters(this.#studio, this.#name));
  #peek;

  /**
   * @param {Studio} studio
   * @param {string} name
   */
  constructor(studio, name) {
    this.#studio = studio;
    this.#name = name;
    this.title = name;
    this.#peek = peekDurable(studio, name);
    this.#consumers = consumersTable(() => studio.now);
    this.#content.append(
      h(
        "div",
        { class: "buttons" },
        button("Send", () => sendDurable(studio, name), "main"),
        button("Peek", () => this.#peek.look()),
        this.#pause,
        this.#replay,
        button("Purge", () => purge(studio, name), "danger"),
      ),
      this.#error,
      this.#facts.element,
      this.#charts.element,
      h("section", {}, h("h2", { textContent: "Consumers" }), this.#noConsumers, this.#consumers.element),
      h("section", {}, h("h2", { textContent: "Partitions" }), this.#partitions.element),
      this.#peek.element,
    );
    this.element = h(
      "div",
      {},
      h("p", { class: "crumb" }, h("a", { href: "#/", textContent: "Queues" }), " / durable"),
      h("h1", {}, name, " ", this.#notes),
      this.#missing,
      this.#content,
    );
  }

  update() {
    const { overview, now, histories } = this.#studio;
    if (overview === null) return;
    const queue = overview.durable.find(({ queue: own, queueId }) => own === this.#name || queueId === this.#name);
    this.#missing.hidden = queue !== undefined;
    this.#content.hidden = queue === undefined;
    if (queue === undefined) return;
    showNotes(this.#notes, durableNotes(queue));
    setText(this.#pause, queue.paused ? "Resume" : "Pause");
    this.#replay.hidden = !overview.durable.some(({ consumers }) =>
      consumers.some(({ deadLetterQueue }) => deadLetterQueue === queue.queue),
    );
    this.#charts.update(now, histories.of(durableKey(queue)));
    this.#showFacts(queue);
    if (now - this.#askedAt > DETAIL_MS || overview.version !== this.#seenVersion) void this.#ask(overview.version);
    this.#showDetail();
  }

  /** @param {DurableOverview} queue */
  #showFacts(queue) {
    const { now } = this.#studio;
    const { lastDelivery } = queue;
    const failure = lastDelivery?.error ?? "";
    this.#error.hidden = failure === "";
    setText(this.#error, failure === "" ? "" : `Last delivery, ${ago(lastDelivery?.at ?? null, now)}: ${failure}`);
    const settings = this.#detail?.settings;
    this.#facts.update([
      ["Depth", count(depthOf(queue))],
      ["Ready", count(queue.ready)],
      ["Leased", count(queue.leased)],
      ["Delayed", count(queue.delayed)],
      ["Oldest", age(queue.oldestAt, now)],
      ["Bytes", bytes(queue.bytes)],
      ["Sent in all", count(queue.sent)],
      ["Last delivery", lastDelivery === null ? "–" : `${lastDelivery.outcome}, ${ago(lastDelivery.at, now)}`],
      ["Delay", settings === undefined ? "–" : span(settings.delivery_delay * 1000)],
      ["Retention", settings === undefined ? "–" : span(settings.message_retention_period * 1000)],
    ]);
  }

  /** @param {string} version */
  async #ask(version) {
    this.#askedAt = this.#studio.now;
    this.#seenVersion = version;
    try {
      this.#detail = await this.#studio.call("GET", path`/api/v1/queues/${this.#name}`);
      this.#showDetail();
    } catch (error) {
      // The queue may have gone meanwhile, which the overview says; everything else must be seen.
      this.#error.hidden = false;
      setText(this.#error, error instanceof Error ? error.message : String(error));
    }
  }

  #showDetail() {
    if (this.#detail === null) return;
    const { consumers, status } = this.#detail;
    this.#partitions.update(status.partitions);
    setAttribute(this.#consumers.element, "aria-busy", false);
    this.#noConsumers.hidden = consumers.length > 0;
    this.#consumers.element.hidden = consumers.length === 0;
    this.#consumers.update(
      consumers.map((consumer) => ({
        consumer,
        states: status.partitions.flatMap((partition) =>
          partition.consumers.filter(({ consumer_id }) => consumer_id === consumer.consumer_id),
        ),
      })),
    );
  }

  #togglePause() {
    const isPaused = this.#pause.textContent === "Resume";
    void (isPaused ? resume : pause)(this.#studio, this.#name);
  }
}

/**
 * @param {string} text
 * @param {() => void} onclick
 * @param {string} [kind]
 */
function button(text, onclick, kind = "") {
  return h("button", { type: "button", class: kind, textContent: text, onclick });
}
