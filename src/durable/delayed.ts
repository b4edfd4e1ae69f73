import type { StoredMessage } from "./message.ts";
import type { Database } from "./database.ts";
import { countOf, headText, messagesOf, parseHead, entriesOfMessages, type Entry } from "./entry.ts";

/** How much waits; kept with the state, since counting would read every body. */
export interface DelayedTotals {
  count: number;
  bytes: number;
  /** The number of the next row. */
  next: number;
}

interface DelayedRow extends Record<string, SqlStorageValue> {
  due: number;
  number: number;
  count: number;
  bytes: number;
  head: string;
  bodies: ArrayBuffer;
}

/** A delayed message, found. */
export interface DelayedMessage {
  message: StoredMessage;
  due: number;
  /** The row it lies in. */
  number: number;
}

const COLUMNS = "due, number, count, bytes, head, bodies";

/** Messages that were sent with a delay, in order of their due times; due ones move to the log. */
export class DelayedMessages {
  readonly #db: Database;
  readonly totals: DelayedTotals;
  /** Hears of a row that is about to be removed, while somebody wants to know; null = of all. */
  leaving: ((row: { due: number; number: number } | null) => void) | null = null;
  /** Both: undefined = has to be asked for. */
  #nextDue: number | null | undefined;
  #oldestSentAt: number | null | undefined;

  constructor(db: Database, totals: DelayedTotals) {
    this.#db = db;
    this.totals = totals;
  }

  add(entry: Entry, due: number): void {
    this.#insert(entry, due, this.totals.next++);
    this.totals.count += countOf(entry);
    this.totals.bytes += entry.bytes;
    if (this.totals.count === countOf(entry)) this.#oldestSentAt = entry.sentAt;
    else if (this.#oldestSentAt != null) this.#oldestSentAt = Math.min(this.#oldestSentAt, entry.sentAt);
    if (this.#nextDue === null || (this.#nextDue !== undefined && due < this.#nextDue)) this.#nextDue = due;
  }

  #insert(entry: Entry, due: number, number: number): void {
    this.#db.run(
      "INSERT INTO delayed (due, number, count, bytes, sent_at, head, bodies) VALUES (?, ?, ?, ?, ?, ?, ?)",
      due,
      number,
      countOf(entry),
      entry.bytes,
      entry.sentAt,
      headText(entry.head),
      entry.bodies.buffer,
    );
  }

  get nextDue(): number | null {
    if (this.totals.count === 0) return null;
    if (this.#nextDue === undefined) {
      this.#nextDue = this.#db.first<{ due: number }>("SELECT due FROM delayed ORDER BY due LIMIT 1")?.due ?? null;
    }
    return this.#nextDue;
  }

  /** Takes up to `limit` rows that are due, the earliest first. */
  take(now: number, limit: number): { number: number; entry: Entry }[] {
    if ((this.nextDue ?? Infinity) > now) return [];
    const query = `SELECT ${COLUMNS} FROM delayed WHERE due <= ? ORDER BY due, number LIMIT ?`;
    const rows = this.#db.all<DelayedRow>(query, now, limit);
    return rows.map((row) => {
      this.#remove(row);
      const entry = entryOf(row);
      return { number: row.number, entry: { ...entry, sentAt: Math.min(...[entry.head.sentAt].flat()) } };
    });
  }

  #remove({ due, number, count, bytes }: DelayedRow): void {
    this.leaving?.({ due, number });
    this.#db.run("DELETE FROM delayed WHERE due = ? AND number = ?", due, number);
    this.totals.count -= count;
    this.totals.bytes -= bytes;
    this.#nextDue = undefined;
    this.#oldestSentAt = undefined;
  }

  /** In order of their due times. */
  *all(): Generator<DelayedMessage> {
    if (this.totals.count === 0) return;
    for (const row of this.#db.rows<DelayedRow>(`SELECT ${COLUMNS} FROM delayed ORDER BY due, number`)) {
      for (const message of messagesOf(entryOf(row))) yield { message, due: row.due, number: row.number };
    }
  }

  /** Removes one message of a row. Answers whether it was there. */
  purge(number: number, id: string): boolean {
    // Rows are found by when they are due: this walks over them, for what nobody does often.
    const row = this.#db.first<DelayedRow>(`SELECT ${COLUMNS} FROM delayed WHERE number = ?`, number);
    if (row === undefined) return false;
    const messages = [...messagesOf(entryOf(row))];
    const rest = messages.filter((message) => message.id !== id);
    if (rest.length === messages.length) return false;
    this.#remove(row);
    for (const entry of entriesOfMessages(rest)) {
      this.#insert(entry, row.due, number);
      this.totals.count += countOf(entry);
      this.totals.bytes += entry.bytes;
    }
    return true;
  }

  clear(): void {
    this.leaving?.(null);
    if (this.totals.count > 0) this.#db.run("DELETE FROM delayed");
    this.totals.count = 0;
    this.totals.bytes = 0;
    this.#nextDue = null;
  }

  get oldestSentAt(): number | null {
    if (this.totals.count === 0) return null;
    // This walks over them all, bodies included, and so is kept for as long as none has left.
    this.#oldestSentAt ??= this.#db.first<{ at: number }>("SELECT MIN(sent_at) AS at FROM delayed")?.at ?? null;
    return this.#oldestSentAt;
  }
}

function entryOf({ head, bodies, bytes }: DelayedRow): Entry {
  return { head: parseHead(head), bodies: new Uint8Array(bodies), bytes, sentAt: 0 };
}
