import type { StoredMessage } from "./message.ts";
import type { Cursor, FlightEntry } from "./cursor.ts";
import { giveUp, isExhausted } from "./give-up.ts";
import type { Logged, Mark, RowSpan } from "./log.ts";
import { LEASED, WAITS, type Pending } from "./pending.ts";
import type { Store } from "./store.ts";

/** The most that one batch may carry: it crosses an RPC, whose messages end at 32 MiB. */
export const MAX_BATCH_CARRIED_BYTES = 8 * 1024 * 1024;
/** How many rows of delayed messages become ready in one turn. */
const PROMOTED_ROWS = 200;

/** Messages that a cursor hands out: they are its own until somebody says what became of them. */
export interface Taken {
  entries: FlightEntry[];
  /** `attempts` count this delivery. */
  messages: StoredMessage[];
  bytes: number;
}

/** Moves delayed messages that are due to the end of the log. */
export function promote(store: Store, now: number): void {
  for (const { number, entry } of store.delayed.take(now, PROMOTED_ROWS)) {
    store.moments.notePromoted(number, store.log.append(entry, now, null));
    store.touch();
  }
}

/**
 * Takes up to `limit` messages in the order in which they became due, first deliveries and later ones alike. One that has
 * had its last delivery is given up instead.
 */
export function take(store: Store, cursor: Cursor, now: number, limit: number): Taken {
  const taken: Taken = { entries: [], messages: [], bytes: 0 };
  const again = store.pending.due(cursor.number, now, limit);
  const fresh = store.log.from(cursor.position.seq);
  const settled: Pending[] = [];
  const exhausted: Pending[] = [];
  const position: { at: Mark | null } = { at: null };
  const hasRoom = (bytes: number) =>
    taken.entries.length === 0 || (taken.entries.length < limit && taken.bytes + bytes <= MAX_BATCH_CARRIED_BYTES);

  let nextFresh = fresh.next();
  let nextAgain = again.shift();
  while (taken.entries.length < limit && exhausted.length <= limit) {
    const isFresh = nextFresh.done !== true && (nextAgain === undefined || nextFresh.value.readyAt < nextAgain.due);
    if (isFresh && nextFresh.done !== true) {
      const logged = nextFresh.value;
      const { seq, message } = logged;
      const bytes = message.body.byteLength;
      if (isExhausted(cursor, message.attempts)) {
        // It was imported with as many deliveries as it may have.
        const error = "it had its last delivery before it was imported";
        exhausted.push({ seq, cursor: cursor.number, attempts: message.attempts, due: now, kind: WAITS, bytes, error });
      } else {
        if (!hasRoom(bytes)) break;
        add(taken, logged, message.attempts + 1);
      }
      position.at = logged.after;
      nextFresh = fresh.next();
    } else if (nextAgain !== undefined) {
      const logged = store.log.at(nextAgain.seq);
      // Deliveries before an import count for every consumer, even one that starts anew.
      const attempts = Math.max(nextAgain.attempts, logged?.message.attempts ?? 0);
      if (isExhausted(cursor, attempts)) exhausted.push({ ...nextAgain, attempts });
      else if (logged === undefined) settled.push(nextAgain);
      else {
        if (!hasRoom(nextAgain.bytes)) break;
        add(taken, logged, attempts + 1);
        settled.push(nextAgain);
      }
      nextAgain = again.shift();
    } else break;
  }
  fresh.return(undefined);

  // Reading is over: now it may be written.
  const passed = position.at === null ? [] : store.advance(cursor, position.at);
  for (const { seq } of settled) store.pending.remove(cursor.number, seq);
  const rows: RowSpan[] = passed;
  for (const message of exhausted) {
    const row = store.log.at(message.seq)?.row;
    if (row !== undefined) rows.push(row);
    const how = message.kind === LEASED ? "its lease ran out" : "the delivery ended without an answer";
    giveUp(store, cursor, { ...message, error: message.error ?? how });
  }
  if (taken.entries.length > 0 || settled.length > 0) store.touch();
  // What was just taken is not noted as out yet.
  const own = new Set(taken.entries.map(({ row }) => row.from));
  store.release(rows.filter(({ from }) => !own.has(from)));
  return taken;
}

function add(taken: Taken, { seq, message, row }: Logged, attempts: number): void {
  const bytes = message.body.byteLength;
  taken.entries.push({ seq, attempts, bytes, row, isPurged: false });
  taken.messages.push({ ...message, attempts });
  taken.bytes += bytes;
}

/** How much of a cursor's share is due now, counted up to a limit. */
export function available(store: Store, cursor: Cursor, now: number, limit: number): number {
  const fresh = store.log.after(cursor.position).count;
  return fresh >= limit ? fresh : fresh + store.pending.due(cursor.number, now, limit).length;
}

/** Since when the message that is next has been due; undefined = none is. */
export function availableSince(store: Store, cursor: Cursor, now: number): number | undefined {
  const fresh = store.log.after(cursor.position).count > 0 ? store.log.readyAt(cursor.position.seq) : undefined;
  const again = store.pending.nextDue(cursor.number);
  const due = again !== undefined && again <= now ? again : undefined;
  if (fresh === undefined || due === undefined) return fresh ?? due;
  return Math.min(fresh, due);
}
