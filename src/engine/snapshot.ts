import type { QueueOptions } from "../contract/options.ts";
import type { DropCause } from "./context.ts";
import type { Cursor } from "./cursor.ts";
import type { KeysState } from "./recent-keys.ts";
import type { Queue } from "./queue.ts";
import type { Ring } from "./ring.ts";

/** Everything that an owner must know again after a restart, beside the messages themselves. Plain data. */
export interface Snapshot {
  queues: QueueState[];
  rings: RingState[];
  /** The number of the next message: one that was used before may still lie in a row that is needed for another. */
  nextSeq: number;
  /** Of the last pushes; not of partitions that are kept only, as a consumed message may be pushed again too. */
  keys?: KeysState[];
}

export interface QueueState {
  queue: string;
  declared: boolean;
  options: QueueOptions;
  drops: Record<DropCause, number>;
  touchedAt: number;
  holders: number[];
  groups: GroupState[];
}

export interface GroupState {
  group: string;
  lastPopAt: number;
  lastSeenAt: number;
  skipped: number;
  pins: number[];
}

export interface RingState {
  queue: string;
  partition: string;
  touchedAt: number;
  /** The number from which on every message that was written is held. */
  head: number;
  /** The messages held that are older than that: others between them are gone, though their rows may live on. */
  early: number[];
  /** The number after the newest message held. */
  tail: number;
  cursors: CursorState[];
  /** The last number taken from each import. */
  imports?: [source: string, number: number][];
}

export interface CursorState {
  group: string;
  /** The message that the group is to be handed next; null = it has been handed all. */
  next: number | null;
  skipped: number;
  lastPopAt: number;
  /** What the group was handed and has not settled, with how often. */
  seqs: number[];
  attempts: number[];
}

/** When something was used last that has a subscriber: it is until the owner starts again, whenever that will be. */
const UNTIL_RESTART = Number.MAX_SAFE_INTEGER;

/** When something was used last, as a life that starts at `now` takes it over. */
export function lastUse(at: number, now: number): number {
  return Math.min(at, now);
}

/** Of queues that a restart has to bring back. Call it when every message has been written. */
export function takeSnapshot(queues: Iterable<Queue>, nextSeq: number): Snapshot {
  const snapshot: Snapshot = { queues: [], rings: [], nextSeq };
  for (const queue of queues) {
    if (!queue.isKept) continue;
    snapshot.queues.push(queueState(queue));
    for (const ring of queue.rings.awake) snapshot.rings.push(ringState(ring));
    for (const { state } of queue.rings.resting) snapshot.rings.push(state);
  }
  return snapshot;
}

function queueState(queue: Queue): QueueState {
  return {
    queue: queue.name,
    declared: queue.declared,
    options: queue.options,
    drops: { ...queue.drops },
    touchedAt: queue.subscribers.size > 0 ? UNTIL_RESTART : queue.touchedAt,
    holders: [...queue.holders],
    groups: Array.from(queue.groups.values(), (group) => {
      group.notedPopAt = queue.context.now;
      const { name, lastSeenAt, skippedBefore, pins } = group;
      const lastPopAt = queue.subscribers.readAll(name) ? UNTIL_RESTART : group.lastPopAt;
      return { group: name, lastPopAt, lastSeenAt, skipped: skippedBefore, pins: [...pins] };
    }),
  };
}

export function ringState(ring: Ring): RingState {
  const { queue, partition, messages, cursors } = ring;
  const imports = ring.sources.entries;
  const head = Math.max(ring.wholeFrom, messages.head?.seq ?? queue.context.nextSeq);
  const early: number[] = [];
  for (let message = messages.head; message !== null && message.seq < head; message = message.next) {
    early.push(message.seq);
  }
  return {
    queue: queue.name,
    partition,
    touchedAt: queue.keeps(ring) ? UNTIL_RESTART : ring.touchedAt,
    head,
    early,
    tail: (messages.tail?.seq ?? -1) + 1,
    cursors: Array.from(cursors.values(), cursorState),
    ...(imports.length > 0 && { imports }),
  };
}

/** Whether a written message was still held. */
export function isHeld({ head, tail, early }: RingState): (seq: number) => boolean {
  const before = early.length === 0 ? null : new Set(early);
  return (seq) => (seq >= head && seq < tail) || (before !== null && before.has(seq));
}

function cursorState(cursor: Cursor): CursorState {
  const { queue, partition } = cursor.ring;
  cursor.notedPopAt = queue.context.now;
  const isSubscribed = queue.subscribers.read(cursor.group.name, partition);
  const seqs: number[] = [];
  const attempts: number[] = [];
  for (const delivery of cursor.deliveries.values()) {
    seqs.push(delivery.seq);
    attempts.push(delivery.attempts);
  }
  return {
    group: cursor.group.name,
    next: cursor.position.message?.seq ?? null,
    skipped: cursor.skippedTotal,
    lastPopAt: isSubscribed ? UNTIL_RESTART : cursor.lastPopAt,
    seqs,
    attempts,
  };
}
