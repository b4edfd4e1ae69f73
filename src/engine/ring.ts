import { COST, type DropCause } from "./context.ts";
import { Cursor } from "./cursor.ts";
import { RANK, type Due } from "./deadlines.ts";
import type { Group } from "./group.ts";
import { ImportSources } from "./import-sources.ts";
import type { Segment } from "./ledger.ts";
import { List } from "./list.ts";
import { Message } from "./message.ts";
import { Positions } from "./positions.ts";
import type { Queue } from "./queue.ts";
import type { StoredMessage } from "./stored.ts";
import { WireText } from "./wire-text.ts";

/** One partition of a queue: the log of its messages and the cursors of the groups that read it. */
export class Ring implements Due {
  dueAt = 0;
  slot = -1;
  readonly rank = RANK.ring;
  readonly messages = new List<Message>();
  readonly positions = new Positions();
  readonly cursors = new Map<string, Cursor>();
  /** Cursors with pops parked on this partition alone. */
  readonly parked = new Set<Cursor>();
  bytes = 0;
  /** The oldest message that was never written; all after it were not either. */
  fresh: Message | null = null;
  /** How many of the messages held are on the disk too. */
  stored = 0;
  /** Messages from this number on are gone only from the front; among older ones some have left from between others. */
  wholeFrom = 0;
  sources = new ImportSources();
  touchedAt: number;
  /** The last pop that named this partition, by whichever group. */
  poppedAt = -Infinity;
  #wire: WireText | null = null;

  constructor(
    readonly queue: Queue,
    readonly partition: string,
  ) {
    this.touchedAt = queue.context.now;
    queue.context.memoryBytes += COST.ring;
  }

  get wire(): WireText {
    this.#wire ??= new WireText(this.queue.context.incarnation, this.partition);
    return this.#wire;
  }

  append(payload: string, bytes: number, width: number): void {
    const { context } = this.queue;
    const message = new Message(this, context.nextSeq++, payload, bytes, width, context.now);
    this.messages.append(message);
    this.positions.messageAppended(message);
    if (this.fresh === null) this.#freshCame(message);
    this.bytes += bytes;
    this.queue.held(1, bytes, width + COST.message);
    if (this.messages.size === 1) this.#watchAge(message);
  }

