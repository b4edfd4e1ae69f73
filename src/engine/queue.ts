import type { QueueOptions } from "../contract/options.ts";
import { QUEUE_MODE } from "../contract/limits.ts";
import { COST, type DropCause, type EngineContext } from "./context.ts";
import type { Cursor } from "./cursor.ts";
import { RANK, type Due } from "./deadlines.ts";
import { Group } from "./group.ts";
import { Ring } from "./ring.ts";
import { Rings } from "./rings.ts";
import { Subscribers } from "./subscribers.ts";

/** A queue, as far as one owner holds it: its rings, its groups, and the bounds over them. */
export class Queue implements Due {
  dueAt = 0;
  slot = -1;
  readonly rank = RANK.queue;
  readonly rings = new Rings();
  readonly groups = new Map<string, Group>();
  /** Groups that pop with no partition, and so want to know of every push. */
  readonly listening = new Set<Group>();
  readonly subscribers = new Subscribers();
  readonly drops: Record<DropCause, number> = { bounds: 0, ttl: 0, retry: 0 };
  /** Messages accepted in this life. */
  pushed = 0;
  /** Messages held, leased ones included. */
  length = 0;
  bytes = 0;
  /** How many of them are on the disk too. */
  stored = 0;
  parkedPops = 0;
  touchedAt: number;
  /** The last pop of any partition that came here, by whichever group. */
  poppedAt = -Infinity;
  /** Other owners that hold a part of this queue; its home, which this then is, must outlive them. */
  readonly holders = new Set<number>();
  #closed = false;

  constructor(
    readonly context: EngineContext,
    readonly name: string,
    /** Whether this owner is the queue's home, which judges what only the whole queue can tell. */
    readonly isHome: boolean,
    public options: QueueOptions,
    public declared: boolean,
  ) {
    this.touchedAt = context.now;
    context.memoryBytes += COST.queue;
    this.watch();
  }

  get hasWindow(): boolean {
    const { ms, count } = this.options.windowBuffer;
    return ms > 0 || count > 0;
  }

  /** When the oldest message held was pushed; null = there is none. */
  get oldestAt(): number | null {
    let oldest = Infinity;
    for (const { messages } of this.rings.awake) oldest = Math.min(oldest, messages.head?.pushedAt ?? Infinity);
    for (const { oldestAt } of this.rings.resting) oldest = Math.min(oldest, oldestAt);
    return oldest === Infinity ? null : oldest;
  }

  /** Whether nothing would be lost if this queue were forgotten. */
  get isIdle(): boolean {
    return (
      !this.declared &&
      this.length === 0 &&
      this.parkedPops === 0 &&
      this.subscribers.size === 0 &&
      this.holders.size === 0
    );
  }

  /** Whether a pop or a subscriber waits on a partition, or a pop has come since `since`; with null, one of any partition. */
  isListenedTo(partition: string | null, since: number): boolean {
    if (this.poppedAt > since || this.subscribers.hear(partition)) return true;
    for (const { parking } of this.listening) if (parking.isOccupied) return true;
    const ring = partition === null ? undefined : this.rings.get(partition);
    return ring !== undefined && (ring.parked.size > 0 || ring.poppedAt > since);
  }

  /** Another owner holds a part of this queue from now on, and will know all of its groups. */
  addHolder(owner: number): void {
    this.holders.add(owner);
    for (const group of this.groups.values()) group.pins.add(owner);
    this.changed();
    this.context.ledger.isUrgent = true;
  }

  removeHolder(owner: number): void {
    this.changed();
    this.holders.delete(owner);
    for (const group of this.groups.values()) group.unpin(owner);
    this.watch();
  }

  ring(partition: string): Ring {
    let ring = this.rings.get(partition);
    if (ring === undefined) {
      this.#watchLoneRing();
      ring = new Ring(this, partition);
      this.rings.set(partition, ring);
      for (const group of this.groups.values()) ring.admit(group);
      ring.watch();
    }
    return ring;
  }

  /** Adds a group, with a cursor in every partition that there is. */
  addGroup(name: string): Group {
    let group = this.groups.get(name);
    if (group === undefined) {
      group = new Group(this, name);
      this.groups.set(name, group);
      for (const ring of this.rings.values()) ring.admit(group);
      group.watch();
      this.changed();
    }
    return group;
  }

