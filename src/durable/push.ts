import type { Cursor, Delivery, Flight, PushConsumerConfig } from "./cursor.ts";
import { countOf, messagesOf, type Entry } from "./entry.ts";
import { giveUp, isExhausted } from "./give-up.ts";
import type { RowSpan } from "./log.ts";
import { WAITS } from "./pending.ts";
import type { Store } from "./store.ts";
import { available, availableSince, promote, take } from "./take.ts";

/** The most that may be out at once in bodies, whatever the number of batches: an isolate has 128 MB. */
const MAX_OUT_BYTES = 32 * 1024 * 1024;
const FIRST_BACKOFF_MS = 1000;
const LAST_BACKOFF_MS = 60_000;

/** What a consumer made of one message. A retry with no delay of its own waits for as long as the consumer's settings say. */
export type Decision = { kind: "ack" } | { kind: "retry"; delaySeconds: number | null };

/** How a delivery ended. */
export type Verdict =
  /** Nobody was asked: it costs no attempt. */
  { kind: "unreachable"; reason: string } | { kind: "done"; decisions: readonly Decision[]; error: string | null };

/**
 * Whether a consumer may be handed a new entry in the turn of its insert, which saves the row of its lease: there is one
 * consumer, it waits for just this, and the whole entry is one batch.
 */
export function receiverOf(store: Store, entry: Entry, now: number): Cursor | null {
  if (store.cursors.size !== 1 || store.config.settings.deliveryPaused) return null;
  for (const cursor of store.cursors.values()) {
    const { push, position } = cursor;
    if (push === null || position.seq !== store.log.tail.seq || !hasSlot(store, cursor, push, now)) return null;
    if (cursor.held.length > 0 || (store.pending.nextDue(cursor.number) ?? Infinity) <= now) return null;
    const count = countOf(entry);
    const goesNow = push.maxWaitMs === 0 ? count <= push.batchSize : count === push.batchSize;
    return goesNow ? cursor : null;
  }
  return null;
}

/** Notes that an entry has been inserted as handed over. */
export function handOverInserted(store: Store, cursor: Cursor, entry: Entry, row: RowSpan): Delivery {
  const messages = Array.from(messagesOf(entry), (message) => ({ ...message, attempts: 1 }));
  const entries = messages.map(({ body }, i) => ({
    seq: row.from + i,
    attempts: 1,
    bytes: body.byteLength,
    row,
    isPurged: false,
  }));
  const flight: Flight = { cursor, entries, count: entries.length, bytes: entry.bytes };
  cursor.position = { ...store.log.tail };
  store.launch(flight);
  return { flight, messages };
}

/** Takes as many batches as may go out now. `mayStart` is asked before each. */
export function handOver(store: Store, now: number, mayStart: () => boolean): Delivery[] {
  promote(store, now);
  const deliveries: Delivery[] = [];
  if (store.config.settings.deliveryPaused) return deliveries;
  for (const cursor of store.cursors.values()) {
    const { push } = cursor;
    if (push === null) continue;
    while (hasSlot(store, cursor, push, now) && isRipe(store, cursor, push, now) && mayStart()) {
      const delivery = next(store, cursor, push, now);
      if (delivery === null) break;
      deliveries.push(delivery);
      // While it is not known that anybody is there, one batch finds out.
      if (cursor.failures > 0) break;
    }
  }
  return deliveries;
}

function hasSlot(store: Store, cursor: Cursor, { maxConcurrency }: PushConsumerConfig, now: number): boolean {
  if (cursor.flights.size >= maxConcurrency || cursor.retryAt > now) return false;
  if (cursor.failures > 0 && cursor.flights.size > 0) return false;
  return bytesOut(store) < MAX_OUT_BYTES;
}

function bytesOut(store: Store): number {
  let bytes = 0;
  for (const cursor of store.cursors.values()) for (const flight of cursor.flights) bytes += flight.bytes;
  return bytes;
}

function isRipe(store: Store, cursor: Cursor, { batchSize, maxWaitMs }: PushConsumerConfig, now: number): boolean {
  if (cursor.held.length > 0) return true;
  if (maxWaitMs === 0) return available(store, cursor, now, 1) > 0;
  if (available(store, cursor, now, batchSize) >= batchSize) return true;
  return (availableSince(store, cursor, now) ?? Infinity) + maxWaitMs <= now;
}

