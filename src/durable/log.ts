import type { StoredMessage } from "./message.ts";
import type { Database } from "./database.ts";
import { countOf, ENTRY_MESSAGES, headText, messagesOf, parseHead, type Entry } from "./entry.ts";

/** A place between two messages of the log: the number of the next one, and the bytes of all before it. */
export interface Mark {
  seq: number;
  bytes: number;
}

/** The row that a message lies in. Numbers of messages, the last one not included. */
export interface RowSpan {
  from: number;
  to: number;
}

/** A message of the log, found. */
export interface Logged {
  seq: number;
  message: StoredMessage;
  row: RowSpan;
  readyAt: number;
  /** The place after it. */
  after: Mark;
}

interface LogRow extends Record<string, SqlStorageValue> {
  seq: number;
  count: number;
  bytes_before: number;
  ready_at: number;
  head: string;
  bodies: ArrayBuffer;
}

interface Span extends Record<string, SqlStorageValue> {
  seq: number;
  count: number;
}

const COLUMNS = "seq, count, bytes_before, ready_at, head, bodies";
/** A row with many messages is read once for several batches. */
const KEEP_BYTES = 1024 * 1024;

/** The messages of a partition in the order of their first delivery. They stay until every cursor has settled them. */
export class Log {
  readonly #db: Database;
  tail: Mark;
  /** Hears of rows that are about to be removed, while somebody wants to know. */
  leaving: ((span: RowSpan) => void) | null = null;
  /** Purged messages whose row is still there. */
  #holes: number;
  #kept: { row: LogRow; entry: Entry } | null = null;

  constructor(db: Database, atLeast: Mark) {
    this.#db = db;
    const last = db.first<{ seq: number; bytes: number }>(
      "SELECT seq + count AS seq, bytes_before + bytes AS bytes FROM log ORDER BY log.seq DESC LIMIT 1",
    );
    this.tail = last !== undefined && last.seq > atLeast.seq ? { seq: last.seq, bytes: last.bytes } : { ...atLeast };
    this.#holes = db.first<{ count: number }>("SELECT COUNT(*) AS count FROM holes")?.count ?? 0;
  }

