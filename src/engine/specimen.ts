import type { EngineSettings } from "../contract/options.ts";
import { Batch } from "./batch.ts";
import { Engine } from "./engine.ts";

const SETTINGS: EngineSettings = {
  queueMaxBytes: 1000,
  queueMaxLength: 10,
  leaseSeconds: 30,
  retryLimit: 5,
  groupIdleSeconds: 300,
  implicitIdleMs: 300_000,
  maxWaiters: 10,
};

/** As large as the times of an owner: V8 tells numbers of this size from small ones. */
const NOW = 2 ** 41;

const nothing = (): void => {};

/**
 * An engine that nobody asks anything, with one of each object that comes and goes with messages: waiting, leased, parked,
 * subscribed. It is there to be kept.
 */
export function specimen(): object[] {
  const engine = new Engine({
    incarnation: "0",
    settings: SETTINGS,
    isHome: () => true,
    isHere: () => true,
    hasRoom: () => true,
    effects: {
      answer: nothing,
      deliver: nothing,
      ended: nothing,
      attend: nothing,
      available: nothing,
      gather: nothing,
      askIdle: nothing,
      groupForgotten: nothing,
      queueCollected: nothing,
      log: nothing,
    },
  });
  engine.start(NOW);
  const queue = "q";
  const subscriber = { id: "s", queue, partition: "p", group: "g", prefetch: 1, expiresAt: Infinity };
  const pop = { queue, partition: "p", group: "h", batch: 2, autoAck: false, waitMs: 1000, waiterId: "w" };
  engine.subscribe(subscriber);
  engine.push(queue, "p", ["1", "2"], true);
  engine.pop(pop);
  engine.pop(pop);
  return [engine, new Batch(1)];
}
