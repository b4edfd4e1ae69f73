import type { Partition } from "../durable/partition.ts";

interface Waiter {
  cursor: number;
  resolve(isReady: boolean): void;
}

/** Pull clients that wait for messages. */
export class PullWaiters {
  readonly #waiters = new Set<Waiter>();

  /** Resolves with whether something has become ready within `waitMs`. */
  wait(cursor: number, waitMs: number): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const late = setTimeout(() => done(false), waitMs);
    const done = (isReady: boolean) => {
      clearTimeout(late);
      this.#waiters.delete(waiter);
      resolve(isReady);
    };
    const waiter = { cursor, resolve: done };
    this.#waiters.add(waiter);
    return promise;
  }

  /** Wakes those for whom something is ready. Answers when that will next be so of itself for one of the others. */
  wake(partition: Partition, now: number): number | undefined {
    let next: number | undefined;
    for (const cursor of this.#waiters.size === 0 ? [] : partition.cursors) {
      const waiting = [...this.#waiters].filter((waiter) => waiter.cursor === cursor.number);
      if (waiting.length === 0) continue;
      if (partition.hasReady(cursor, now)) for (const { resolve } of waiting) resolve(true);
      else next = Math.min(next ?? Infinity, partition.nextReady(cursor) ?? Infinity);
    }
    return next === Infinity ? undefined : next;
  }

  /** Everybody looks again for themselves. */
  clear(): void {
    // Deleting what was visited does no harm to the iteration of a Set.
    for (const { resolve } of this.#waiters) resolve(true);
  }
}
