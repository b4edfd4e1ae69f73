import { MAX_FRAME_CHARS, MAX_UNREAD_BYTES, MAX_UNSETTLED_BYTES } from "../contract/limits.ts";
import type { Batch, Handed } from "./batch.ts";
import { COST, type EngineContext } from "./context.ts";
import { RANK, type Due } from "./deadlines.ts";
import type { Ack } from "./requests.ts";
import type { MessageId } from "./ids.ts";
import type { Queues } from "./queues.ts";
import { UnsettledMessages } from "./unsettled.ts";
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
  readonly #unsettled: UnsettledMessages;

  constructor(
    context: EngineContext,
    queues: Queues,
    readonly request: SubscribeRequest,
  ) {
    this.#context = context;
    this.#queues = queues;
    this.#unsettled = new UnsettledMessages(context.now);
    this.expiry = { dueAt: 0, slot: -1, rank: RANK.subscription, onDue: () => this.end("expired") };
  }

  /** Waits for messages, unless it waits already or has no credit. */
  park(): void {
    const { id, queue: name, partition, group: groupName, prefetch } = this.request;
    const credit = prefetch - this.#unsettled.size;
    if (this.ended || this.waiter !== null || credit <= 0 || this.#unsettled.chars >= MAX_UNSETTLED_BYTES) return;
    if (this.#unsettled.sentChars - this.#unsettled.readChars > MAX_UNREAD_BYTES) {
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

  /** It has been served. A client gets no more at once than it can read in one go. */
  deliver(batch: Batch): void {
    this.waiter = null;
    if (this.ended) return;
    while (batch.count > 0) {
      const fitting = countWithin(batch.items, MAX_FRAME_CHARS);
      const frame = fitting === batch.count ? batch : batch.split(fitting);
      const number = this.#note(frame);
      this.#context.effects.deliver(this.request.id, number, frame);
      if (frame === batch) break;
    }
    this.park();
  }

  #note({ items, handed }: Batch): number {
    const leaseSeconds = this.#queues.get(this.request.queue)?.options.leaseSeconds ?? 0;
    const leaseEndsAt = this.#context.now + leaseSeconds * 1000;
    const lengths = items.map(({ length }) => length);
    return this.#changed(() => this.#unsettled.add(handed, lengths, leaseEndsAt));
  }

  /** Keeps what depends on how much is out. */
  #changed<T>(change: () => T): T {
    const before = this.#unsettled.size;
    const result = change();
    this.#context.unsettled += this.#unsettled.size - before;
    const next = this.#unsettled.nextLeaseEnd;
    if (next === null) this.#context.deadlines.disarm(this);
    else if (this.slot < 0) this.#context.deadlines.arm(this, next);
    return result;
  }

  /**
   * Its client has said what became of messages, whatever will come of that: they are no longer in its hands. The credit
   * is used with the next {@link park}, once the acks have been carried out: what they bring back comes first. `ids` is what
   * the acks' ids say.
   */
  settle(acks: readonly Ack[], ids: readonly (MessageId | null)[]): void {
    this.#changed(() => {
      for (let i = 0; i < acks.length; i++) {
        const id = ids[i] ?? null;
        if (id !== null) this.#unsettled.settle(id.partition, id.seq, acks[i]?.attempts);
      }
    });
  }

  /** What is still out of a batch that it was sent. */
  inBatch(number: number): Handed[] {
    return this.#unsettled.inBatch(number);
  }

  /** The same as {@link settle} for what is still out of a batch. */
  settleBatch(number: number): void {
    this.#changed(() => this.#unsettled.settleBatch(number));
  }

  /** Nothing is out any more: the leases were dropped with what they were on. */
  clear(): void {
    this.#changed(() => this.#unsettled.clear());
    this.park();
  }

  /** Leases have ended: those messages go to somebody else, or come again. */
  onDue(): void {
    this.#changed(() => this.#unsettled.expire(this.#context.now));
    this.park();
  }

  /** Takes it out of everything. `why` = the broker ends it, and tells the client. Answers what was out. */
  end(why: SubscriptionEnd | null): Handed[] {
    if (this.ended) return [];
    this.ended = true;
    const { id, queue: name, partition, group } = this.request;
    const out = this.#changed(() => this.#unsettled.clear());
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
}

/** How many texts, of which the first always does, fit into so many characters. */
function countWithin(texts: readonly string[], maxChars: number): number {
  let chars = 0;
  for (let count = 0; count < texts.length; count++) {
    chars += texts[count]?.length ?? 0;
    if (count > 0 && chars > maxChars) return count;
  }
  return texts.length;
}
