import { MAX_UNREAD_BYTES, MAX_UNSETTLED_BYTES } from "../contract/limits.ts";
import type { Batch, Handed } from "./batch.ts";
import { COST, type EngineContext } from "./context.ts";
import { RANK, type Due } from "./deadlines.ts";
import type { Ack } from "./requests.ts";
import { parseMessageId } from "./ids.ts";
import type { Queues } from "./queues.ts";
import { UnsettledMessages, type Unsettled } from "./unsettled.ts";
import { Waiter } from "./waiter.ts";

export interface SubscribeRequest {
  /** Names the subscription. */
  id: string;
  queue: string;
  /** null = any partition. */
  partition: string | null;
  group: string;
  /** How many messages may be out unsettled. */
  prefetch: number;
  /** When it ends by itself, in ms; `Infinity` = never. */
  expiresAt: number;
}

/** Why the broker ends a subscription: its token has run out, its queue was deleted, or it does not read what it is sent. */
export type SubscriptionEnd = "expired" | "deleted" | "slow";

/**
 * A consumer that stays. It is a pop that parks again, at the end of the line, as long as it has credit: `prefetch`
 * messages may be out, until they are acked or their leases end. A pop with no end has no deadline, so that an owner
 * with nothing but subscribers on empty queues can go to sleep.
 */
export class Subscription implements Due {
  dueAt = 0;
  slot = -1;
  readonly rank = RANK.subscription;
  readonly expiry: Due;
  waiter: Waiter | null = null;
  ended = false;
  readonly #context: EngineContext;
  readonly #queues: Queues;
  readonly #unsettled = new UnsettledMessages();
  #sent = 0;
  /** How much of that has been read for certain: an ack proves that everything before its message was. */
  #read = 0;

  constructor(
    context: EngineContext,
    queues: Queues,
    readonly request: SubscribeRequest,
  ) {
    this.#context = context;
    this.#queues = queues;
    this.expiry = { dueAt: 0, slot: -1, rank: RANK.subscription, onDue: () => this.end("expired") };
  }

  /** Waits for messages, unless it waits already or has no credit. */
  park(): void {
    const { id, queue: name, partition, group: groupName, prefetch } = this.request;
    const credit = prefetch - this.#unsettled.size;
    if (this.ended || this.waiter !== null || credit <= 0 || this.#unsettled.chars >= MAX_UNSETTLED_BYTES) return;
    if (this.#sent - this.#read > MAX_UNREAD_BYTES) {
      this.end("slow");
      return;
    }
    const queue = this.#queues.get(name) ?? this.#queues.create(name);
    const { group, cursor } = queue.enter(partition, groupName);
    const arrival = this.#context.nextArrival++;
    this.waiter = new Waiter(id, group, cursor, credit, false, Infinity, arrival, this);
    group.parking.park(this.waiter);
    if (partition === null) this.#context.effects.attend(name, groupName);
  }

  /** It has been served. */
  deliver(batch: Batch): void {
    this.waiter = null;
    if (this.ended || batch.count === 0) return;
    this.#note(batch);
    this.#context.effects.deliver(this.request.id, batch);
    this.park();
  }

  #note({ items, handed }: Batch): void {
    const queue = this.#queues.get(this.request.queue);
    const leaseEndsAt = this.#context.now + (queue?.options.leaseSeconds ?? 0) * 1000;
    let item = 0;
    for (const { partition, seqs, attempts } of handed) {
      for (const [index, seq] of seqs.entries()) {
        const chars = items[item++]?.length ?? 0;
        this.#sent += chars;
        this.#forget(this.#unsettled.get(partition, seq));
        this.#unsettled.add({ partition, seq, attempts: attempts[index] ?? 1, chars, sent: this.#sent, leaseEndsAt });
        this.#context.unsettled++;
      }
    }
    if (this.slot < 0) this.#context.deadlines.arm(this, leaseEndsAt);
  }

  #forget(message: Unsettled | undefined): void {
    if (message === undefined) return;
    this.#unsettled.delete(message);
    this.#context.unsettled--;
  }

  /**
   * Its client has said what became of messages, whatever will come of that: they are no longer in its hands. The credit
   * is used with the next {@link park}, once the acks have been carried out: what they bring back comes first.
   */
  settle(acks: readonly Ack[]): void {
    for (const { id: text, attempts } of acks) {
      const id = parseMessageId(text);
      if (id === null) continue;
      const known = this.#unsettled.get(id.partition, id.seq);
      if (known === undefined || (attempts !== undefined && attempts !== known.attempts)) continue;
      this.#forget(known);
      this.#read = Math.max(this.#read, known.sent);
    }
    if (this.#unsettled.size === 0) this.#context.deadlines.disarm(this);
  }

  /** Nothing is out any more: the leases were dropped with what they were on. */
  clear(): void {
    for (const message of this.#unsettled.values()) this.#forget(message);
    this.#context.deadlines.disarm(this);
    this.park();
  }

  /** Leases have ended: those messages go to somebody else, or come again. */
  onDue(): void {
    const { now, deadlines } = this.#context;
    for (const message of this.#unsettled.values()) if (message.leaseEndsAt <= now) this.#forget(message);
    const next = this.#unsettled.nextLeaseEnd();
    // Leases that a declaration has made shorter meanwhile wait for those before them.
    if (next !== null) deadlines.arm(this, next);
    this.park();
  }

  /** Takes it out of everything. `why` = the broker ends it, and tells the client. Answers what was out. */
  end(why: SubscriptionEnd | null): Handed[] {
    if (this.ended) return [];
    this.ended = true;
    const { id, queue: name, partition, group } = this.request;
    const out = this.#handed();
    for (const message of this.#unsettled.values()) this.#forget(message);
    this.#context.deadlines.disarm(this);
    this.#context.expiries.disarm(this.expiry);
    this.#context.subscriptions.delete(id);
    this.#context.memoryBytes -= COST.waiter;
    const { waiter } = this;
    if (waiter !== null) waiter.group.parking.cancel(waiter);
    this.waiter = null;
    this.#queues.get(name)?.unsubscribed(group, partition);
    if (why !== null) this.#context.effects.ended(id, why, out);
    return out;
  }

  #handed(): Handed[] {
    const byPartition = new Map<string, Handed>();
    for (const { partition, seq, attempts } of this.#unsettled.values()) {
      let handed = byPartition.get(partition);
      if (handed === undefined) byPartition.set(partition, (handed = { partition, seqs: [], attempts: [] }));
      handed.seqs.push(seq);
      handed.attempts.push(attempts);
    }
    return [...byPartition.values()];
  }
}