function next(store: Store, cursor: Cursor, { batchSize }: PushConsumerConfig, now: number): Delivery | null {
  const held = cursor.held.shift();
  if (held !== undefined) {
    cursor.flights.add(held);
    store.touch();
    return { flight: held, messages: messagesAgain(store, held) };
  }
  const { entries, messages, bytes } = take(store, cursor, now, batchSize);
  if (entries.length === 0) return null;
  const flight: Flight = { cursor, entries, count: entries.length, bytes };
  store.launch(flight);
  return { flight, messages };
}

/** A batch that is held is whole: before anything of it may leave, it is dissolved. */
function messagesAgain({ log }: Store, { entries }: Flight): Delivery["messages"] {
  return entries.map(({ seq, attempts }) => {
    const logged = log.at(seq);
    if (logged === undefined) throw new Error(`message ${seq} is held and not in the log`);
    return { ...logged.message, attempts };
  });
}

/** When a cursor has something to hand over next, as things stand; undefined = not before something else happens. */
export function nextHandOver(store: Store, cursor: Cursor, now: number): number | undefined {
  const { push } = cursor;
  if (push === null || store.config.settings.deliveryPaused) return undefined;
  if (cursor.flights.size >= push.maxConcurrency || bytesOut(store) >= MAX_OUT_BYTES) return undefined;
  if (cursor.failures > 0 && cursor.flights.size > 0) return undefined;
  if (cursor.held.length > 0) return cursor.retryAt;
  const since = availableSince(store, cursor, now);
  const again = store.pending.nextDue(cursor.number);
  if (since === undefined) return again === undefined ? undefined : Math.max(again, cursor.retryAt);
  return Math.max(since + push.maxWaitMs, cursor.retryAt);
}

/** Takes a batch back, with what became of it. Delays count from `now`. */
export function finish(store: Store, flight: Flight, verdict: Verdict, now: number): void {
  const { cursor } = flight;
  if (!cursor.flights.has(flight)) return;
  if (verdict.kind === "unreachable") {
    notReached(store, flight, verdict.reason, now);
    return;
  }
  const { decisions, error } = verdict;
  cursor.failures = 0;
  cursor.retryAt = 0;
  cursor.last = { at: now, outcome: error === null ? "ok" : "error", error };
  store.land(flight);
  flight.entries.forEach((entry, index) => {
    const decision = decisions[index];
    if (entry.isPurged || decision?.kind === "ack") return;
    retry(store, cursor, entry, decision?.delaySeconds ?? null, error, now);
  });
  store.release(flight.entries.map(({ row }) => row));
}

function retry(
  store: Store,
  cursor: Cursor,
  { seq, bytes, attempts }: Flight["entries"][number],
  delaySeconds: number | null,
  error: string | null,
  now: number,
): void {
  store.touch();
  if (isExhausted(cursor, attempts)) {
    giveUp(store, cursor, { seq, bytes, attempts, error: error ?? "the consumer asked for another delivery" });
    return;
  }
  const delay = delaySeconds ?? cursor.consumer?.retryDelaySeconds ?? 0;
  store.pending.put({ seq, cursor: cursor.number, attempts, due: now + delay * 1000, kind: WAITS, bytes, error: null });
}

/** The batch waits as it is, for ever longer while nobody is there. */
function notReached(store: Store, flight: Flight, reason: string, now: number): void {
  const { cursor } = flight;
  cursor.flights.delete(flight);
  cursor.held.push(flight);
  cursor.retryAt = now + Math.min(LAST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** cursor.failures);
  cursor.failures++;
  cursor.last = { at: now, outcome: "unreachable", error: reason };
  if (flight.count < flight.entries.length) dissolveHeld(store, cursor, now);
  store.touch();
}

/** Batches that are held wait one message at a time again, as if they had never been put together. */
export function dissolveHeld(store: Store, cursor: Cursor, now: number): void {
  for (const flight of cursor.held.slice()) {
    for (const { seq, attempts, bytes, isPurged } of flight.entries) {
      if (isPurged) continue;
      store.pending.put({
        seq,
        cursor: cursor.number,
        attempts: attempts - 1,
        due: now,
        kind: WAITS,
        bytes,
        error: null,
      });
    }
    store.land(flight);
    store.release(flight.entries.map(({ row }) => row));
    store.touch();
  }
}
