/** @import { DurableOverview, EphemeralOverview, Overview } from "../../src/contract/overview.ts" */

/** How far charts reach back. */
export const REACH_MS = 120_000;
/** Over how long a rate is taken. */
const RATE_MS = 5000;

/** @typedef {{ at: number, depth: number, came: number, left: number }} Sample */
/** @typedef {{ came: number, left: number }} Rates */

/** What was seen of one queue in the last two minutes, by this page. */
export class QueueHistory {
  /** @type {Sample[]} */
  samples = [];

  /** @param {Sample} sample */
  add(sample) {
    const last = this.samples.at(-1);
    // The counts of ephemeral queues begin anew with their owners.
    if (last !== undefined && sample.came < last.came) this.samples = [];
    this.samples.push(sample);
    const from = sample.at - REACH_MS;
    while (this.samples.length > 2 && (this.samples[1]?.at ?? 0) < from) this.samples.shift();
  }

  /**
   * What came and left per second, around a time.
   *
   * @param {number} at
   * @returns {Rates}
   */
  ratesAt(at) {
    const [from, to] = [this.#at(at - RATE_MS), this.#at(at)];
    if (from === undefined || to === undefined || to.at <= from.at) return { came: 0, left: 0 };
    // What did not change since was not sampled.
    const seconds = Math.max(1, (at - Math.max(from.at, at - RATE_MS)) / 1000);
    return {
      came: Math.max(0, to.came - from.came) / seconds,
      left: Math.max(0, to.left - from.left) / seconds,
    };
  }

  /**
   * The latest sample that is no later; the first one if all are.
   *
   * @param {number} at
   */
  #at(at) {
    return this.samples.findLast((sample) => sample.at <= at) ?? this.samples[0];
  }

  /**
   * A value for every two seconds up to now.
   *
   * @param {number} now
   * @param {(sample: Sample) => number} read
   */
  depths(now, read = ({ depth }) => depth) {
    const first = this.samples[0]?.at ?? now;
    return steps(now, first).map((at) => {
      const sample = this.#at(at);
      return { at, value: sample === undefined ? 0 : read(sample) };
    });
  }

  /**
   * @param {number} now
   * @param {keyof Rates} which
   */
  rates(now, which) {
    const first = this.samples[0]?.at ?? now;
    return steps(now, first).map((at) => ({ at, value: this.ratesAt(at)[which] }));
  }
}

/**
 * @param {number} now
 * @param {number} first
 */
function steps(now, first) {
  const from = Math.max(first, now - REACH_MS);
  const times = [];
  for (let at = now; at >= from; at -= 2000) times.push(at);
  return times.toReversed();
}

/** The histories of all queues. */
export class Histories {
  /** @type {Map<string, QueueHistory>} */
  #byKey = new Map();

  /** @param {Overview} overview */
  add({ now, durable, ephemeral }) {
    const seen = new Set();
    for (const queue of durable) seen.add(this.#note(durableKey(queue), now, durableSample(queue)));
    for (const queue of ephemeral) seen.add(this.#note(ephemeralKey(queue), now, ephemeralSample(queue)));
    for (const key of this.#byKey.keys()) if (!seen.has(key)) this.#byKey.delete(key);
  }

  /**
   * @param {string} key
   * @param {number} at
   * @param {Omit<Sample, "at">} sample
   */
  #note(key, at, sample) {
    const history = this.of(key);
    history.add({ at, ...sample });
    this.#byKey.set(key, history);
    return key;
  }

  /** @param {string} key */
  of(key) {
    return this.#byKey.get(key) ?? new QueueHistory();
  }
}

/** @param {Pick<DurableOverview, "queueId">} queue */
export function durableKey({ queueId }) {
  return `durable ${queueId}`;
}

/** @param {Pick<EphemeralOverview, "queue">} queue */
export function ephemeralKey({ queue }) {
  return `ephemeral ${queue}`;
}

/** @param {DurableOverview} queue */
export function depthOf({ ready, delayed, leased }) {
  return ready + delayed + leased;
}

/** @param {DurableOverview} queue */
function durableSample(queue) {
  const depth = depthOf(queue);
  return { depth, came: queue.sent, left: queue.sent - depth };
}

/** @param {EphemeralOverview} queue */
function ephemeralSample({ depth, pushed }) {
  return { depth, came: pushed, left: pushed - depth };
}
