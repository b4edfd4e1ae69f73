import { Batch } from "./batch.ts";
import { COST } from "./context.ts";
import type { Cursor } from "./cursor.ts";
import { RANK, type Due } from "./deadlines.ts";
import { List } from "./list.ts";
import type { Queue } from "./queue.ts";
import { Waiter } from "./waiter.ts";

/** How long a home's word on a group's idleness is good for. */
const IDLE_WORD_MS = 2000;

/** A consumer group of one queue, as far as this owner knows it: who waits, and which rings have something for it. */
export class Group implements Due {
  dueAt = 0;
  slot = -1;
  readonly rank = RANK.group;
  /** Pops parked on any partition. */
  readonly waiters = new List<Waiter>();
  /** Rings with something for this group, in the order in which pops with no partition visit them. */
  readonly rotation = new List<Cursor>();
  /** The last pop with no partition: it counts as a pop of every partition. */
  lastPopAt: number;
  /** The last pop by any route. */
  lastSeenAt: number;
  /** Parked pops that the other owners are being asked for. */
  detached = 0;
  /** Whether the queue's home wants to hear of the next messages for this group; spent by telling it. */
  interest = false;
  /** How many messages the other owners of the queue are known to hold for this group. */
  remoteAvailable = 0;
  /** When the home last said how long this group has been idle. */
  idleWordAt = -Infinity;
  /** Owners that still know this group; its home must not forget it before them. */
  readonly pins = new Set<number>();
  /** In how many rings it has a cursor. */
  cursors = 0;
  #skippedBefore = 0;
  #rotates = false;

  constructor(
    readonly queue: Queue,
    readonly name: string,
  ) {
    this.lastPopAt = queue.context.now;
    this.lastSeenAt = queue.context.now;
    queue.context.memoryBytes += COST.group;
  }

  get isParkedOn(): boolean {
    return this.waiters.size > 0 || this.detached > 0;
  }

