import { effectiveOptions } from "../contract/options.ts";
import type { EngineContext } from "./context.ts";
import { Cursor } from "./cursor.ts";
import { Group } from "./group.ts";
import { ImportSources } from "./import-sources.ts";
import type { Message } from "./message.ts";
import { Queue } from "./queue.ts";
import { Ring } from "./ring.ts";
import { isHeld, lastUse, type CursorState, type QueueState, type RingState } from "./snapshot.ts";
import type { StoredMessage } from "./stored.ts";

/** How the last life of the owner ended, as far as it matters to what is restored. */
export interface Restored {
  /**
   * Whether times are to be taken as they were written. After an unclean end nobody knows who popped last, and a group
   * counts as there.
   */
  timesAreExact: boolean;
}

export function restoreQueue(
  context: EngineContext,
  state: QueueState,
  isHome: boolean,
  { timesAreExact }: Restored,
): Queue {
  // Defaults may have changed between two lives; what was declared is brought up to date by the home.
  const options = state.declared ? state.options : effectiveOptions(null, context.settings);
  const queue = new Queue(context, state.queue, isHome, options, state.declared);
  queue.touchedAt = lastUse(state.touchedAt, context.now);
  Object.assign(queue.drops, state.drops);
  for (const owner of state.holders) queue.holders.add(owner);
  for (const { group: name, lastPopAt, lastSeenAt, skipped, pins } of state.groups) {
    const group = new Group(queue, name);
    group.skippedBefore = skipped;
    for (const owner of pins) group.pins.add(owner);
    if (timesAreExact) {
      group.lastPopAt = lastUse(lastPopAt, context.now);
      group.lastSeenAt = lastSeenAt;
    }
    queue.groups.set(name, group);
    group.watch();
  }
  queue.watch();
  return queue;
}

/** What a life takes over of where everybody stood in a partition of `queue`. */
export function takenOver(queue: Queue, state: RingState, { timesAreExact }: Restored): RingState {
  const known = state.cursors.filter(({ group }) => queue.groups.has(group));
  const { now } = queue.context;
  const cursors = known.map((cursor) => ({
    ...cursor,
    lastPopAt: timesAreExact ? lastUse(cursor.lastPopAt, now) : now,
  }));
  return { ...state, queue: queue.name, cursors };
}

/**
 * Rebuilds a partition. Of the messages, which come in order, those are taken that the state still knows; a delivery
 * that was out waits to be handed over again, with its attempts as they were.
 */
export function restoreRing(queue: Queue, state: RingState, messages: Iterable<StoredMessage>): Ring {
  const ring = new Ring(queue, state.partition);
  queue.rings.set(state.partition, ring);
  ring.touchedAt = lastUse(state.touchedAt, queue.context.now);
  ring.wholeFrom = state.head;
  ring.sources = new ImportSources(state.imports);
  const bySeq = ring.restoreMessages(messages, isHeld(state), named(state.cursors));
  const placed = state.cursors.flatMap((cursor) => {
    const group = queue.groups.get(cursor.group);
    return group === undefined ? [] : [restoreCursor(ring, group, cursor, bySeq)];
  });
  placed.sort((a, b) => (a.at?.seq ?? Infinity) - (b.at?.seq ?? Infinity));
  ring.positions.restore(placed);
  for (const { cursor } of placed) {
    cursor.group.cursorAdded(cursor);
    cursor.watchIdle();
  }
  ring.watch();
  return ring;
}

function restoreCursor(
  ring: Ring,
  group: Group,
  state: CursorState,
  messages: ReadonlyMap<number, Message>,
): { cursor: Cursor; at: Message | null } {
  const cursor = new Cursor(ring, group);
  ring.cursors.set(state.group, cursor);
  cursor.skipped = state.skipped;
  cursor.lastPopAt = lastUse(state.lastPopAt, ring.queue.context.now);
  state.seqs.forEach((seq, index) => {
    const message = messages.get(seq);
    if (message !== undefined) cursor.restore(message, state.attempts[index] ?? 1);
  });
  return { cursor, at: state.next === null ? null : (messages.get(state.next) ?? firstFrom(ring, state.next)) };
}

function firstFrom(ring: Ring, seq: number): Message | null {
  for (const message of ring.messages) if (message.seq >= seq) return message;
  return null;
}

/** The messages that cursors speak of: the only ones to be found again by their numbers. */
function named(cursors: readonly CursorState[]): Set<number> {
  const seqs = new Set<number>();
  for (const cursor of cursors) {
    if (cursor.next !== null) seqs.add(cursor.next);
    for (const seq of cursor.seqs) seqs.add(seq);
  }
  return seqs;
}
