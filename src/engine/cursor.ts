import type { Batch } from "./batch.ts";
import { RANK, type Due } from "./deadlines.ts";
import type { Group } from "./group.ts";
import { Heap } from "./heap.ts";
import { Leases } from "./leases.ts";
import { List, type Linked } from "./list.ts";
import { Delivery, type Message } from "./message.ts";
import type { Position } from "./positions.ts";
import type { Ring } from "./ring.ts";
import { SeqMap } from "./seq-map.ts";
import type { Waiter } from "./waiter.ts";

const bySeq = (a: Delivery, b: Delivery): boolean => a.seq < b.seq;

/** How one group reads one ring: its place in the log, what it holds leased, and what waits to be handed over again. */
export class Cursor implements Linked<Cursor>, Due {
  /** Its neighbours among the rings that have something for its group. */
  prev: Cursor | null = null;
  next: Cursor | null = null;
  inRotation = false;
  /** When to look whether the group has gone. */
  dueAt = 0;
  slot = -1;
  readonly rank = RANK.cursor;
  declare position: Position;
  placeInPosition = 0;
  /** Messages dropped before this group was handed them, relative to the position's own count. */
  skipped = 0;
  /** What this group was handed here and has not settled, by sequence number. */
  readonly deliveries = new SeqMap<Delivery>();
  readonly #leases = new Leases(this);
  lastPopAt: number;
  /** What of it is on the disk. */
  notedPopAt = -Infinity;
  /** Pops parked on this partition. */
  waiters: List<Waiter> | null = null;
  #returned: Heap<Delivery> | null = null;

  constructor(
    readonly ring: Ring,
    readonly group: Group,
  ) {
    this.lastPopAt = group.queue.context.now;
  }

  /** How many messages the group holds here under a lease. */
  get leased(): number {
    return this.#leases.size;
  }

  get skippedTotal(): number {
    return this.skipped + this.position.skipped;
  }

  /** Whether there is anything to hand over. */
  get hasMessages(): boolean {
    return this.position.message !== null || this.#returnedCount > 0;
  }

  /** How many messages could be handed over: new ones and those that came back. */
  get pending(): number {
    return this.ring.positions.countFrom(this.position) + this.#returnedCount;
  }

  get isParkedOn(): boolean {
    return (this.waiters !== null && this.waiters.size > 0) || this.group.parking.isOccupied;
  }

