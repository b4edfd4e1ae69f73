import type { Backlog, BacklogDetail, MessageState, PeekedMessage } from "./message.ts";
import type { Cursor } from "./cursor.ts";
import type { RowSpan } from "./log.ts";
import { DEAD, WAITS, type Pending } from "./pending.ts";
import { refOf } from "./refs.ts";
import type { Store } from "./store.ts";

interface Total {
  count: number;
  bytes: number;
}

/** What a cursor has not settled, of the log. */
export function owed(store: Store, cursor: Cursor): Total {
  const ahead = store.log.after(cursor.position);
  const pending = store.pending.total(cursor.number);
  const total = { count: ahead.count + pending.count, bytes: ahead.bytes + pending.bytes };
  for (const { count, bytes } of cursor.out) {
    total.count += count;
    total.bytes += bytes;
  }
  return total;
}

/** What is held of the log: not settled by every cursor, each message once. */
function held(store: Store): Total {
  const [only, ...others] = store.cursors.values();
  if (only !== undefined && others.length === 0) return owed(store, only);
  const { behind } = store;
  const total = store.log.after(behind);
  const before = store.pending.distinctBefore(behind.seq);
  total.count += before.count;
  total.bytes += before.bytes;
  const counted = new Set<number>();
  for (const cursor of store.cursors.values()) {
    for (const { entries } of cursor.out) {
      for (const { seq, bytes, isPurged } of entries) {
        if (isPurged || seq >= behind.seq || counted.has(seq)) continue;
        counted.add(seq);
        if (store.pending.hasAny({ from: seq, to: seq + 1 })) continue;
        total.count++;
        total.bytes += bytes;
      }
    }
  }
  return total;
}

/** Every message that is here: ready, delayed and leased ones alike. */
export function backlogOf(store: Store): Backlog {
  const { count, bytes } = held(store);
  const { totals, oldestSentAt } = store.delayed;
  const times = [store.log.oldestSentAt, oldestSentAt].filter((time) => time !== null);
  return {
    count: count + totals.count,
    bytes: bytes + totals.bytes,
    oldestAt: times.length === 0 ? null : Math.min(...times),
  };
}

export function backlogDetail(store: Store, now: number): BacklogDetail {
  const backlog = backlogOf(store);
  const split = store.pending.split(now);
  const flying = new Set<number>();
  for (const cursor of store.cursors.values()) {
    for (const { entries } of cursor.flights) {
      for (const { seq, isPurged } of entries) if (!isPurged) flying.add(seq);
    }
  }
  // With several consumers, what is out with one may be pending for another.
  for (const seq of store.cursors.size > 1 ? flying : []) {
    const pending = store.pending.within({ from: seq, to: seq + 1 });
    const later = pending.filter(({ due }) => due > now);
    if (later.some(({ kind }) => kind !== WAITS)) split.out--;
    else if (later.length > 0) split.later--;
  }
  const leasedCount = flying.size + split.out;
  const delayedCount = store.delayed.totals.count + split.later;
  return { ...backlog, leasedCount, delayedCount, readyCount: Math.max(0, backlog.count - leasedCount - delayedCount) };
}

/** Bytes of bodies on the disk, settled ones of rows that are still needed included. */
export function storedBytes(store: Store): number {
  return held(store).bytes + store.delayed.totals.bytes;
}

/** Up to `limit` messages as they lie: the log in its order, then delayed ones by when they are due. */
export function peek(store: Store, partition: string, now: number, limit: number): PeekedMessage[] {
  const peeked: PeekedMessage[] = [];
  for (const one of logged(store, partition, now, store.log.start.seq)) {
    if (peeked.length >= limit) return peeked;
    peeked.push(one.peeked);
  }
  for (const { message, due, number } of store.delayed.all()) {
    if (peeked.length >= limit) break;
    // Delayed messages have no number in the log; theirs is told apart by its sign.
    const ref = refOf({ partition, seq: -number, id: message.id });
    const state: MessageState = due > now ? "delayed" : "ready";
    peeked.push({ ...message, body: message.body.slice(), state, dueAt: due, ref });
  }
  return peeked;
}

/** Messages that became ready one after the other, and the place after them. */
export interface PeekedRun {
  messages: PeekedMessage[];
  next: number;
}

/** Up to `limit` messages of the log from a place on; null = its end. A delayed message comes when it has become ready. */
export function peekFrom(store: Store, partition: string, now: number, limit: number, from: number | null): PeekedRun {
  const messages: PeekedMessage[] = [];
  const end = store.log.tail.seq;
  for (const { seq, peeked } of logged(store, partition, now, Math.max(from ?? end, store.log.start.seq))) {
    if (messages.length >= limit) return { messages, next: seq };
    messages.push(peeked);
  }
  return { messages, next: end };
}

/** The messages of the log from a number on that have not been settled. */
function* logged(
  store: Store,
  partition: string,
  now: number,
  from: number,
): Generator<{ seq: number; peeked: PeekedMessage }> {
  const flying = flyingOf(store);
  const { seq: behind } = store.behind;
  const pending = new Map<number, Pending[]>();
  let row: RowSpan | null = null;
  for (const found of store.log.from(from)) {
    if (found.row.from !== row?.from) {
      row = found.row;
      pending.clear();
      for (const one of store.pending.within(row)) pending.set(one.seq, [...(pending.get(one.seq) ?? []), one]);
    }
    const isAhead = found.seq >= behind;
    const view = viewOf(pending.get(found.seq) ?? [], flying.get(found.seq), isAhead, found.message.attempts, now);
    if (view === null) continue;
    const { seq, message } = found;
    const ref = refOf({ partition, seq, id: message.id });
    yield { seq, peeked: { ...message, ...view, body: message.body.slice(), ref } };
  }
}

/** The attempts of what is out, negative for a held batch. */
export function flyingOf(store: Store): Map<number, number> {
  const flying = new Map<number, number>();
  for (const cursor of store.cursors.values()) {
    for (const { entries } of cursor.flights) for (const { seq, attempts } of entries) flying.set(seq, attempts);
    for (const { entries } of cursor.held) for (const { seq, attempts } of entries) flying.set(seq, -attempts);
  }
  return flying;
}

interface View {
  state: MessageState;
  dueAt: number | null;
  attempts: number;
}

/**
 * How a message of the log stands, for whom it stands best; null = it is settled. `out` is negative for a held batch;
 * `before` are deliveries before it was imported.
 */
export function viewOf(
  pending: readonly Pending[],
  out: number | undefined,
  isAhead: boolean,
  before: number,
  now: number,
): View | null {
  if (out !== undefined && out > 0) return { state: "leased", dueAt: null, attempts: out };
  if (out !== undefined) return { state: "ready", dueAt: null, attempts: -out - 1 };
  const attempts = pending.reduce((most, one) => Math.max(most, one.attempts), before);
  const lease = pending.find(({ kind, due }) => kind !== WAITS && due > now);
  if (lease !== undefined) {
    const isDead = lease.kind === DEAD;
    return { state: "leased", dueAt: isDead ? null : lease.due, attempts };
  }
  const later = pending.find(({ due }) => due > now);
  if (later !== undefined) return { state: "delayed", dueAt: later.due, attempts };
  return pending.length > 0 || isAhead ? { state: "ready", dueAt: null, attempts } : null;
}
