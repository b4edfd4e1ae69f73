import { Broker } from "./broker.ts";
import { CALLS_PER_EVENT, type Env } from "./config.ts";
import type { DurableOverview, EphemeralOverview, Overview } from "./contract/overview.ts";
import { hexOf } from "./contract/hex.ts";
import { listing } from "./listing.ts";
import { callsOfScan, readQueues, type QueueReading } from "./queue-readings.ts";
import { least, totalsOf } from "./queue-totals.ts";

/** How often a look that waits for a change is repeated. */
const LOOK_EVERY_MS = 1000;

/** Every queue of the broker at a glance, for somebody who watches. Made anew for each event: it counts its calls. */
export class Watch {
  readonly #env: Env;
  readonly #broker: Broker;
  #callsLeft: number;

  constructor(env: Env) {
    this.#env = env;
    this.#broker = new Broker(env);
    this.#callsLeft = CALLS_PER_EVENT[this.#broker.config.plan];
  }

  /**
   * Looks until there is another version than `after`, at least once. Over after `waitMs`, when the event may make no more
   * calls, or at the end of `signal`; the version is then the one that was known.
   */
  async next(after: string | null, waitMs: number, signal: AbortSignal): Promise<Overview> {
    const until = Date.now() + waitMs;
    for (;;) {
      const callsBefore = this.#callsLeft;
      const overview = await this.#look();
      const isLast = this.#callsLeft < callsBefore - this.#callsLeft || Date.now() + LOOK_EVERY_MS > until;
      if (overview.version !== after || isLast || signal.aborted) return overview;
      await scheduler.wait(LOOK_EVERY_MS);
    }
  }

  async #look(): Promise<Overview> {
    const [ephemeral, readings] = await Promise.all([this.#ephemeral(), readQueues(this.#env, this.#callsLeft)]);
    const asked = readings.reduce((sum, { partitions, unreachable }) => sum + partitions.length + unreachable, 0);
    this.#callsLeft -= callsOfScan(this.#broker.config) + asked;
    const queues = { durable: readings.map(durableOverview).sort(byName), ephemeral };
    return { version: await versionOf(queues), now: Date.now(), ...queues };
  }

  async #ephemeral(): Promise<EphemeralOverview[]> {
    const shares = await this.#broker.watchedShares();
    const sharesOf = Map.groupBy(shares.flat(), ({ queue }) => queue);
    return listing(shares).queues.map((listed) => {
      const held = sharesOf.get(listed.queue) ?? [];
      const pushed = held.reduce((sum, share) => sum + share.pushed, 0);
      return { ...listed, pushed, oldestAt: least(held.map(({ oldestAt }) => oldestAt)) };
    });
  }
}

function durableOverview(reading: QueueReading): DurableOverview {
  const { queue, queueId, isPaused, consumers, partitions, unreachable, skipped } = reading;
  const { readyCount, delayedCount, leasedCount, latest, ...totals } = totalsOf(partitions);
  return {
    queue,
    queueId,
    paused: isPaused,
    consumers,
    partitions: partitions.length + unreachable + skipped,
    unreachable,
    skipped,
    ready: readyCount,
    delayed: delayedCount,
    leased: leasedCount,
    ...totals,
    lastDelivery:
      latest === null || latest.lastDeliveryAt === null
        ? null
        : { at: latest.lastDeliveryAt, outcome: latest.lastOutcome, error: latest.lastError },
  };
}

function byName(a: DurableOverview, b: DurableOverview): number {
  return a.queue < b.queue ? -1 : 1;
}

async function versionOf(queues: object): Promise<string> {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(JSON.stringify(queues)));
  return hexOf(hash.slice(0, 12));
}