  get #isSubscribed(): boolean {
    return this.ring.queue.subscribers.read(this.group.name, this.ring.partition);
  }

  get #returnedCount(): number {
    return this.#returned?.size ?? 0;
  }

  /** Hands over what fits into `batch`: first what came back, lowest first, then what is new. */
  take(batch: Batch, autoAck: boolean): void {
    const { context } = this.ring.queue;
    const before = batch.count;
    for (let again = this.#returned?.peek(); again !== undefined; again = this.#returned?.peek()) {
      if (!batch.hasRoomFor(again.message)) break;
      this.#returned?.remove(again);
      batch.add(again.message, again.attempts + 1);
      if (autoAck) this.#forget(again);
      else this.#lease(again, again.attempts + 1);
    }
    if (this.#returnedCount === 0) this.#takeNew(batch, autoAck);
    context.counters.popped += batch.count - before;
  }

  #takeNew(batch: Batch, autoAck: boolean): void {
    let message = this.position.message;
    let taken = 0;
    while (message !== null && batch.hasRoomFor(message)) {
      batch.add(message, 1);
      if (!autoAck) this.#lease(new Delivery(this, message), 1);
      message = message.next;
      taken++;
    }
    if (taken > 0) this.ring.advance(this, message, taken);
  }

  #lease(delivery: Delivery, attempts: number): void {
    const { context, options } = this.ring.queue;
    delivery.state = "leased";
    delivery.attempts = attempts;
    this.ring.changed();
    this.deliveries.set(delivery);
    this.#leases.add(delivery, context.now + options.leaseSeconds * 1000);
  }

  leaseExpired(delivery: Delivery): void {
    this.#handBack(delivery, "expired");
  }

  /** With no lease left, idleness counts again. */
  leasesEnded(): void {
    if (this.slot < 0) this.watchIdle();
  }

  /** The holder has finished with a message for good. */
  complete(delivery: Delivery): void {
    this.#takeFromHolder(delivery);
    this.#forget(delivery);
    this.ring.queue.context.counters.acked++;
  }

  /** The holder wants the message again. Returns false when that was the last attempt and the message is given up. */
  retry(delivery: Delivery): boolean {
    this.#takeFromHolder(delivery);
    return this.#handBack(delivery, "returned");
  }

  /**
   * Its holder has gone. A delivery that never reached it counts as if it had not been made; one that did counts, but
   * that is no reason to give the message up.
   */
  release(delivery: Delivery, reached: boolean): void {
    this.#takeBack(delivery);
    if (reached) this.ring.queue.context.counters.redelivered++;
    else delivery.attempts--;
    this.ring.changed();
    this.#wait(delivery, "returned");
  }

  /** The message itself is going: whatever this group still had of it ends. */
  messageDropped(delivery: Delivery): void {
    this.#takeBack(delivery);
    this.deliveries.delete(delivery.seq);
    delivery.unlink();
  }

  /** Ends everything that this cursor holds, when its group leaves the ring. Answers the messages that it held. */
  close(): Message[] {
    const deliveries = this.deliveries.values();
    for (const delivery of deliveries) this.messageDropped(delivery);
    this.ring.queue.context.deadlines.disarm(this);
    return deliveries.map(({ message }) => message);
  }

  /** Puts back what a group had not settled when its owner went: it waits to be handed over again. */
  restore(message: Message, attempts: number): void {
    const delivery = new Delivery(this, message);
    delivery.attempts = attempts;
    delivery.state = "returned";
    this.deliveries.set(delivery);
    this.#returned ??= new Heap(bySeq);
    this.#returned.add(delivery);
  }

  /** On the holder's word. A late one takes the message from under the parked pops that had it in hand. */
  #takeFromHolder(delivery: Delivery): void {
    if (delivery.state !== "leased") this.ring.queue.context.woken.add(this);
    this.#takeBack(delivery);
  }

  /** Out of the leases or out of the line for another delivery, wherever it is. */
  #takeBack(delivery: Delivery): void {
    if (delivery.state === "leased") this.#leases.remove(delivery);
    else this.#returned?.remove(delivery);
  }

  #handBack(delivery: Delivery, state: "expired" | "returned"): boolean {
    const { queue } = this.ring;
    if (delivery.attempts >= Math.max(1, queue.options.retryLimit)) {
      this.#forget(delivery);
      queue.countDrop("retry");
      return false;
    }
    queue.context.counters.redelivered++;
    this.#wait(delivery, state);
    return true;
  }

  #wait(delivery: Delivery, state: "expired" | "returned"): void {
    delivery.state = state;
    this.#returned ??= new Heap(bySeq);
    this.#returned.add(delivery);
    this.ring.queue.context.woken.add(this);
  }

  #forget(delivery: Delivery): void {
    this.ring.changed();
    this.deliveries.delete(delivery.seq);
    delivery.unlink();
    this.ring.settled(delivery.message);
  }

  /** Arms the look at idleness; a look that finds leases leaves it to the end of the last one to arm the next. */
  watchIdle(): void {
    const { context, options } = this.ring.queue;
    if (options.groupIdleSeconds === 0 || this.#isSubscribed) context.deadlines.disarm(this);
    else context.deadlines.arm(this, this.#idleAt(options.groupIdleSeconds));
  }

  #idleAt(seconds: number): number {
    return Math.max(this.lastPopAt, this.group.lastPopAt) + seconds * 1000;
  }

  onDue(): void {
    const { context, options } = this.ring.queue;
    if (this.leased > 0 || options.groupIdleSeconds === 0 || this.#isSubscribed) return;
    if (this.isParkedOn) this.lastPopAt = context.now;
    const idleAt = this.#idleAt(options.groupIdleSeconds);
    if (idleAt > context.now) context.deadlines.arm(this, idleAt);
    else if (this.group.mayBeIdle()) this.ring.queue.dropIdleCursor(this);
    else context.deadlines.arm(this, context.now + 1000);
  }
}
