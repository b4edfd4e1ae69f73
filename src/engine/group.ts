import type { Batch } from "./batch.ts";
import { COST } from "./context.ts";
import type { Cursor } from "./cursor.ts";
import { RANK, type Due } from "./deadlines.ts";
import { List } from "./list.ts";
import { Parking } from "./parking.ts";
import type { Queue } from "./queue.ts";

/** How long a home's word on a group's idleness is good for. */
const IDLE_WORD_MS = 2000;

/** A consumer group of one queue, as far as this owner knows it: who waits, and which rings have something for it. */
export class Group implements Due {
  dueAt = 0;
  slot = -1;
  readonly rank = RANK.group;
  readonly parking = new Parking(this);
  /** What cursors that have gone had skipped. */
  skippedBefore = 0;
  /** Rings with something for this group, in the order in which pops with no partition visit them. */
  readonly rotation = new List<Cursor>();
  /** The last pop with no partition: it counts as a pop of every partition. */
  lastPopAt: number;
  /** What of it is on the disk. */
  notedPopAt = -Infinity;
  /** The last pop by any route. */
  lastSeenAt: number;
  /** Whether the queue's home wants to hear of the next messages for this group; spent by telling it. */
  interest = false;
  /** When the home last said how long this group has been idle. */
  idleWordAt = -Infinity;
  /** Owners that still know this group; its home must not forget it before them. */
  readonly pins = new Set<number>();
  /** In how many rings it has a cursor. */
  cursors = 0;
  #rotates = false;

  constructor(
    readonly queue: Queue,
    readonly name: string,
  ) {
    this.lastPopAt = queue.context.now;
    this.lastSeenAt = queue.context.now;
    queue.context.memoryBytes += COST.group;
  }

  /** Messages evicted before this group was handed them, here. */
  get skipped(): number {
    let skipped = this.skippedBefore;
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

  /** Whether somebody who takes any partition is there, waiting or not. */
  get isAttended(): boolean {
    return this.parking.isOccupied || this.queue.subscribers.readAll(this.name);
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

  /** The same for a home that waits already: it is told at once of what is here. */
  listenAtOnce(): void {
    this.listenFor();
    if (this.availableUpTo(1) > 0) this.#tellHome();
  }

  #tellHome(): void {
    this.interest = false;
    this.queue.context.effects.available(this.queue.name, this.name);
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
    this.countCursors(1);
    this.offers(cursor);
  }

  /** While a group has a cursor, nobody looks whether its name can be forgotten. */
  countCursors(more: number): void {
    this.cursors += more;
    this.queue.context.memoryBytes += COST.cursor * more;
    if (this.cursors > 0) this.queue.context.deadlines.disarm(this);
  }

  cursorRemoved(cursor: Cursor, skipped: number): void {
    this.countCursors(-1);
    this.skippedBefore += skipped;
    this.lastSeenAt = Math.max(this.lastSeenAt, cursor.lastPopAt);
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
    this.parking.serve(cursor);
    if (!cursor.hasMessages) this.parking.review(cursor);
    if (this.interest && cursor.hasMessages) this.#tellHome();
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
      this.queue.poppedAt = now;
    } else {
      cursor.lastPopAt = now;
      cursor.ring.poppedAt = now;
      cursor.ring.touchedAt = now;
    }
    this.queue.touchedAt = now;
    this.queue.notePop(cursor ?? this);
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
    const { subscribers } = this.queue;
    if (this.cursors > 0 || options.groupIdleSeconds === 0 || subscribers.readAll(this.name))
      context.deadlines.disarm(this);
    else context.deadlines.arm(this, this.#idleAt(options.groupIdleSeconds));
  }

  #idleAt(seconds: number): number {
    return Math.max(this.lastPopAt, this.lastSeenAt) + seconds * 1000;
  }

  onDue(): void {
    const { context, options } = this.queue;
    // Whoever unpins it looks again.
    if (this.cursors > 0 || this.pins.size > 0 || options.groupIdleSeconds === 0) return;
    if (this.isAttended) this.lastSeenAt = context.now;
    const idleAt = this.#idleAt(options.groupIdleSeconds);
    if (idleAt > context.now) context.deadlines.arm(this, idleAt);
    else if (this.mayBeIdle()) this.queue.forgetGroup(this);
    else context.deadlines.arm(this, context.now + 1000);
  }

  close(): void {
    this.queue.listening.delete(this);
    this.queue.context.deadlines.disarm(this);
    this.queue.context.memoryBytes -= COST.group;
  }
}
