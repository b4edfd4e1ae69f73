import { textOf } from "./api.js";
import { linkCell } from "./cells.js";
import { h, setText } from "./dom.js";
import { Facts } from "./facts.js";
import { count } from "./format.js";
import { durableKey } from "./history.js";
import { Table } from "./table.js";

/** @import { DurableOverview, EphemeralOverview } from "../../src/contract/overview.ts" */
/** @import { Studio, View } from "./main.js" */

/** How often the counters of the owners are read. */
const METRICS_MS = 10_000;

/** What each column counts. */
const MEANINGS = [
  [
    "Dead-lettered",
    "Given up after the last retry, and sent to the consumer’s dead-letter queue. Nothing is lost: replay them from there.",
  ],
  ["Exhausted", "Given up after the last retry, where the consumer has no dead-letter queue. Lost."],
  ["Expired", "Older than the queue’s retention, or in an ephemeral queue than its TTL. Lost."],
  ["Purged", "Removed by somebody on purpose."],
  ["Bounds", "Evicted by newer messages: the ephemeral queue was full, and its policy is dropOldest. Lost."],
  ["Retry limit", "Handed out as often as the ephemeral queue allows, and not acked. Lost."],
  [
    "Idle groups",
    "Messages that a group was still owed when it was forgotten, since it had popped nothing for too long.",
  ],
  [
    "Wipes",
    "Owners that started after a life that did not end asleep: what they took in since their last checkpoint is lost.",
  ],
];

/** What has left without being acked, and why. @implements {View} */
export class LossesView {
  title = "Losses";
  element;
  #studio;
  #durable;
  #ephemeral;
  #owners = new Facts();
  #problem = h("p", { class: "problem", hidden: true });
  #askedAt = 0;

  /** @param {Studio} studio */
  constructor(studio) {
    this.#studio = studio;
    this.#durable = durableTable();
    this.#ephemeral = ephemeralTable();
    this.element = h(
      "div",
      {},
      h("h1", { textContent: "Losses and drops" }),
      h("p", { class: "quiet about", textContent: "Every message that left without being acked, by cause." }),
      h(
        "section",
        {},
        h("h2", { textContent: "Durable queues" }),
        h("p", { class: "quiet about", textContent: "Since each queue was made." }),
        this.#durable.element,
      ),
      h(
        "section",
        {},
        h("h2", { textContent: "Ephemeral queues" }),
        h("p", { class: "quiet about", textContent: "Since each queue came into being." }),
        this.#ephemeral.element,
      ),
      h("section", {}, h("h2", { textContent: "Owners of ephemeral queues" }), this.#problem, this.#owners.element),
      h(
        "section",
        {},
        h("h2", { textContent: "What they mean" }),
        h(
          "dl",
          { class: "meanings" },
          ...MEANINGS.map(([name, meaning]) =>
            h("div", {}, h("dt", { textContent: name }), h("dd", { textContent: meaning })),
          ),
        ),
      ),
    );
  }

  update() {
    const { overview, now } = this.#studio;
    if (overview === null) return;
    this.#durable.update(overview.durable);
    this.#ephemeral.update(overview.ephemeral);
    if (now - this.#askedAt > METRICS_MS) void this.#ask();
  }

  async #ask() {
    this.#askedAt = this.#studio.now;
    try {
      const metrics = await textOf("GET", "/metrics");
      this.#owners.update([
        ["Wipes", count(metric(metrics, "waggle_ephemeral_wipes_total"))],
        ["Idle groups", count(metric(metrics, 'waggle_ephemeral_dropped_total{cause="group_idle"}'))],
      ]);
      this.#problem.hidden = true;
    } catch (error) {
      this.#problem.hidden = false;
      setText(this.#problem, error instanceof Error ? error.message : String(error));
    }
  }
}

/**
 * The value of one series of a Prometheus text.
 *
 * @param {string} metrics
 * @param {string} series
 */
function metric(metrics, series) {
  const line = metrics.split("\n").find((each) => each.startsWith(`${series} `));
  return line === undefined ? 0 : Number(line.slice(series.length));
}

/** @returns {Table<DurableOverview>} */
function durableTable() {
  return new Table(
    "Losses of durable queues",
    [
      { name: "Queue", make: () => linkCell("durable", () => []) },
      { name: "Dead-lettered", isFigure: true, text: ({ deadLettered }) => count(deadLettered) },
      { name: "Exhausted", isFigure: true, text: ({ dropped }) => count(dropped.exhausted) },
      { name: "Expired", isFigure: true, text: ({ dropped }) => count(dropped.expired) },
      { name: "Purged", isFigure: true, text: ({ dropped }) => count(dropped.purged) },
    ],
    durableKey,
  );
}

/** @returns {Table<EphemeralOverview>} */
function ephemeralTable() {
  return new Table(
    "Losses of ephemeral queues",
    [
      { name: "Queue", make: () => linkCell("ephemeral", () => []) },
      { name: "Bounds", isFigure: true, text: ({ drops }) => count(drops.bounds) },
      { name: "Expired", isFigure: true, text: ({ drops }) => count(drops.ttl) },
      { name: "Retry limit", isFigure: true, text: ({ drops }) => count(drops.retry) },
    ],
    ({ queue }) => queue,
  );
}
