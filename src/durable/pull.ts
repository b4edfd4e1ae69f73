import type { PulledMessage, Settlement, SettleOutcome } from "./message.ts";
import type { Cursor } from "./cursor.ts";
import { giveUp, isExhausted } from "./give-up.ts";
import { DEAD, LEASED, WAITS } from "./pending.ts";
import { leaseOf, parseLease } from "./refs.ts";
import type { Store } from "./store.ts";
import { promote, take } from "./take.ts";

/** Leases messages to a pull client. */
export function pull(
  store: Store,
  cursor: Cursor,
  partition: string,
  now: number,
  limit: number,
  visibilityTimeoutMs: number,
): PulledMessage[] {
  promote(store, now);
  const { entries, messages } = take(store, cursor, now, limit);
  const due = now + visibilityTimeoutMs;
  return entries.map(({ seq, attempts, bytes }, index) => {
    store.pending.put({ seq, cursor: cursor.number, attempts, due, kind: LEASED, bytes, error: null });
    const message = messages[index] as (typeof messages)[number];
    return { ...message, leaseId: leaseOf({ partition, seq, id: message.id, cursor: cursor.number }) };
  });
}

/**
 * Takes what a pull client has done with a message. A late answer counts for as long as the message is there, whether or
 * not somebody else has it by now.
 */
export function settle(store: Store, { leaseId, retry }: Settlement, now: number): SettleOutcome {
  const lease = parseLease(leaseId);
  const cursor = lease === null ? undefined : store.cursors.get(lease.cursor);
  if (lease === null || cursor === undefined) return "unknown";
  const { seq, id } = lease;
  const pending = store.pending.get(cursor.number, seq);
  if (pending === undefined || pending.kind === DEAD || pending.attempts === 0) return "unknown";
  const logged = store.log.at(seq);
  if (logged?.message.id !== id) return "unknown";
  const { attempts, bytes } = pending;
  if (retry === null) {
    store.pending.remove(cursor.number, seq);
    store.release([logged.row]);
    return "acked";
  }
  if (isExhausted(cursor, attempts)) {
    giveUp(store, cursor, { seq, bytes, attempts, error: "the consumer asked for another delivery" });
    store.release([logged.row]);
    return "retried";
  }
  const due = now + (retry.delaySeconds ?? cursor.consumer?.retryDelaySeconds ?? 0) * 1000;
  store.pending.put({ seq, cursor: cursor.number, attempts, due, kind: WAITS, bytes, error: null });
  return "retried";
}