  /** Adds an entry, as already handed to a cursor or to nobody. Answers where its messages lie. */
  append(entry: Entry, readyAt: number, handedTo: number | null): RowSpan {
    const { seq, bytes } = this.tail;
    const count = countOf(entry);
    this.#db.run(
      "INSERT INTO log (seq, count, bytes_before, bytes, ready_at, sent_at, handed_to, head, bodies) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
      seq,
      count,
      bytes,
      entry.bytes,
      readyAt,
      entry.sentAt,
      handedTo,
      headText(entry.head),
      entry.bodies.buffer,
    );
    this.tail = { seq: seq + count, bytes: bytes + entry.bytes };
    return { from: seq, to: seq + count };
  }

  /** Messages from a place on, in order, without those that were purged. Nothing may be written while it is read. */
  *from(seq: number): Generator<Logged> {
    if (seq >= this.tail.seq) return;
    let next = seq;
    const kept = this.#kept;
    if (kept !== null && kept.row.seq <= seq && seq < kept.row.seq + kept.row.count) {
      yield* this.#messages(kept.row, kept.entry, seq);
      next = kept.row.seq + kept.row.count;
    } else {
      const row = this.#holding(seq);
      if (row !== undefined) {
        yield* this.#read(row, seq);
        next = row.seq + row.count;
      }
    }
    if (next >= this.tail.seq) return;
    const rows = this.#db.rows<LogRow>(`SELECT ${COLUMNS} FROM log WHERE seq >= ? ORDER BY seq`, next);
    for (const row of rows) yield* this.#read(row, row.seq);
  }

  /** One message; undefined = it is gone. */
  at(seq: number): Logged | undefined {
    const kept = this.#kept;
    const isKept = kept !== null && kept.row.seq <= seq && seq < kept.row.seq + kept.row.count;
    const row = isKept ? kept.row : this.#holding(seq);
    if (row === undefined) return undefined;
    const found = (isKept ? this.#messages(row, kept.entry, seq) : this.#read(row, seq)).next();
    return found.done !== true && found.value.seq === seq ? found.value : undefined;
  }

  /** The row that a message lies in, or lay in before it was purged; undefined = it is gone. */
  rowOf(seq: number): RowSpan | undefined {
    const row = this.#holding(seq);
    return row === undefined ? undefined : { from: row.seq, to: row.seq + row.count };
  }

  #holding(seq: number): LogRow | undefined {
    const row = this.#db.first<LogRow>(`SELECT ${COLUMNS} FROM log WHERE seq <= ? ORDER BY seq DESC LIMIT 1`, seq);
    return row !== undefined && row.seq + row.count > seq ? row : undefined;
  }

  #read(row: LogRow, from: number): Generator<Logged> {
    const head = parseHead(row.head);
    const bodies = new Uint8Array(row.bodies);
    const entry: Entry = { head, bodies, bytes: bodies.byteLength, sentAt: 0 };
    if (row.count > 1 && bodies.byteLength <= KEEP_BYTES) this.#kept = { row, entry };
    return this.#messages(row, entry, from);
  }

  *#messages({ seq: first, count, bytes_before, ready_at }: LogRow, entry: Entry, from: number): Generator<Logged> {
    const holes = this.holesIn({ from: first, to: first + count });
    const row = { from: first, to: first + count };
    let bytes = bytes_before;
    let seq = first;
    for (const length of entry.head.lengths.slice(0, from - first)) {
      bytes += length;
      seq++;
    }
    for (const message of messagesOf(entry, from - first)) {
      bytes += message.body.byteLength;
      const after = { seq: seq + 1, bytes };
      if (!holes.has(seq)) yield { seq, message, row, readyAt: ready_at, after };
      seq++;
    }
  }

  /** Removes whole rows. */
  remove(rows: readonly RowSpan[]): void {
    if (rows.length === 0) return;
    const sorted = rows.toSorted((a, b) => a.from - b.from);
    // Rows that touch go with one statement.
    let span: RowSpan | null = null;
    for (const row of sorted) {
      if (span !== null && span.to === row.from) span.to = row.to;
      else {
        if (span !== null) this.#removeSpan(span);
        span = { ...row };
      }
    }
    if (span !== null) this.#removeSpan(span);
  }

  #removeSpan({ from, to }: RowSpan): void {
    this.leaving?.({ from, to });
    const kept = this.#kept?.row.seq ?? -1;
    if (kept >= from && kept < to) this.#kept = null;
    if (to - from === 1) this.#db.run("DELETE FROM log WHERE seq = ?", from);
    else this.#db.run("DELETE FROM log WHERE seq >= ? AND seq < ?", from, to);
    if (this.#holes === 0) return;
    const holes = this.holesIn({ from, to }).size;
    if (holes === 0) return;
    this.#db.run("DELETE FROM holes WHERE seq >= ? AND seq < ?", from, to);
    this.#holes -= holes;
  }

  /** Removes everything. The numbers go on. */
  clear(): void {
    this.leaving?.({ from: 0, to: this.tail.seq });
    this.#db.run("DELETE FROM log");
    this.#db.run("DELETE FROM holes");
    this.#holes = 0;
    this.#kept = null;
  }

  /** Takes one message out of a row that stays. */
  punch({ seq, message }: Logged): void {
    this.#db.run("INSERT OR IGNORE INTO holes (seq, bytes) VALUES (?, ?)", seq, message.body.byteLength);
    this.#holes++;
  }

  /** A place that may lie before rows that are gone, or else the place after them. */
  settle(at: Mark): Mark {
    if (this.rowOf(at.seq) !== undefined) return at;
    const query = "SELECT seq, bytes_before AS bytes FROM log WHERE seq >= ? ORDER BY seq LIMIT 1";
    const next = this.#db.first<{ seq: number; bytes: number }>(query, at.seq);
    return next === undefined ? { ...this.tail } : { seq: next.seq, bytes: next.bytes };
  }

  get hasHoles(): boolean {
    return this.#holes > 0;
  }

  /** A place, or the first after it that is not followed by a purged message. */
  skipHoles({ seq, bytes }: Mark): Mark {
    const at = { seq, bytes };
    if (this.#holes === 0) return at;
    const query = "SELECT seq, bytes FROM holes WHERE seq >= ? ORDER BY seq";
    for (const hole of this.#db.rows<{ seq: number; bytes: number }>(query, seq)) {
      if (hole.seq !== at.seq) break;
      at.seq++;
      at.bytes += hole.bytes;
    }
    return at;
  }

  /** The purged messages of a span. */
  holesIn({ from, to }: RowSpan): Set<number> {
    if (this.#holes === 0) return new Set();
    const rows = this.#db.rows<{ seq: number }>("SELECT seq FROM holes WHERE seq >= ? AND seq < ?", from, to);
    return new Set(Array.from(rows, ({ seq }) => seq));
  }

  /** How much lies from a place on. */
  after({ seq, bytes }: Mark): { count: number; bytes: number } {
    const held = { count: this.tail.seq - seq, bytes: this.tail.bytes - bytes };
    if (this.#holes === 0) return held;
    const query = "SELECT COUNT(*) AS count, COALESCE(SUM(bytes), 0) AS bytes FROM holes WHERE seq >= ?";
    const holes = this.#db.first<{ count: number; bytes: number }>(query, seq);
    return { count: held.count - (holes?.count ?? 0), bytes: held.bytes - (holes?.bytes ?? 0) };
  }

  /** The rows between two places, oldest first, without their contents. */
  *spans(from: number, to: number): Generator<RowSpan & { readyAt: number; end: Mark }> {
    const rows = this.#db.rows<Span & { ready_at: number; end_bytes: number }>(
      "SELECT seq, count, ready_at, bytes_before + bytes AS end_bytes FROM log WHERE seq >= ? AND seq < ? ORDER BY seq",
      from,
      to,
    );
    for (const { seq, count, ready_at, end_bytes } of rows) {
      yield { from: seq, to: seq + count, readyAt: ready_at, end: { seq: seq + count, bytes: end_bytes } };
    }
  }

  /** The rows with any message between two places. */
  spansBetween(from: number, to: number): Iterable<RowSpan> {
    return this.spans(this.rowOf(from)?.from ?? from, to);
  }

  /** The rows from a place on that were handed to a cursor in the turn of their insert, up to the first that was not. */
  *handedTo(cursor: number, from: number): Generator<RowSpan & { end: Mark }> {
    const rows = this.#db.rows<Span & { handed_to: number | null; end_bytes: number }>(
      "SELECT seq, count, handed_to, bytes_before + bytes AS end_bytes FROM log WHERE seq >= ? ORDER BY seq",
      from,
    );
    for (const { seq, count, handed_to, end_bytes } of rows) {
      if (handed_to !== cursor) return;
      yield { from: seq, to: seq + count, end: { seq: seq + count, bytes: end_bytes } };
    }
  }

  /** When the first message from a place on became ready; undefined = there is none. */
  readyAt(seq: number): number | undefined {
    if (seq >= this.tail.seq) return undefined;
    const query = "SELECT ready_at FROM log WHERE seq + count > ? AND seq >= ? ORDER BY seq LIMIT 1";
    // A row holds so many messages at the most: the one with this message begins shortly before it.
    return this.#db.first<{ ready_at: number }>(query, seq, seq - ENTRY_MESSAGES)?.ready_at;
  }

  /** The place of the oldest message. */
  get start(): Mark {
    const query = "SELECT seq, bytes_before AS bytes FROM log ORDER BY seq LIMIT 1";
    const first = this.#db.first<{ seq: number; bytes: number }>(query);
    return first === undefined ? { ...this.tail } : { seq: first.seq, bytes: first.bytes };
  }

  get isEmpty(): boolean {
    return this.#db.first("SELECT 1 AS one FROM log LIMIT 1") === undefined;
  }

  /** When the oldest message was sent. */
  get oldestSentAt(): number | null {
    return this.#db.first<{ sent_at: number }>("SELECT sent_at FROM log ORDER BY seq LIMIT 1")?.sent_at ?? null;
  }
}
