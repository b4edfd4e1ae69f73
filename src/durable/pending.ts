import type { Database } from "./database.ts";
import type { RowSpan } from "./log.ts";

/** Why a message is pending. */
export const WAITS = 0;
export const LEASED = 1;
export const DEAD = 2;
export type PendingKind = typeof WAITS | typeof LEASED | typeof DEAD;

/** Dead letters stand in line by number, in the column of due times, beyond any of these. */
const LINE = 2 ** 52;

export interface Pending extends Record<string, SqlStorageValue> {
  seq: number;
  cursor: number;
  /** Deliveries so far. */
  attempts: number;
  due: number;
  kind: PendingKind;
  bytes: number;
  error: string | null;
}

interface Total {
  count: number;
  bytes: number;
  dead: number;
}

const COLUMNS = "seq, cursor, attempts, due, kind, bytes, error";
const NOTHING: Total = { count: 0, bytes: 0, dead: 0 };

/** The messages that cursors have passed and not settled, in order of their due times. How many there are is kept in memory. */
export class PendingMessages {
  readonly #db: Database;
  readonly #totals = new Map<number, Total>();
  /** The earliest due time by cursor; a cursor that is not in it has to be asked for. */
  readonly #earliest = new Map<number, number>();

  constructor(db: Database) {
    this.#db = db;
    const rows = db.rows<{ cursor: number; count: number; bytes: number; dead: number }>(
      `SELECT cursor, COUNT(*) AS count, SUM(bytes) AS bytes, SUM(kind = ${DEAD}) AS dead FROM pending GROUP BY cursor`,
    );
    for (const { cursor, count, bytes, dead } of rows) this.#totals.set(cursor, { count, bytes, dead });
  }

  total(cursor: number): Readonly<Total> {
    return this.#totals.get(cursor) ?? NOTHING;
  }

  /** Rows: a message counts once for each cursor that has it pending. */
  get count(): number {
    return Array.from(this.#totals.values()).reduce((sum, { count }) => sum + count, 0);
  }

  get isEmpty(): boolean {
    return this.#totals.size === 0;
  }

  /** Adds a message, or changes what is known of it. */
  put({ seq, cursor, attempts, due, kind, bytes, error }: Pending): void {
    this.remove(cursor, seq);
    this.#db.run(
      `INSERT INTO pending (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)`,
      seq,
      cursor,
      attempts,
      due,
      kind,
      bytes,
      error,
    );
    const total = this.#totals.get(cursor) ?? { ...NOTHING };
    this.#totals.set(cursor, total);
    total.count++;
    total.bytes += bytes;
    if (kind === DEAD) total.dead++;
    const earliest = this.#earliest.get(cursor);
    if (earliest !== undefined && due < earliest) this.#earliest.set(cursor, due);
  }

  /** Puts a message at the end of a cursor's line of dead letters. */
  putDead(message: Omit<Pending, "due" | "kind">, number: number): void {
    this.put({ ...message, due: LINE + number, kind: DEAD } as Pending);
  }

  get(cursor: number, seq: number): Pending | undefined {
    if (this.total(cursor).count === 0) return undefined;
    return this.#db.first<Pending>(`SELECT ${COLUMNS} FROM pending WHERE seq = ? AND cursor = ?`, seq, cursor);
  }

  remove(cursor: number, seq: number): Pending | undefined {
    const found = this.get(cursor, seq);
    if (found === undefined) return undefined;
    this.#db.run("DELETE FROM pending WHERE seq = ? AND cursor = ?", seq, cursor);
    const total = this.#totals.get(cursor);
    if (total !== undefined) {
      total.count--;
      total.bytes -= found.bytes;
      if (found.kind === DEAD) total.dead--;
      if (total.count === 0) this.#totals.delete(cursor);
    }
    const earliest = this.#earliest.get(cursor);
    if (earliest !== undefined && found.due <= earliest) this.#earliest.delete(cursor);
    return found;
  }

  /** What is due, in order. */
  due(cursor: number, now: number, limit: number): Pending[] {
    if ((this.nextDue(cursor) ?? Infinity) > now) return [];
    const query = `SELECT ${COLUMNS} FROM pending WHERE cursor = ? AND due <= ? ORDER BY due, seq LIMIT ?`;
    return this.#db.all<Pending>(query, cursor, now, limit);
  }

  /** When the next one is due; undefined = none ever is. */
  nextDue(cursor: number): number | undefined {
    const { count, dead } = this.total(cursor);
    if (count === dead) return undefined;
    let earliest = this.#earliest.get(cursor);
    if (earliest === undefined) {
      const query = "SELECT due FROM pending WHERE cursor = ? ORDER BY due LIMIT 1";
      earliest = this.#db.first<{ due: number }>(query, cursor)?.due ?? LINE;
      this.#earliest.set(cursor, earliest);
    }
    return earliest < LINE ? earliest : undefined;
  }

