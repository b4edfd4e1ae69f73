import { RANK, type Due } from "./deadlines.ts";
import type { EngineContext } from "./context.ts";
import type { Cursor } from "./cursor.ts";
import { List } from "./list.ts";
import type { Delivery } from "./message.ts";

/**
 * The leases of one cursor, in the order in which they run out. They are given in that order too, unless a declaration
 * has made them shorter meanwhile, so that giving and ending one costs the same however many there are; only the first
 * of them stands among the deadlines.
 */
export class Leases implements Due {
  dueAt = 0;
  slot = -1;
  readonly rank = RANK.lease;
  readonly #deliveries = new List<Delivery>();
  readonly #cursor: Cursor;

  constructor(cursor: Cursor) {
    this.#cursor = cursor;
  }

  get #context(): EngineContext {
    return this.#cursor.ring.queue.context;
  }

  get size(): number {
    return this.#deliveries.size;
  }

  add(delivery: Delivery, endsAt: number): void {
    delivery.leaseEndsAt = endsAt;
    let before = this.#deliveries.tail;
    while (before !== null && before.leaseEndsAt > endsAt) before = before.prev;
    this.#deliveries.insertAfter(before, delivery);
    if (this.slot < 0 || endsAt < this.dueAt) this.#context.deadlines.arm(this, endsAt);
    this.#context.leases++;
  }

  remove(delivery: Delivery): void {
    this.#deliveries.remove(delivery);
    this.#context.leases--;
    if (this.#deliveries.size > 0) return;
    this.#context.deadlines.disarm(this);
    this.#cursor.leasesEnded();
  }

  /** The first lease may have ended since this was armed; then it is armed for the next, and nothing else happens. */
  onDue(): void {
    const instant = this.dueAt;
    for (let head = this.#deliveries.head; head !== null && head.leaseEndsAt <= instant; head = this.#deliveries.head) {
      this.remove(head);
      this.#cursor.leaseExpired(head);
    }
    const next = this.#deliveries.head;
    if (next !== null) this.#context.deadlines.arm(this, next.leaseEndsAt);
  }
}