  /**
   * The group and the cursor that a pop works with; null = any partition. A cursor that was dropped for idleness comes
   * back here, at the oldest message held, like that of a new group.
   */
  enter(partition: string | null, groupName: string): { group: Group; cursor: Cursor | null } {
    const ring = partition === null ? null : this.ring(partition);
    const group = this.addGroup(groupName);
    if (ring !== null) return { group, cursor: ring.cursors.get(groupName) ?? ring.admit(group) };
    if (group.cursors < this.rings.size) {
      for (const each of this.rings.values()) if (!each.cursors.has(groupName)) each.admit(group);
    }
    return { group, cursor: null };
  }

  /** What a push to this partition, or a pop of it by this group, would add in memory. */
  costOf(partition: string | null, groupName: string | null): number {
    const ring = partition === null ? undefined : this.rings.get(partition);
    const isNewRing = partition !== null && ring === undefined;
    const cost = isNewRing ? COST.ring + COST.cursor * this.groups.size : 0;
    if (groupName === null) return cost;
    const group = this.groups.get(groupName);
    if (group === undefined) return cost + COST.group + COST.cursor * (this.rings.size + (isNewRing ? 1 : 0));
    if (partition === null) return cost + COST.cursor * (this.rings.size - group.cursors);
    return ring === undefined || ring.cursors.has(groupName) ? cost : cost + COST.cursor;
  }

  /** Somebody reads a partition, or all of them, from now on until {@link unsubscribed}: it counts as popping. */
  subscribed(group: string, partition: string | null): void {
    if (!this.subscribers.add(group, partition)) return;
    this.#watchRead(group, partition);
    this.changed();
  }

  unsubscribed(group: string, partition: string | null): void {
    if (!this.subscribers.remove(group, partition)) return;
    const reader = partition === null ? this.groups.get(group) : this.rings.get(partition)?.cursors.get(group);
    if (reader !== undefined) reader.lastPopAt = this.context.now;
    this.touchedAt = this.context.now;
    this.#watchRead(group, partition);
    this.changed();
  }