  /** The dead letters of a cursor that have waited longest. */
  dead(cursor: number, limit: number): (Pending & { number: number })[] {
    if (this.total(cursor).dead === 0) return [];
    const query = `SELECT ${COLUMNS} FROM pending WHERE cursor = ? AND due >= ${LINE} ORDER BY due LIMIT ?`;
    return this.#db.all<Pending>(query, cursor, limit).map((row) => ({ ...row, number: row.due - LINE }));
  }

  /** Everything pending in a span, whoever it is pending for. */
  within({ from, to }: RowSpan): Pending[] {
    if (this.isEmpty) return [];
    return this.#db.all<Pending>(`SELECT ${COLUMNS} FROM pending WHERE seq >= ? AND seq < ? ORDER BY seq`, from, to);
  }

  /** The same, message by message in their order. Nothing may be written meanwhile. */
  *bySeq({ from, to }: RowSpan): Generator<[seq: number, pending: Pending[]]> {
    if (this.isEmpty) return;
    const query = `SELECT ${COLUMNS} FROM pending WHERE seq >= ? AND seq < ? ORDER BY seq`;
    let same: Pending[] = [];
    for (const one of this.#db.rows<Pending>(query, from, to)) {
      const seq = same[0]?.seq;
      if (seq !== undefined && seq !== one.seq) {
        yield [seq, same];
        same = [];
      }
      same.push(one);
    }
    const last = same[0]?.seq;
    if (last !== undefined) yield [last, same];
  }

  hasAny({ from, to }: RowSpan): boolean {
    if (this.isEmpty) return false;
    return this.#db.first("SELECT 1 AS one FROM pending WHERE seq >= ? AND seq < ? LIMIT 1", from, to) !== undefined;
  }

  /** Messages before a place that anybody has pending: how many, and how many bytes. */
  distinctBefore(seq: number): { count: number; bytes: number } {
    if (this.isEmpty) return { count: 0, bytes: 0 };
    const query = `SELECT COUNT(*) AS count, COALESCE(SUM(bytes), 0) AS bytes
      FROM (SELECT seq, MAX(bytes) AS bytes FROM pending WHERE seq < ? GROUP BY seq)`;
    const found = this.#db.first<{ count: number; bytes: number }>(query, seq);
    return { count: found?.count ?? 0, bytes: found?.bytes ?? 0 };
  }

  /** Messages that anybody has leased or given up, and others that wait until later. */
  split(now: number): { out: number; later: number } {
    if (this.isEmpty) return { out: 0, later: 0 };
    const query = `SELECT COALESCE(SUM(out), 0) AS out, COALESCE(SUM(later AND NOT out), 0) AS later FROM (
      SELECT MAX(kind <> ${WAITS} AND due > ?) AS out, MAX(kind = ${WAITS} AND due > ?) AS later FROM pending GROUP BY seq)`;
    return this.#db.first<{ out: number; later: number }>(query, now, now) ?? { out: 0, later: 0 };
  }

  /** Gives one cursor what others have pending before a place, as never delivered. */
  copyTo(cursor: number, before: number, due: number): void {
    if (this.isEmpty) return;
    const query = `SELECT seq, MAX(bytes) AS bytes FROM pending WHERE seq < ? AND cursor <> ? GROUP BY seq ORDER BY seq`;
    for (const { seq, bytes } of this.#db.all<{ seq: number; bytes: number }>(query, before, cursor)) {
      this.put({ seq, cursor, attempts: 0, due, kind: WAITS, bytes, error: null });
    }
  }

  /** Everything that a cursor has pending becomes due, as never delivered. */
  restart(cursor: number, due: number): void {
    if (this.total(cursor).count === 0) return;
    this.#db.run(
      `UPDATE pending SET attempts = 0, due = ?, kind = ${WAITS}, error = NULL WHERE cursor = ?`,
      due,
      cursor,
    );
    this.#earliest.set(cursor, due);
    const total = this.#totals.get(cursor);
    if (total !== undefined) total.dead = 0;
  }

  forget(cursor: number): void {
    if (this.total(cursor).count > 0) this.#db.run("DELETE FROM pending WHERE cursor = ?", cursor);
    this.#totals.delete(cursor);
    this.#earliest.delete(cursor);
  }

  clear(): void {
    if (!this.isEmpty) this.#db.run("DELETE FROM pending");
    this.#totals.clear();
    this.#earliest.clear();
  }
}
