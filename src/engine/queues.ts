import { effectiveOptions, type DeclaredOptions } from "../contract/options.ts";
import type { EngineContext } from "./context.ts";
import { Queue } from "./queue.ts";
import { isInTransit } from "./transit.ts";
import { Waiter } from "./waiter.ts";

/** The queues of an owner, by name: how they come and go, and what becomes of the pops that are parked on them. */
export class Queues extends Map<string, Queue> {
  readonly #context: EngineContext;
  readonly #isHome: (queue: string) => boolean;

  constructor(context: EngineContext, isHome: (queue: string) => boolean) {
    super();
    this.#context = context;
    this.#isHome = isHome;
    context.collect = (queue) => {
      this.forget(queue);
      context.effects.queueCollected(queue.name);
    };
  }

  /** What is in transit is judged by nobody else. */
  isHome(name: string): boolean {
    return isInTransit(name) || this.#isHome(name);
  }

  /** `options` = null: an implicit queue. */
  create(name: string, options: DeclaredOptions | null = null): Queue {
    const effective = effectiveOptions(options, this.#context.settings);
    const queue = new Queue(this.#context, name, this.isHome(name), effective, options !== null);
    this.set(name, queue);
    return queue;
  }

  forget(queue: Queue): void {
    queue.close();
    this.delete(queue.name);
  }

  /** Takes parked pops out of their lines, for what they stand on is about to go. */
  unpark(chosen: (waiter: Waiter) => boolean): Waiter[] {
    const parked = [...this.#context.waiters.values()].filter((waiter) => !waiter.detached && chosen(waiter));
    for (const waiter of parked) waiter.group.parking.unpark(waiter);
    return parked;
  }

  /** Parks them again, in their order, on what stands there under the same names, or on something new. */
  repark(parked: readonly Waiter[]): void {
    for (const { id, group, cursor, batch, autoAck, timeoutAt, arrival, subscription } of parked) {
      if (subscription?.ended) continue;
      const queue = this.get(group.queue.name) ?? this.create(group.queue.name);
      const anew = queue.enter(cursor === null ? null : cursor.ring.partition, group.name);
      const waiter = new Waiter(id, anew.group, anew.cursor, batch, autoAck, timeoutAt, arrival, subscription);
      if (subscription !== null) subscription.waiter = waiter;
      anew.group.parking.park(waiter);
    }
  }
}
