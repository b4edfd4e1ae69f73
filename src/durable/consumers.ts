import type { QueueConfig } from "../contract/queue-config.ts";
import { Cursor } from "./cursor.ts";
import { WAITS } from "./pending.ts";
import { dissolveHeld } from "./push.ts";
import type { Store } from "./store.ts";

/** Takes over what is declared: every consumer has a cursor, and nobody else has one. */
export function applyConfig(store: Store, config: QueueConfig, now: number): void {
  store.config = config;
  const wanted = new Map(config.consumers.map((consumer) => [consumer.consumerId, consumer]));
  const [...before] = store.cursors.values();
  const gone = before.filter(({ consumerId }) => consumerId === null || !wanted.has(consumerId));
  const known = new Set(before.map(({ consumerId }) => consumerId));
  for (const cursor of before) {
    const limit = cursor.consumer?.maxRetries ?? 0;
    cursor.consumer = wanted.get(cursor.consumerId ?? "") ?? null;
    // A batch that waits to be handed over may hold what has had its last delivery by now.
    if ((cursor.consumer?.maxRetries ?? Infinity) < limit) dissolveHeld(store, cursor, now);
  }
  for (const consumer of config.consumers) {
    if (known.has(consumer.consumerId)) continue;
    const nobodys = before.find(({ consumerId }) => consumerId === null);
    const cursor = nobodys ?? addCursor(store, consumer.consumerId, now);
    // The first consumer takes the place that was kept.
    if (nobodys !== undefined) {
      nobodys.consumerId = consumer.consumerId;
      gone.splice(gone.indexOf(nobodys), 1);
      before.splice(before.indexOf(nobodys), 1);
    }
    cursor.consumer = consumer;
    store.touch();
  }
  // When several leave at once, what any of them still needed is kept for whoever comes next.
  if (config.consumers.length === 0 && gone.length > 1) addCursor(store, null, now);
  for (const cursor of gone) if (cursor.consumerId !== null) remove(store, cursor, now);
  if (store.cursors.size === 0) {
    const cursor = new Cursor(store.nextCursor++, null, store.log.start);
    store.cursors.set(cursor.number, cursor);
    store.touch();
  }
}

/** A consumer that is new beside others starts with everything that is still held. */
function addCursor(store: Store, consumerId: string | null, now: number): Cursor {
  const start = store.cursors.size === 0 ? store.log.start : store.behind;
  const cursor = new Cursor(store.nextCursor++, consumerId, start);
  for (const other of store.cursors.values()) {
    for (const { entries } of other.out) {
      for (const { seq, bytes, isPurged } of entries) {
        if (isPurged || seq >= start.seq) continue;
        store.pending.put({ seq, cursor: cursor.number, attempts: 0, due: now, kind: WAITS, bytes, error: null });
      }
    }
  }
  store.pending.copyTo(cursor.number, start.seq, now);
  store.cursors.set(cursor.number, cursor);
  return cursor;
}

/** Removes a consumer's cursor. The last one becomes nobody's: it keeps the place, and what was out is due again. */
function remove(store: Store, cursor: Cursor, now: number): void {
  store.touch();
  const isLast = store.cursors.size === 1;
  for (const flight of cursor.out) {
    for (const { seq, bytes, isPurged } of isLast ? flight.entries : []) {
      if (isPurged) continue;
      store.pending.put({ seq, cursor: cursor.number, attempts: 0, due: now, kind: WAITS, bytes, error: null });
    }
    store.land(flight);
    store.release(flight.entries.map(({ row }) => row));
  }
  if (isLast) {
    store.pending.restart(cursor.number, now);
    cursor.consumerId = null;
    cursor.consumer = null;
    cursor.last = null;
    cursor.failures = 0;
    cursor.retryAt = 0;
    return;
  }
  store.pending.forget(cursor.number);
  store.cursors.delete(cursor.number);
  // What only this one still needed goes.
  store.release([...store.log.spans(0, store.behind.seq)]);
}
