import { Batch } from "./batch.ts";
import { COST } from "./context.ts";
import type { Cursor } from "./cursor.ts";
import type { Group } from "./group.ts";
import { List } from "./list.ts";
import type { Queue } from "./queue.ts";
import type { Waiter } from "./waiter.ts";

/**
 * The parked pops of one group: a line for those that take any partition, and one at each cursor. First come, first
 * served over both, one pop a message, and nobody is woken for nothing.
 */
export class Parking {
  /** Pops parked on any partition. */
  readonly waiters = new List<Waiter>();
  /** How many messages the other owners of the queue are known to hold for this group. */
  remoteAvailable = 0;
  readonly #group: Group;
  /** Pops that the other owners are being asked for. */
  #detached = 0;

  constructor(group: Group) {
    this.#group = group;
  }

  get #queue(): Queue {
    return this.#group.queue;
  }

  /** Whether pops of any partition wait. */
  get isOccupied(): boolean {
    return this.waiters.size > 0 || this.#detached > 0;
  }

  park(waiter: Waiter): void {
    const { context } = this.#queue;
    context.waiters.set(waiter.id, waiter);
    context.memoryBytes += COST.waiter;
    this.#queue.parkedPops++;
    if (waiter.subscription !== null) context.parkedSubscriptions++;
    if (waiter.cursor === null) this.#group.rotate();
    this.#line(waiter).append(waiter);
    if (waiter.cursor !== null) waiter.cursor.ring.parked.add(waiter.cursor);
    context.deadlines.arm(waiter, waiter.timeoutAt);
    this.#serveFor(waiter);
  }

  #line(waiter: Waiter): List<Waiter> {
    if (waiter.cursor === null) return this.waiters;
    waiter.cursor.waiters ??= new List();
    return waiter.cursor.waiters;
  }

  #leaveLine(waiter: Waiter): void {
    const line = this.#line(waiter);
    line.remove(waiter);
    if (waiter.cursor !== null && line.size === 0) waiter.cursor.ring.parked.delete(waiter.cursor);
    this.#queue.context.deadlines.disarm(waiter);
  }

  /** Takes a parked pop out, wherever it stands; the caller answers it or parks it elsewhere. */
  unpark(waiter: Waiter): void {
    if (waiter.detached) this.#detached--;
    else this.#leaveLine(waiter);
    waiter.detached = false;
    this.#queue.context.waiters.delete(waiter.id);
    if (waiter.subscription !== null) this.#queue.context.parkedSubscriptions--;
    this.#queue.context.memoryBytes -= COST.waiter;
    this.#group.popped(waiter.cursor);
    this.#queue.popEnded();
  }

  /** Ends a parked pop with what it got. */
  answer(waiter: Waiter, batch: Batch): void {
    this.unpark(waiter);
    if (waiter.subscription === null) this.#queue.context.effects.answer(waiter, batch);
    else waiter.subscription.deliver(batch);
  }

  /** Serves parked pops, first come first served, as long as `cursor` has something for them. */
  serve(cursor: Cursor): void {
    while (cursor.hasMessages) {
      const waiter = earlier(cursor.waiters?.head ?? null, this.waiters.head);
      if (waiter === null) return;
      const first = waiter.cursor === null ? this.#claimedBefore(waiter) : null;
      if (first !== null) this.serve(first);
      else if (!this.#serveOne(waiter)) return;
    }
  }

  /** A cursor to which something came back in the same turn, and for which somebody came before a pop of any partition. */
  #claimedBefore({ arrival }: Waiter): Cursor | null {
    const { wokenFor } = this.#queue.context;
    for (const cursor of wokenFor) {
      const first = cursor.waiters?.head;
      if (cursor.group !== this.#group || first == null || first.arrival > arrival || !cursor.hasMessages) continue;
      wokenFor.delete(cursor);
      return cursor;
    }
    return null;
  }

  /** Serves pops parked on any partition, from here or through the queue's other owners. */
  serveAny(): void {
    for (let waiter = this.waiters.head; waiter !== null; waiter = this.waiters.head) {
      if (this.#group.availableUpTo(1) === 0) {
        if (this.remoteAvailable > 0 && this.#isReady(waiter)) this.#gather();
        return;
      }
      if (!this.#serveOne(waiter)) return;
    }
  }

  #serveFor(waiter: Waiter): void {
    if (waiter.cursor === null) this.serveAny();
    else this.serve(waiter.cursor);
  }

  #serveOne(waiter: Waiter): boolean {
    if (!this.#isReady(waiter)) return false;
    if (waiter.cursor === null && this.remoteAvailable > 0 && this.#queue.hasWindow) {
      this.#gather();
      return false;
    }
    this.answer(waiter, this.#takeFor(waiter));
    return true;
  }

  #gather(): void {
    this.#queue.context.effects.gather(this.#queue.name, this.#group.name);
  }

  #takeFor(waiter: Waiter): Batch {
    const batch = new Batch(waiter.batch);
    if (waiter.cursor === null) this.#group.takeAny(batch, waiter.autoAck);
    else waiter.cursor.take(batch, waiter.autoAck);
    return batch;
  }

  #inHand(waiter: Waiter): number {
    if (waiter.cursor !== null) return waiter.cursor.pending;
    return this.#group.availableUpTo(waiter.batch) + this.remoteAvailable;
  }

  /**
   * Whether a parked pop has enough in hand. With a `windowBuffer` it waits a little for more; a subscription, which gets
   * messages as they come, does not.
   */
  #isReady(waiter: Waiter): boolean {
    if (!this.#queue.hasWindow || waiter.subscription !== null) return true;
    const { context, options } = this.#queue;
    const { ms, count } = options.windowBuffer;
    const inHand = this.#inHand(waiter);
    if (inHand === 0) {
      waiter.windowSince = null;
      context.deadlines.arm(waiter, waiter.timeoutAt);
      return false;
    }
    if (inHand >= waiter.batch || (count > 0 && inHand >= count)) return true;
    waiter.windowSince ??= context.now;
    const windowEnd = ms > 0 ? waiter.windowSince + ms : Infinity;
    if (context.now >= windowEnd || context.now >= waiter.timeoutAt) return true;
    context.deadlines.arm(waiter, Math.min(windowEnd, waiter.timeoutAt));
    return false;
  }

  /** Messages were taken from under parked pops: a window with nothing in hand starts anew. */
  reviewWindow(waiter: Waiter | null): void {
    if (waiter !== null && this.#isReady(waiter)) this.#serveFor(waiter);
  }

  /** The same for the first in every line that could have had them from `cursor`. */
  review(cursor: Cursor): void {
    if (this.#queue.parkedPops === 0 || !this.#queue.hasWindow) return;
    this.reviewWindow(this.waiters.head);
    this.reviewWindow(cursor.waiters?.head ?? null);
  }

  /** The same after this group was handed a batch, from whichever partitions. */
  windowsEmptied(batch: Batch): void {
    if (this.#queue.parkedPops === 0 || !this.#queue.hasWindow) return;
    for (const { partition } of batch.handed) {
      const cursor = this.#queue.rings.get(partition)?.cursors.get(this.#group.name);
      if (cursor !== undefined) this.review(cursor);
    }
  }

  /** The end of a parked pop's window or of its time. */
  due(waiter: Waiter): void {
    const { context } = this.#queue;
    if (context.now < waiter.timeoutAt) {
      // Whoever stands before it may not be ready yet: its own end stays armed.
      context.deadlines.arm(waiter, waiter.timeoutAt);
      this.reviewWindow(waiter);
      return;
    }
    // Of pops whose windows and times end at the same instant, the first come is the first served.
    if (this.#queue.hasWindow && this.remoteAvailable === 0) this.#serveFor(waiter);
    if (context.waiters.get(waiter.id) !== waiter) return;
    if (waiter.cursor === null && this.remoteAvailable > 0 && this.#group.availableUpTo(1) === 0) {
      this.#gather();
      if (waiter.detached) return;
    }
    const batch = this.#takeFor(waiter);
    this.answer(waiter, batch);
    this.windowsEmptied(batch);
  }

  /** The caller has gone: it takes nothing, and the next in line moves up. */
  cancel(waiter: Waiter): void {
    if (waiter.detached) {
      waiter.cancelled = true;
      return;
    }
    this.answer(waiter, new Batch(0));
    this.#serveFor(waiter);
    // Within a window it may have held up pops of single partitions, too.
    if (waiter.cursor === null && this.#queue.hasWindow) {
      for (const cursor of Array.from(this.#group.rotation)) this.serve(cursor);
    }
  }

  /**
   * Takes the first parked pops that agree on `autoAck` out of the line, as many as could use `enough` messages, while
   * other owners are asked for them.
   */
  detach(enough: number): Waiter[] {
    const taken: Waiter[] = [];
    let wanted = 0;
    for (const waiter of this.waiters) {
      if (wanted >= enough || waiter.autoAck !== (taken[0] ?? waiter).autoAck) break;
      this.#leaveLine(waiter);
      waiter.detached = true;
      this.#detached++;
      wanted += waiter.batch;
      taken.push(waiter);
    }
    return taken;
  }

  /** Puts pops that got nothing back at the head of the line, in their order. */
  reattach(waiters: readonly Waiter[]): void {
    let after: Waiter | null = null;
    for (const waiter of waiters) {
      waiter.detached = false;
      this.#detached--;
      this.waiters.insertAfter(after, waiter);
      this.#queue.context.deadlines.arm(waiter, waiter.timeoutAt);
      after = waiter;
    }
    this.serveAny();
  }
}

function earlier(a: Waiter | null, b: Waiter | null): Waiter | null {
  if (a === null || b === null) return a ?? b;
  return a.arrival < b.arrival ? a : b;
}
