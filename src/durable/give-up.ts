import type { DeadLetter } from "./message.ts";
import type { Cursor } from "./cursor.ts";
import type { RowSpan } from "./log.ts";
import type { Store } from "./store.ts";

/** How many dead letters travel together. */
const LETTERS = 100;
const LETTER_BYTES = 4 * 1024 * 1024;

/** A message that has had its last delivery. */
export interface Exhausted {
  seq: number;
  bytes: number;
  attempts: number;
  error: string;
}

/** Whether a message that was delivered so often is delivered again. */
export function isExhausted({ consumer }: Cursor, attempts: number): boolean {
  return consumer !== null && attempts > consumer.maxRetries;
}

/**
 * Gives a message up: it stands in line for the dead-letter queue, and leaves when that has it; without one it is dropped,
 * which is counted and logged. Its row may then be released.
 */
export function giveUp(store: Store, cursor: Cursor, { seq, bytes, attempts, error }: Exhausted): void {
  const { consumer, number } = cursor;
  store.touch();
  if (consumer?.deadLetter === null || consumer === null) {
    const id = store.log.at(seq)?.message.id;
    store.pending.remove(number, seq);
    store.counters.exhausted++;
    store.effects.log("message_dropped", { id, consumer: consumer?.name ?? null, attempts, error });
    return;
  }
  store.pending.putDead({ seq, cursor: number, attempts, bytes, error }, cursor.nextDead++);
}

/** The dead letters of a cursor that go out next, in line. */
export function lettersOf(store: Store, cursor: Cursor): DeadLetter[] {
  const letters: DeadLetter[] = [];
  let total = 0;
  for (const { seq, number, attempts, bytes, error } of store.pending.dead(cursor.number, LETTERS)) {
    const logged = store.log.at(seq);
    if (logged === undefined) throw new Error(`message ${seq} is a dead letter and not in the log`);
    total += bytes;
    if (total > LETTER_BYTES && letters.length > 0) break;
    const origin = { queue: store.config.name, attempts, error: error ?? "" };
    letters.push({ number, message: { ...logged.message, body: logged.message.body.slice(), attempts: 0, origin } });
  }
  return letters;
}

/** The dead-letter queue has everything up to a number of the line. */
export function lettersArrived(store: Store, cursor: Cursor, upTo: number): void {
  const rows: RowSpan[] = [];
  for (const { seq, number } of store.pending.dead(cursor.number, LETTERS)) {
    if (number > upTo) break;
    const logged = store.log.at(seq);
    store.pending.remove(cursor.number, seq);
    store.counters.deadLettered++;
    if (logged !== undefined) rows.push(logged.row);
  }
  store.touch();
  store.release(rows);
}

/** The consumer has lost its dead-letter queue while letters were on their way: they have nowhere to go. */
export function dropLetters(store: Store, cursor: Cursor): void {
  const rows: RowSpan[] = [];
  for (const { seq, attempts, error } of store.pending.dead(cursor.number, LETTERS)) {
    const logged = store.log.at(seq);
    if (logged !== undefined) rows.push(logged.row);
    giveUp(store, cursor, { seq, attempts, bytes: 0, error: error ?? "" });
  }
  store.release(rows);
}
