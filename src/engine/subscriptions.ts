import type { Handed } from "./batch.ts";
import { COST, type EngineContext } from "./context.ts";
import { idsOf } from "./ids.ts";
import type { Queues } from "./queues.ts";
import type { Ack } from "./requests.ts";
import { Subscription, type SubscribeRequest } from "./subscription.ts";

/** Consumers that stay, by their names. One that has ended meanwhile is asked in vain. */
export class Subscriptions {
  readonly #context: EngineContext;
  readonly #queues: Queues;

  constructor(context: EngineContext, queues: Queues) {
    this.#context = context;
    this.#queues = queues;
  }

  get size(): number {
    return this.#context.subscriptions.size;
  }

  begin(request: SubscribeRequest): Subscription {
    const subscription = new Subscription(this.#context, this.#queues, request);
    this.#context.subscriptions.set(request.id, subscription);
    this.#context.memoryBytes += COST.waiter;
    this.#context.expiries.arm(subscription.expiry, request.expiresAt);
    return subscription;
  }

  /** A subscriber is about to ack: its credit for those messages is back, and is used once it goes on. */
  settle(id: string, acks: readonly Ack[], ids = idsOf(acks)): void {
    this.#context.subscriptions.get(id)?.settle(acks, ids);
  }

  /** What a subscriber still has of a batch that it was sent. */
  inBatch(id: string, number: number): Handed[] {
    return this.#context.subscriptions.get(id)?.inBatch(number) ?? [];
  }

  /** The same as {@link settle} for all that it still has of a batch. */
  settleBatch(id: string, number: number): void {
    this.#context.subscriptions.get(id)?.settleBatch(number);
  }

  /** Its acks have been carried out. */
  goOn(id: string): void {
    this.#context.subscriptions.get(id)?.park();
  }

  /** A subscriber has gone. Answers what was out, which has to be given back. */
  end(id: string): Handed[] {
    return this.#context.subscriptions.get(id)?.end(null) ?? [];
  }

  /** What a queue's subscribers had, or those of a group of it, was dropped. */
  clear(queue: string, group?: string): void {
    for (const subscription of this.#of(queue)) {
      if (group === undefined || subscription.request.group === group) subscription.clear();
    }
  }

  /** A queue was deleted. */
  queueDeleted(queue: string): void {
    for (const subscription of this.#of(queue)) subscription.end("deleted");
  }

  #of(queue: string): Subscription[] {
    return [...this.#context.subscriptions.values()].filter(({ request }) => request.queue === queue);
  }
}