  /** Messages evicted before this group was handed them, here. */
  get skipped(): number {
    let skipped = this.#skippedBefore;
    for (const cursor of this.#eachCursor()) skipped += cursor.skippedTotal;
    return skipped;
  }

  get pending(): number {
    let pending = 0;
    for (const cursor of this.#eachCursor()) pending += cursor.pending;
    return pending;
  }

  *#eachCursor(): Generator<Cursor> {
    for (const ring of this.queue.rings.values()) {
      const cursor = ring.cursors.get(this.name);
      if (cursor !== undefined) yield cursor;
    }
  }

  /** From now on the rings that have something for this group are kept in a rotation. */
  rotate(): void {
    if (this.#rotates) return;
    this.#rotates = true;
    this.queue.listening.add(this);
    for (const cursor of this.#eachCursor()) this.#enterRotation(cursor);
  }

  /** The home of the queue wants to hear, once, of the next messages for this group. */
  listenFor(): void {
    this.interest = true;
    this.rotate();
  }

  /** An owner has forgotten this group. */
  unpin(owner: number): void {
    this.pins.delete(owner);
    this.watch();
  }

  #enterRotation(cursor: Cursor): void {
    if (cursor.inRotation || !cursor.hasMessages) return;
    cursor.inRotation = true;
    this.rotation.append(cursor);
  }

  #leaveRotation(cursor: Cursor): void {
    if (!cursor.inRotation) return;
    cursor.inRotation = false;
    this.rotation.remove(cursor);
  }

  cursorAdded(cursor: Cursor): void {
    this.cursors++;
    this.queue.context.memoryBytes += COST.cursor;
    this.queue.context.deadlines.disarm(this);
    this.offers(cursor);
  }

  cursorRemoved(cursor: Cursor, skipped: number): void {
    this.cursors--;
    this.#skippedBefore += skipped;
    this.lastSeenAt = Math.max(this.lastSeenAt, cursor.lastPopAt);
    this.queue.context.memoryBytes -= COST.cursor;
    this.#leaveRotation(cursor);
    if (this.cursors === 0) this.watch();
  }

  /** A cursor of this group may have something for pops of any partition. */
  offers(cursor: Cursor): void {
    if (this.#rotates) this.#enterRotation(cursor);
  }

  /** What a cursor of this group has to hand over has changed: whoever waits for it gets it at once. */
  messagesCame(cursor: Cursor): void {
    this.offers(cursor);
    this.serve(cursor);
    if (!cursor.hasMessages) this.#reviewLines(cursor);
    if (this.interest && cursor.hasMessages) {
      this.interest = false;
      this.queue.context.effects.available(this.queue.name, this.name);
    }
  }

  /** Takes up to a batch from every ring that has something, one ring after the other. */
  takeAny(batch: Batch, autoAck: boolean): void {
    this.rotate();
    for (let turns = this.rotation.size; turns > 0 && batch.count < batch.limit; turns--) {
      const cursor = this.rotation.head;
      if (cursor === null) return;
      const before = batch.count;
      cursor.take(batch, autoAck);
      // What comes next here does not fit any more: this ring keeps its turn.
      if (batch.count === before && cursor.hasMessages) return;
      this.#leaveRotation(cursor);
      this.#enterRotation(cursor);
    }
  }

  /** How many messages a pop with no partition could have, counted no further than `enough`. */
  availableUpTo(enough: number): number {
    this.rotate();
    let available = 0;
    for (const cursor of this.rotation) {
      if (!cursor.hasMessages) this.#leaveRotation(cursor);
      else available += cursor.pending;
      if (available >= enough) return enough;
    }
    return available;
  }

  /** Notes a pop of one partition, or of all: idleness is judged by it. */
  popped(cursor: Cursor | null): void {
    const { now } = this.queue.context;
    if (cursor === null) {
      this.lastPopAt = now;
    } else {
      cursor.lastPopAt = now;
      cursor.ring.touchedAt = now;
    }
    this.queue.touchedAt = now;
  }

  park(waiter: Waiter): void {
    const { context } = this.queue;
    context.waiters.set(waiter.id, waiter);
    context.memoryBytes += COST.waiter;
    this.queue.parkedPops++;
    if (waiter.cursor === null) this.rotate();
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
    this.queue.context.deadlines.disarm(waiter);
  }

  /** Takes a parked pop out, wherever it stands; the caller answers it or parks it elsewhere. */
  unpark(waiter: Waiter): void {
    if (waiter.detached) this.detached--;
    else this.#leaveLine(waiter);
    waiter.detached = false;
    this.queue.context.waiters.delete(waiter.id);
    this.queue.context.memoryBytes -= COST.waiter;
    this.popped(waiter.cursor);
    this.queue.popEnded();
  }

  /** Ends a parked pop with what it got. */
  answer(waiter: Waiter, batch: Batch): void {
    this.unpark(waiter);
    this.queue.context.effects.answer(waiter, batch);
  }

  /** Serves parked pops, first come first served, as long as `cursor` has something for them. */
  serve(cursor: Cursor): void {
    while (cursor.hasMessages) {
      const waiter = earlier(cursor.waiters?.head ?? null, this.waiters.head);
      if (waiter === null || !this.#serveOne(waiter)) return;
    }
  }

  /** Serves pops parked on any partition, from here or through the queue's other owners. */
  serveAny(): void {
    for (let waiter = this.waiters.head; waiter !== null; waiter = this.waiters.head) {
      if (this.availableUpTo(1) === 0) {
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
    if (waiter.cursor === null && this.remoteAvailable > 0 && this.queue.hasWindow) {
      this.#gather();
      return false;
    }
    this.answer(waiter, this.#takeFor(waiter));
    return true;
  }

  #gather(): void {
    this.queue.context.effects.gather(this.queue.name, this.name);
  }

  #takeFor(waiter: Waiter): Batch {
    const batch = new Batch(waiter.batch);
    if (waiter.cursor === null) this.takeAny(batch, waiter.autoAck);
    else waiter.cursor.take(batch, waiter.autoAck);
    return batch;
  }

  #inHand(waiter: Waiter): number {
    if (waiter.cursor !== null) return waiter.cursor.pending;
    return this.availableUpTo(waiter.batch) + this.remoteAvailable;
  }

  /** Whether a parked pop has enough in hand. With a `windowBuffer` it waits a little for more. */
  #isReady(waiter: Waiter): boolean {
    if (!this.queue.hasWindow) return true;
    const { context, options } = this.queue;
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
  #reviewLines(cursor: Cursor): void {
    if (this.queue.parkedPops === 0 || !this.queue.hasWindow) return;
    this.reviewWindow(this.waiters.head);
    this.reviewWindow(cursor.waiters?.head ?? null);
  }

  /** The same after this group was handed a batch, from whichever partitions. */
  windowsEmptied(batch: Batch): void {
    if (this.queue.parkedPops === 0 || !this.queue.hasWindow) return;
    for (const { partition } of batch.handed) {
      const cursor = this.queue.rings.get(partition)?.cursors.get(this.name);
      if (cursor !== undefined) this.#reviewLines(cursor);
    }
  }

  /** The end of a parked pop's window or of its time. */
  waiterDue(waiter: Waiter): void {
    const { context } = this.queue;
    if (context.now < waiter.timeoutAt) {
      // Whoever stands before it may not be ready yet: its own end stays armed.
      context.deadlines.arm(waiter, waiter.timeoutAt);
      this.reviewWindow(waiter);
      return;
    }
    // Of pops whose windows and times end at the same instant, the first come is the first served.
    if (this.queue.hasWindow && this.remoteAvailable === 0) this.#serveFor(waiter);
    if (context.waiters.get(waiter.id) !== waiter) return;
    if (waiter.cursor === null && this.remoteAvailable > 0 && this.availableUpTo(1) === 0) {
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
    if (waiter.cursor === null && this.queue.hasWindow) {
      for (const cursor of Array.from(this.rotation)) this.serve(cursor);
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
      this.detached++;
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
      this.detached--;
      this.waiters.insertAfter(after, waiter);
      this.queue.context.deadlines.arm(waiter, waiter.timeoutAt);
      after = waiter;
    }
    this.serveAny();
  }

  /** Whether this owner may take the group for idle; if only the home can know, it is asked. */
  mayBeIdle(): boolean {
    const { context, isHome } = this.queue;
    if (isHome || context.now - this.idleWordAt <= IDLE_WORD_MS) return true;
    context.effects.askIdle(this.queue.name, this.name);
    return false;
  }

  /** Arms the look at whether the name can be forgotten, which is when no ring has a cursor of it. */
  watch(): void {
    const { context, options } = this.queue;
    if (this.cursors > 0 || options.groupIdleSeconds === 0) context.deadlines.disarm(this);
    else context.deadlines.arm(this, this.#idleAt(options.groupIdleSeconds));
  }

  #idleAt(seconds: number): number {
    return Math.max(this.lastPopAt, this.lastSeenAt) + seconds * 1000;
  }

  onDue(): void {
    const { context, options } = this.queue;
    if (this.cursors > 0 || options.groupIdleSeconds === 0) return;
    if (this.isParkedOn) this.lastSeenAt = context.now;
    const idleAt = this.#idleAt(options.groupIdleSeconds);
    if (this.pins.size > 0) context.deadlines.arm(this, context.now + options.groupIdleSeconds * 1000);
    else if (idleAt > context.now) context.deadlines.arm(this, idleAt);
    else if (this.mayBeIdle()) this.queue.forgetGroup(this);
    else context.deadlines.arm(this, context.now + 1000);
  }

  close(): void {
    this.queue.listening.delete(this);
    this.queue.context.deadlines.disarm(this);
    this.queue.context.memoryBytes -= COST.group;
  }
}

function earlier(a: Waiter | null, b: Waiter | null): Waiter | null {
  if (a === null || b === null) return a ?? b;
  return a.arrival < b.arrival ? a : b;
}
