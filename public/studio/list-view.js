import { h, setText } from "./dom.js";
import { age, ago, bytes, count, plural } from "./format.js";
import { depthOf, durableKey, ephemeralKey } from "./history.js";
import { chartCell, linkCell, rateCell } from "./cells.js";
import { Table } from "./table.js";

/** @import { DurableOverview, EphemeralOverview } from "../../src/contract/overview.ts" */
/** @import { Studio, View } from "./main.js" */

/** All queues. @implements {View} */
export class ListView {
  title = "Queues";
  element = h("div");
  #studio;
  #filter = h("input", { type: "search", autocomplete: "off", spellcheck: false, oninput: () => this.update() });
  #durable;
  #ephemeral;

  /** @param {Studio} studio */
  constructor(studio) {
    this.#studio = studio;
    this.#durable = new Section("Durable queues", "On disk until they are settled.", durableTable(studio));
    this.#ephemeral = new Section("Ephemeral queues", "In memory, for what is soon consumed.", ephemeralTable(studio));
    this.element.append(
      h(
        "div",
        { class: "bar" },
        h("h1", { textContent: "Queues" }),
        h("label", { class: "filter" }, h("span", { textContent: "Filter by name" }), this.#filter),
      ),
      this.#durable.element,
      this.#ephemeral.element,
    );
  }

  update() {
    const { overview } = this.#studio;
    if (overview === null) return;
    const wanted = this.#filter.value.trim().toLowerCase();
    const isWanted = (/** @type {{ queue: string }} */ { queue }) => queue.toLowerCase().includes(wanted);
    this.#durable.update(overview.durable.filter(isWanted), overview.durable.length);
    this.#ephemeral.update(overview.ephemeral.filter(isWanted), overview.ephemeral.length);
  }
}

/** @template T */
class Section {
  #count = h("span", { class: "count" });
  #none = h("p", { class: "quiet" });
  #table;
  element;

  /**
   * @param {string} title
   * @param {string} about
   * @param {Table<T>} table
   */
  constructor(title, about, table) {
    this.#table = table;
    const heading = h("h2", {}, `${title} `, this.#count);
    this.element = h(
      "section",
      {},
      heading,
      h("p", { class: "quiet about", textContent: about }),
      this.#none,
      table.element,
    );
  }

  /**
   * @param {readonly T[]} shown
   * @param {number} total
   */
  update(shown, total) {
    setText(this.#count, shown.length === total ? count(total) : `${count(shown.length)} of ${count(total)}`);
    this.#table.element.hidden = shown.length === 0;
    this.#none.hidden = shown.length > 0;
    setText(this.#none, total === 0 ? "There are none yet." : "None has such a name.");
    this.#table.update(shown);
  }
}

/**
 * @param {Studio} studio
 * @returns {Table<DurableOverview>}
 */
function durableTable(studio) {
  const historyOf = (/** @type {DurableOverview} */ queue) => studio.histories.of(durableKey(queue));
  return new Table(
    "Durable queues",
    [
      { name: "Queue", make: () => linkCell("durable", durableNotes) },
      {
        name: "Depth",
        isFigure: true,
        about: "Ready, delayed and leased messages",
        text: (queue) => count(depthOf(queue)),
      },
      { name: "Last 2 minutes", make: () => chartCell(studio, historyOf) },
      { name: "In", isFigure: true, about: "Messages sent, a second", make: () => rateCell(studio, historyOf, "came") },
      {
        name: "Out",
        isFigure: true,
        about: "Messages that left, a second",
        make: () => rateCell(studio, historyOf, "left"),
      },
      { name: "Oldest", isFigure: true, text: ({ oldestAt }) => age(oldestAt, studio.now) },
      { name: "Bytes", isFigure: true, text: (queue) => bytes(queue.bytes) },
      { name: "Leased", isFigure: true, text: ({ leased }) => count(leased) },
      { name: "Delayed", isFigure: true, text: ({ delayed }) => count(delayed) },
      { name: "Consumers", isFigure: true, text: ({ consumers }) => count(consumers.length) },
      { name: "Last delivery", isFigure: true, text: ({ lastDelivery }) => ago(lastDelivery?.at ?? null, studio.now) },
    ],
    durableKey,
  );
}

/**
 * What the list says of a queue beside its figures.
 *
 * @param {DurableOverview} queue
 * @returns {[text: string, kind: string][]}
 */
export function durableNotes({ paused, lastDelivery, unreachable, skipped }) {
  /** @type {[string, string][]} */
  const notes = [];
  if (paused) notes.push(["paused", "warn"]);
  if (lastDelivery?.outcome === "error") notes.push(["failing", "bad"]);
  if (lastDelivery?.outcome === "unreachable") notes.push(["consumer unreachable", "bad"]);
  if (unreachable > 0) notes.push([`${plural(unreachable, "partition")} unreachable`, "bad"]);
  if (skipped > 0) notes.push([`${plural(skipped, "partition")} not asked, by the plan's limit of calls`, "warn"]);
  return notes;
}

/**
 * @param {Studio} studio
 * @returns {Table<EphemeralOverview>}
 */
function ephemeralTable(studio) {
  const historyOf = (/** @type {EphemeralOverview} */ queue) => studio.histories.of(ephemeralKey(queue));
  return new Table(
    "Ephemeral queues",
    [
      { name: "Queue", make: () => linkCell("ephemeral", ephemeralNotes) },
      {
        name: "Depth",
        isFigure: true,
        about: "Messages held, leased ones included",
        text: ({ depth }) => count(depth),
      },
      { name: "Last 2 minutes", make: () => chartCell(studio, historyOf) },
      {
        name: "In",
        isFigure: true,
        about: "Messages pushed, a second",
        make: () => rateCell(studio, historyOf, "came"),
      },
      {
        name: "Out",
        isFigure: true,
        about: "Messages that left, a second",
        make: () => rateCell(studio, historyOf, "left"),
      },
      { name: "Oldest", isFigure: true, text: ({ oldestAt }) => age(oldestAt, studio.now) },
      { name: "Bytes", isFigure: true, text: (queue) => bytes(queue.bytes) },
      { name: "Partitions", isFigure: true, text: ({ partitions }) => count(partitions) },
      { name: "Groups", isFigure: true, text: ({ groups }) => count(groups) },
      { name: "Dropped", isFigure: true, text: ({ drops }) => count(drops.bounds + drops.ttl + drops.retry) },
    ],
    ephemeralKey,
  );
}

/**
 * @param {EphemeralOverview} queue
 * @returns {[text: string, kind: string][]}
 */
export function ephemeralNotes({ tier }) {
  return tier === "declared" ? [["declared", ""]] : [];
}
