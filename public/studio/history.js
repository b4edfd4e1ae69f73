/** @import { DurableOverview, EphemeralOverview, Overview } from "../../src/contract/overview.ts" */

/** How far charts reach back. */
export const REACH_MS = 120_000;
/** Over how long a rate is taken. */
const RATE_MS = 5000;
/** The longest time between two looks while something changes. */
const LOOK_MS = 2000;

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
   * What came and left per second in the time before.
   *
   * @param {number} at
   * @returns {Rates}
   */
  ratesAt(at) {
    const first = this.samples[0];
    const last = this.samples.at(-1);
    if (first === undefined || last === undefined) return { came: 0, left: 0 };
    // What has happened since the last look is not known yet.
    const to = at - last.at < LOOK_MS ? Math.min(at, last.at) : at;
    const from = Math.max(to - RATE_MS, first.at);
    const perSecond = (/** @type {keyof Rates} */ which) =>
      to - from < LOOK_MS / 2
        ? 0
        : Math.max(0, this.#countAt(to, which) - this.#countAt(from, which)) / ((to - from) / 1000);
    return { came: perSecond("came"), left: perSecond("left") };
  }

  /**
   * A count between two samples: a change is seen by the next look, so it has come about just before its sample.
   *
   * @param {number} at
   * @param {keyof Rates} which
   */
  #countAt(at, which) {
    const index = Math.max(
      0,
      this.samples.findLastIndex((sample) => sample.at <= at),
    );
    const [before, after] = [this.samples[index], this.samples[index + 1]];
    if (before === undefined) return 0;
    if (after === undefined) return before[which];
    const from = Math.max(before.at, after.at - LOOK_MS);
    const share = Math.min(1, Math.max(0, (at - from) / (after.at - from)));
    return before[which] + share * (after[which] - before[which]);
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
