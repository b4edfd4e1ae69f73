import { path } from "./api.js";
import { showNotes } from "./cells.js";
import { Charts } from "./charts.js";
import { ask } from "./dialogs.js";
import { h, setText } from "./dom.js";
import { Facts } from "./facts.js";
import { age, bytes, count, plural } from "./format.js";
import { groupName } from "./groups.js";
import { ephemeralKey } from "./history.js";
import { ephemeralNotes } from "./list-view.js";
import { peekEphemeral } from "./peek.js";
import { pushEphemeral } from "./send.js";
import { Table } from "./table.js";

/** @import { EphemeralOverview } from "../../src/contract/overview.ts" */
/** @import { Studio, View } from "./main.js" */

/** @typedef {{ group: string, pending: number, skipped: number }} GroupDepth */
/** @typedef {{ partition: string, pending: number, bytes: number, owner: string }} PartitionDepth */
/** @typedef {{ groups: GroupDepth[], partitions: Omit<PartitionDepth, "owner">[] }} Depth */
/** @typedef {{ owners: { owner: string, partitions?: string[] }[] }} Owners */

/** Beside what the overview tells, groups and partitions are asked for this often. */
const DETAIL_MS = 3000;

/** One ephemeral queue. @implements {View} */
export class EphemeralView {
  title;
  element;
  #studio;
  #name;
  #askedAt = 0;
  #seenVersion = "";
  #notes = h("span", { class: "notes" });
  #missing = h("p", {
    class: "quiet",
    hidden: true,
    textContent: "There is no such queue now. One that is not declared goes when it is empty and untouched.",
  });
  #content = h("div");
  #problem = h("p", { class: "problem", hidden: true });
  #facts = new Facts();
  #charts = new Charts();
  #peek;
  #groups = groupsTable();
  #partitions = partitionsTable();

  /**
   * @param {Studio} studio
   * @param {string} name
   */
  constructor(studio, name) {
    this.#studio = studio;
    this.#name = name;
    this.title = name;
    this.#peek = peekEphemeral(studio, name);
    const push = () => pushEphemeral(studio, name);
    this.#content.append(
      h(
        "div",
        { class: "buttons" },
        h("button", { type: "button", class: "main", textContent: "Push", onclick: push }),
        h("button", { type: "button", textContent: "Peek", onclick: () => this.#peek.look() }),
        h("button", { type: "button", class: "danger", textContent: "Reset", onclick: () => this.#reset() }),
      ),
      this.#problem,
      this.#facts.element,
      this.#charts.element,
      h("section", {}, h("h2", { textContent: "Groups" }), this.#groups.element),
      h("section", {}, h("h2", { textContent: "Partitions" }), this.#partitions.element),
      this.#peek.element,
    );
    this.element = h(
      "div",
      {},
      h("p", { class: "crumb" }, h("a", { href: "#/", textContent: "Queues" }), " / ephemeral"),
      h("h1", {}, name, " ", this.#notes),
      this.#missing,
      this.#content,
    );
  }

  update() {
    const { overview, now, histories } = this.#studio;
    if (overview === null) return;
    const queue = overview.ephemeral.find(({ queue: own }) => own === this.#name);
    this.#missing.hidden = queue !== undefined;
    this.#content.hidden = queue === undefined;
    if (queue === undefined) return;
    showNotes(this.#notes, ephemeralNotes(queue));
    this.#facts.update(factsOf(queue, now));
    this.#charts.update(now, histories.of(ephemeralKey(queue)));
    if (now - this.#askedAt > DETAIL_MS || overview.version !== this.#seenVersion) void this.#ask(overview.version);
  }

  /** @param {string} version */
  async #ask(version) {
    this.#askedAt = this.#studio.now;
    this.#seenVersion = version;
    try {
      const query = new URLSearchParams({ queue: this.#name });
      /** @type {[Depth, Owners]} */
      const [depth, { owners }] = await Promise.all([
        this.#studio.call("GET", path`/api/v1/ephemeral/queues/${this.#name}/depth`),
        this.#studio.call("GET", `/api/v1/system/owners?${query}`),
      ]);
      const ownerOf = (/** @type {string} */ partition) =>
        owners.find(({ partitions = [] }) => partitions.includes(partition))?.owner ?? "–";
      this.#groups.update(depth.groups);
      this.#partitions.update(depth.partitions.map((part) => ({ ...part, owner: ownerOf(part.partition) })));
      this.#problem.hidden = true;
    } catch (error) {
      this.#problem.hidden = false;
      setText(this.#problem, error instanceof Error ? error.message : String(error));
    }
  }

  #reset() {
    const queue = this.#name;
    return ask({
      title: `Reset ${queue}`,
      text: "Every message of this queue is dropped, for all of its groups. Groups, partitions and options stay.",
      button: "Reset",
      typed: queue,
      run: async () => {
        /** @type {{ dropped: number }} */
        const { dropped } = await this.#studio.call("POST", "/api/v1/ephemeral/reset", { queue });
        this.#studio.done(`${plural(dropped, "message")} dropped.`);
      },
    });
  }
}

/**
 * @param {EphemeralOverview} queue
 * @param {number} now
 * @returns {[string, string][]}
 */
function factsOf({ depth, bytes: held, oldestAt, pushed, drops, options }, now) {
  return [
    ["Depth", count(depth)],
    ["Oldest", age(oldestAt, now)],
    ["Bytes", bytes(held)],
    ["Pushed since the start", count(pushed)],
    ["Dropped", count(drops.bounds + drops.ttl + drops.retry)],
    [
      "Bounds",
      `${count(options.maxLength)} and ${bytes(options.maxBytes)}, then ${options.policy === "reject" ? "refuses" : "drops the oldest"}`,
    ],
    ["Lease", `${options.leaseSeconds} s`],
    ["Retry limit", count(options.retryLimit)],
    ["TTL", options.ttlSeconds === 0 ? "none" : `${options.ttlSeconds} s`],
  ];
}

/** @returns {Table<GroupDepth>} */
function groupsTable() {
  return new Table(
    "Groups",
    [
      { name: "Group", text: ({ group }) => groupName(group) },
      {
        name: "Pending",
        isFigure: true,
        about: "Not handed out yet, or to be handed out again",
        text: ({ pending }) => count(pending),
      },
      {
        name: "Skipped",
        isFigure: true,
        about: "Dropped before this group was handed them",
        text: ({ skipped }) => count(skipped),
      },
    ],
    ({ group }) => group,
  );
}

/** @returns {Table<PartitionDepth>} */
function partitionsTable() {
  return new Table(
    "Partitions",
    [
      { name: "Partition", text: ({ partition }) => partition },
      {
        name: "Pending",
        isFigure: true,
        about: "For the group that is furthest behind",
        text: ({ pending }) => count(pending),
      },
      { name: "Bytes", isFigure: true, text: (part) => bytes(part.bytes) },
      { name: "Owner", text: ({ owner }) => owner },
    ],
    ({ partition }) => partition,
  );
}
