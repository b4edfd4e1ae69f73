import type { RowSpan } from "./log.ts";
import { LEASED, WAITS, type Pending } from "./pending.ts";
import { dissolveHeld } from "./push.ts";
import type { Store } from "./store.ts";

/** How many rows one turn drops. */
const ROWS = 1000;
/** Rows are dropped together, this often at the most. */
const GRAIN_MS = 1000;

/** What comes after an expiry. */
export interface Expiry {
  /** When there is more to drop; null = never, as things stand. */
  next: number | null;
  /** Whether something old is out with a consumer, and is to be looked at again when it comes back. */
  isOut: boolean;
}

/** When a message that becomes ready now is dropped. */
export function expiryOf({ config }: Store, readyAt: number): number {
  return Math.ceil((readyAt + config.settings.retentionSeconds * 1000) / GRAIN_MS) * GRAIN_MS;
}

/** Drops what is older than the queue's retention, counted from when it became ready first; what is leased stays. */
export function expire(store: Store, now: number): Expiry {
  const { retentionSeconds } = store.config.settings;
  const retentionMs = retentionSeconds * 1000;
  let next: number | null = null;
  const old: RowSpan[] = [];
  const ends = new Map<number, { seq: number; bytes: number }>();
  for (const { from, to, readyAt, end } of store.log.spans(0, store.log.tail.seq)) {
    if (readyAt + retentionMs > now) {
      next = expiryOf(store, readyAt);
      break;
    }
    if (old.length === ROWS) {
      next = now;
      break;
    }
    old.push({ from, to });
    ends.set(from, end);
  }
  if (old.length === 0) return { next, isOut: false };
  for (const cursor of store.cursors.values()) dissolveHeld(store, cursor, now);
  let expired = 0;
  for (const row of old) {
    const { dropped, leasedUntil } = expireRow(store, row, now);
    expired += dropped;
    if (leasedUntil !== null) next = Math.min(next ?? Infinity, leasedUntil);
  }
  const last = ends.get(old.at(-1)?.from ?? -1);
  if (last !== undefined) {
    for (const cursor of store.cursors.values()) if (cursor.position.seq < last.seq) cursor.position = { ...last };
  }
  store.release(old);
  if (expired > 0) {
    store.counters.expired += expired;
    store.touch();
    store.effects.log("messages_expired", { count: expired, retentionSeconds });
  }
  return { next, isOut: old.some((row) => store.isHeld(row)) };
}

/** Settles for everybody what of a row nobody has at the moment. */
function expireRow(store: Store, row: RowSpan, now: number): { dropped: number; leasedUntil: number | null } {
  const pending = store.pending.within(row);
  const isWaiting = ({ kind, due }: Pending) => kind === WAITS || (kind === LEASED && due <= now);
  const dropped = new Set<number>();
  for (const { cursor, seq } of pending.filter(isWaiting)) {
    store.pending.remove(cursor, seq);
    dropped.add(seq);
  }
  const holes = store.log.holesIn(row);
  for (let seq = Math.max(row.from, store.behind.seq); seq < row.to; seq++) if (!holes.has(seq)) dropped.add(seq);
  const leases = pending.filter((message) => message.kind === LEASED && !isWaiting(message));
  for (const { seq } of leases) dropped.delete(seq);
  for (const cursor of store.cursors.values()) {
    for (const flight of cursor.flights) for (const { seq } of flight.entries) dropped.delete(seq);
  }
  const leasedUntil = leases.reduce<number | null>((until, { due }) => Math.min(until ?? Infinity, due), null);
  return { dropped: dropped.size, leasedUntil };
}
