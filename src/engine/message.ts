import type { Cursor } from "./cursor.ts";
import type { Slotted } from "./heap.ts";
import type { Segment } from "./ledger.ts";
import type { Linked } from "./list.ts";
import type { Position } from "./positions.ts";
import type { Ring } from "./ring.ts";

/** One message of a ring. It sits in memory once, however many groups read it. */
export class Message implements Linked<Message> {
  prev: Message | null = null;
  next: Message | null = null;
  /** Where the groups stand that are to be handed this message next. */
  position: Position | null = null;
  /** What it was written with; null = it is only in memory. */
  segment: Segment | null = null;
  /** What has been handed over and not settled, one entry per group. */
  deliveries: Delivery | null = null;

  constructor(
    readonly ring: Ring,
    /** Counts up over the whole owner, so that no id is used twice in an incarnation. */
    readonly seq: number,
    /** The exact JSON text that was sent. */
    readonly payload: string,
    /** UTF-8 length of the payload: what the queue's bounds count. */
    readonly bytes: number,
    /** What the payload takes in memory. */
    readonly width: number,
    readonly pushedAt: number,
  ) {}
}

/** Where a delivery stands. `expired` still honours a late ack; `returned` was given back by its holder. */
export type DeliveryState = "leased" | "expired" | "returned";

/** A message that a group was handed and has not settled: leased, or waiting to be handed over again. */
export class Delivery implements Linked<Delivery>, Slotted {
  readonly seq: number;
  state: DeliveryState = "leased";
  attempts = 1;
  leaseEndsAt = 0;
  /** Its neighbours among the leases. */
  prev: Delivery | null = null;
  next: Delivery | null = null;
  /** Its place among what waits to be handed over again. */
  slot = -1;
  /** The deliveries of one message to other groups. */
  before: Delivery | null = null;
  after: Delivery | null = null;

  constructor(
    readonly cursor: Cursor,
    readonly message: Message,
  ) {
    this.seq = message.seq;
    const first = message.deliveries;
    this.after = first;
    if (first !== null) first.before = this;
    message.deliveries = this;
  }

  /** Takes this delivery off its message. */
  unlink(): void {
    if (this.before === null) this.message.deliveries = this.after;
    else this.before.after = this.after;
    if (this.after !== null) this.after.before = this.before;
  }
}