  /** Idleness of what has subscribers is nothing to look at; what has lost its last one begins to be idle. */
  #watchRead(groupName: string, partition: string | null): void {
    const group = this.groups.get(groupName);
    const rings = partition === null ? this.rings.awake : [this.rings.get(partition)];
    for (const ring of rings) {
      ring?.cursors.get(groupName)?.watchIdle();
      if (ring?.messages.size === 0) ring.watch();
    }
    group?.watch();
    this.watch();
  }

  /** Whether an empty partition stays, without anybody having to look at it. */
  keeps({ partition }: Ring): boolean {
    return this.subscribers.name(partition) || (this.subscribers.size > 0 && this.rings.size === 1);
  }

  /** The home's word on how long ago a pop with no partition used a group, wherever it was served. */
  hearIdle(name: string, idleMs: number): void {
    const group = this.groups.get(name);
    if (group === undefined) return;
    group.idleWordAt = this.context.now;
    group.lastPopAt = Math.max(group.lastPopAt, this.context.now - idleMs);
  }

  /** Whether a restart has to bring this queue back: the inbox of a single reply is not worth a row. */
  get isKept(): boolean {
    if (this.declared || this.stored > 0 || this.holders.size > 0) return true;
    return this.groups.size > (this.groups.has(QUEUE_MODE) ? 1 : 0);
  }

  /** Groups, partitions or holders have changed. */
  changed(): void {
    if (this.isKept) this.context.ledger.change(this.context.now);
  }

  /**
   * A pop that finds nothing changes nothing but the time at which a group counts as gone. That is written when it has
   * moved by a quarter of that span, so that sleep does not make a group look idle that is not.
   */
  notePop(popper: { notedPopAt: number }): void {
    const sloppyMs = this.options.groupIdleSeconds * 250;
    if (sloppyMs > 0 && this.context.now - popper.notedPopAt > sloppyMs) this.changed();
  }

  held(messages: number, bytes: number, memory: number): void {
    this.length += messages;
    this.bytes += bytes;
    this.context.memoryBytes += memory;
    if (this.length === 0 && this.slot < 0) this.watch();
  }

  countDrop(cause: DropCause): void {
    this.drops[cause]++;
    this.context.counters.dropped[cause]++;
  }

  popEnded(): void {
    this.parkedPops--;
    if (this.slot < 0) this.watch();
  }

  setOptions(options: QueueOptions, declared: boolean): void {
    // Every start of the owner declares its queues anew.
    if (declared === this.declared && areSame(options, this.options)) return;
    this.options = options;
    this.declared = declared;
    // Messages that come back must not be judged by rules that no longer hold.
    this.changed();
    this.#watchLoneRing();
    for (const ring of this.rings.values()) {
      ring.watch();
      for (const cursor of ring.cursors.values()) cursor.watchIdle();
    }
    for (const group of this.groups.values()) group.watch();
    this.watch();
    this.serveParked();
  }

  /** Looks again at every parked pop, after the rules or the whole contents have changed. */
  serveParked(): void {
    if (this.parkedPops === 0) return;
    for (const group of this.listening) group.parking.reviewWindow(group.parking.waiters.head);
    for (const ring of this.rings.values()) {
      for (const cursor of ring.parked) cursor.group.parking.reviewWindow(cursor.waiters?.head ?? null);
    }
  }

  /** Messages went away under pops parked on `ring`: windows with nothing in hand start anew. */
  reviewWindows(ring: Ring): void {
    if (this.parkedPops === 0 || !this.hasWindow) return;
    for (const group of this.listening) group.parking.reviewWindow(group.parking.waiters.head);
    for (const cursor of ring.parked) cursor.group.parking.reviewWindow(cursor.waiters?.head ?? null);
  }

  /** Drops every message and lease; groups, partitions and options stay. Answers how many messages went. */
  clear(): number {
    let dropped = 0;
    for (const ring of this.rings.values()) dropped += ring.clear();
    this.touchedAt = this.context.now;
    this.serveParked();
    return dropped;
  }

  /** A group has left a partition alone for longer than it may. */
  dropIdleCursor(cursor: Cursor): void {
    const owed = cursor.pending;
    if (owed > 0) {
      this.context.counters.groupIdleOwed += owed;
      this.context.effects.log("group_idle", {
        queue: this.name,
        partition: cursor.ring.partition,
        group: cursor.group.name,
        owed,
      });
    }
    cursor.ring.expel(cursor);
  }

  forgetGroup(group: Group): void {
    this.dropGroup(group);
    this.context.effects.groupForgotten(this.name, group.name);
  }

  dropGroup(group: Group): void {
    for (const ring of this.rings.values()) {
      const cursor = ring.cursors.get(group.name);
      if (cursor !== undefined) ring.expel(cursor);
    }
    group.close();
    this.changed();
    this.groups.delete(group.name);
  }

  /** An empty partition that nobody has touched goes, unless somebody waits on it or it is the only one. */
  ringIdle(ring: Ring): void {
    if (ring.parked.size === 0 && this.rings.size > 1 && !this.subscribers.name(ring.partition)) {
      this.removeRing(ring);
      return;
    }
    ring.touchedAt = this.context.now;
    // The only one stays for good: to look again would wake a sleeping owner for nothing, day and night.
    if (ring.parked.size > 0) ring.watch();
  }

  /** The only partition gets company, or other rules: its idleness matters again, and is taken to have been looked at. */
  #watchLoneRing(): void {
    if (this.rings.size !== 1) return;
    const [ring] = this.rings.awake;
    if (ring === undefined || ring.slot >= 0 || ring.messages.size > 0) return;
    const { now, settings } = this.context;
    ring.touchedAt = now - ((now - ring.touchedAt) % settings.implicitIdleMs);
    ring.watch();
  }

  removeRing(ring: Ring): void {
    this.changed();
    ring.clear();
    for (const cursor of ring.cursors.values()) ring.expel(cursor);
    this.context.deadlines.disarm(ring);
    this.rings.delete(ring.partition);
    this.context.memoryBytes -= COST.ring;
  }

  /** Arms the look at whether the queue can be collected. */
  watch(): void {
    if (this.declared || this.#closed) return;
    if (this.subscribers.size > 0) this.context.deadlines.disarm(this);
    else this.context.deadlines.arm(this, this.touchedAt + this.context.settings.implicitIdleMs);
  }

  onDue(): void {
    if (!this.isIdle) return;
    const idleAt = this.touchedAt + this.context.settings.implicitIdleMs;
    if (idleAt > this.context.now) this.watch();
    else this.context.collect(this);
  }

  /** Takes everything down, except parked pops, which the caller has moved or ended. */
  close(): void {
    this.changed();
    this.#closed = true;
    for (const ring of this.rings.values()) this.removeRing(ring);
    for (const group of this.groups.values()) group.close();
    this.groups.clear();
    this.context.deadlines.disarm(this);
    this.context.memoryBytes -= COST.queue;
  }
}

function areSame(a: QueueOptions, b: QueueOptions): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