  /** The first message of an empty ring: unless an earlier look is due anyway, its age arms the next one. */
  #watchAge(oldest: Message): void {
    const { context, options } = this.queue;
    const tooOldAt = oldest.pushedAt + options.ttlSeconds * 1000;
    if (options.ttlSeconds > 0 && (this.slot < 0 || this.dueAt > tooOldAt)) context.deadlines.arm(this, tooOldAt);
  }

  /**
   * Takes messages back, from the disk or, with no segment, from another owner. They come in order; answers those that
   * are named. A start with a large backlog spends its time here, which is why the sums are made once.
   */
  restoreMessages(stored: Iterable<StoredMessage>, wasHeld: (seq: number) => boolean, named: ReadonlySet<number>) {
    const { context } = this.queue;
    const found = new Map<number, Message>();
    let written = 0;
    let memory = 0;
    for (const { seq, payload, pushedAt, bytes, width, segment } of stored) {
      if (!wasHeld(seq)) continue;
      const message = new Message(this, seq, payload, bytes, width, pushedAt);
      this.messages.append(message);
      this.bytes += bytes;
      memory += width + COST.message;
      if (segment === null) {
        if (this.fresh === null) this.#freshCame(message);
      } else {
        message.segment = segment;
        segment.live++;
        written++;
      }
      if (named.has(seq)) found.set(seq, message);
    }
    this.stored += written;
    this.queue.stored += written;
    this.queue.held(this.messages.size, this.bytes, memory);
    context.nextSeq = Math.max(context.nextSeq, (this.messages.tail?.seq ?? -1) + 1);
    return found;
  }

  /** Wakes whoever waits for messages of this partition. */
  announce(): void {
    for (const cursor of this.parked) cursor.group.messagesCame(cursor);
    for (const group of this.queue.listening) {
      const cursor = this.cursors.get(group.name);
      if (cursor !== undefined) group.messagesCame(cursor);
    }
  }

  /** Lets a group in; it starts at the oldest message held. */
  admit(group: Group): Cursor {
    const cursor = new Cursor(this, group);
    this.positions.enter(cursor, this.messages.head, this.messages.size);
    this.cursors.set(group.name, cursor);
    group.cursorAdded(cursor);
    cursor.watchIdle();
    this.queue.changed();
    return cursor;
  }

  /** Takes a group out. What only it still needed is freed, unless it was the last: with no group, all is kept. */
  expel(cursor: Cursor): void {
    this.queue.changed();
    const held = cursor.close();
    this.cursors.delete(cursor.group.name);
    this.parked.delete(cursor);
    if (this.cursors.size > 0) for (const message of held) this.settled(message);
    const from = this.positions.front?.message ?? null;
    const { skippedTotal } = cursor;
    this.positions.remove(cursor);
    cursor.group.cursorRemoved(cursor, skippedTotal);
    this.#freePassed(from);
  }

  /** Moves a cursor over `count` messages up to `target` and frees what nobody needs any more. */
  advance(cursor: Cursor, target: Message | null, count: number): void {
    const from = this.positions.front?.message ?? null;
    this.changed();
    this.positions.advance(cursor, target, count);
    this.#freePassed(from);
  }

  /** A group is done with a message: if it was the last one, the message goes. */
  settled(message: Message): void {
    if (message.deliveries === null && this.positions.isPassed(message)) this.#free(message);
  }

  /** Drops the oldest message, whoever still needed it. */
  dropOldest(cause: DropCause | null): void {
    const message = this.messages.head;
    if (message === null) return;
    for (let held = message.deliveries; held !== null; held = message.deliveries) held.cursor.messageDropped(held);
    this.positions.headRemoved(message);
    this.#free(message);
    if (cause !== null) this.queue.countDrop(cause);
  }

  /** Removes a message, whoever has it or still needs it. */
  discard(message: Message): void {
    for (let held = message.deliveries; held !== null; held = message.deliveries) held.cursor.messageDropped(held);
    this.positions.removed(message);
    this.#free(message);
  }

  /** Drops everything and moves every group to the end. Answers how many messages went. */
  clear(): number {
    const dropped = this.messages.size;
    for (const cursor of this.cursors.values()) this.positions.moveToEnd(cursor);
    while (this.messages.head !== null) this.dropOldest(null);
    return dropped;
  }

  /** Frees the messages from `from` up to the place that every group has reached. */
  #freePassed(from: Message | null): void {
    const { front } = this.positions;
    if (front === null) return;
    for (let message = from; message !== null && message !== front.message;) {
      const { next } = message;
      if (message.deliveries === null) this.#free(message);
      message = next;
    }
  }

  #free(message: Message): void {
    if (message === this.fresh) this.#freshGone(message.next);
    if (message.prev !== null) this.wholeFrom = Math.max(this.wholeFrom, message.seq + 1);
    if (message.segment !== null) {
      this.changed();
      message.segment.live--;
      this.stored--;
      this.queue.stored--;
    }
    this.messages.remove(message);
    this.bytes -= message.bytes;
    this.queue.held(-1, -message.bytes, -(message.width + COST.message));
    if (this.messages.size === 0) this.#watchIdleness();
  }

  /** A message has been written. */
  noteStored(message: Message, segment: Segment): void {
    message.segment = segment;
    segment.live++;
    this.stored++;
    this.queue.stored++;
  }

  #freshCame(message: Message): void {
    this.fresh = message;
    this.queue.context.ledger.fresh.add(this);
  }

  /** A message is about to be written anew, because hardly anything else is left of what it was written with. */
  noteUnstored(message: Message): void {
    if (message.segment === null) return;
    message.segment.live--;
    message.segment = null;
    this.stored--;
    this.queue.stored--;
  }

  #freshGone(next: Message | null): void {
    this.fresh = next;
    if (next === null) this.queue.context.ledger.fresh.delete(this);
  }

  /** Where a group stands has changed; it matters to the disk only as far as the messages are there. */
  changed(): void {
    if (this.stored > 0) this.queue.context.ledger.change(this.queue.context.now);
  }

  /** The last message of a ring has gone: unless an earlier look is due anyway, its idleness arms the next one. */
  #watchIdleness(): void {
    const { context } = this.queue;
    const idleAt = this.touchedAt + context.settings.implicitIdleMs;
    if (this.queue.keeps(this)) context.deadlines.disarm(this);
    else if (this.slot < 0 || this.dueAt > idleAt) context.deadlines.arm(this, idleAt);
  }

  /** Arms the next look: at the age of the oldest message, or at idleness once there is none. */
  watch(): void {
    const { context, options } = this.queue;
    const oldest = this.messages.head;
    if (oldest === null && this.queue.keeps(this)) context.deadlines.disarm(this);
    else if (oldest === null) context.deadlines.arm(this, this.touchedAt + context.settings.implicitIdleMs);
    else if (options.ttlSeconds > 0) context.deadlines.arm(this, oldest.pushedAt + options.ttlSeconds * 1000);
    else context.deadlines.disarm(this);
  }

  onDue(): void {
    const { context, options } = this.queue;
    if (options.ttlSeconds > 0) {
      const bornBefore = context.now - options.ttlSeconds * 1000;
      while (this.messages.head !== null && this.messages.head.pushedAt <= bornBefore) this.dropOldest("ttl");
      this.queue.reviewWindows(this);
    }
    if (this.messages.size > 0) this.watch();
    else if (this.touchedAt + context.settings.implicitIdleMs > context.now) this.watch();
    else this.queue.ringIdle(this);
  }
}
