import type { Bounds, EjectCursor, Place } from "./eject-cursor.ts";
import { messagesOf, parseHead, type Entry } from "./entry.ts";
import type { RowSpan } from "./log.ts";
import type { EjectedMessage, StoredMessage } from "./message.ts";
import { Noted } from "./noted.ts";
import { refOf } from "./refs.ts";
import type { Store } from "./store.ts";

interface Row extends Record<string, SqlStorageValue> {
  due: number;
  number: number;
  head: string;
  bodies: ArrayBuffer;
}

/** Messages that go on one page or on none. */
interface Piece {
  at: Place;
  messages: EjectedMessage[];
  bytes: number;
}

export interface EjectedPage {
  messages: EjectedMessage[];
  /** null = that was all. */
  next: EjectCursor | null;
  /** Whether the moment was lost on the way, and what left since may be missing. */
  isRestarted: boolean;
}

/** What a message takes of a page beside its body. */
const MESSAGE_BYTES = 300;
const FIRST_DELAYED: Place = { due: 1, number: 0 };

/**
 * Everything that was in a partition at one time, whatever becomes of it: a row that leaves while it is still needed is
 * copied first. A page is needed until the next one is asked for, so that it may be asked for again.
 */
export class Moment {
  readonly #store: Store;
  readonly #number: number;
  readonly #id: string;
  readonly #bounds: Bounds;
  readonly #noted: Noted;
  readonly #isRestarted: boolean;
  /** The row where the last page began. */
  #neededFrom: Place = { due: 0, number: 0 };
  #keptRows = 0;
  readonly #takenAt: number;
  usedAt: number;
  /** Whether its last page was read. */
  isRead = false;

  /** `number` is its own among those of the partition. */
  constructor(
    store: Store,
    number: number,
    { ejectId, bounds }: Omit<EjectCursor, "at">,
    now: number,
    isRestarted: boolean,
  ) {
    this.#store = store;
    this.#number = number;
    this.#id = ejectId;
    this.#bounds = bounds;
    this.#noted = new Noted(store, { from: 0, to: bounds.tail }, now);
    this.#isRestarted = isRestarted;
    this.#takenAt = now;
    this.usedAt = now;
  }

  /** The messages from a place on, up to a size, but one piece at least. Nothing may be written before it is over. */
  page(partition: string, at: Place, maxBytes: number, now: number): EjectedPage {
    this.usedAt = now;
    this.#drop(at);
    const messages: EjectedMessage[] = [];
    let bytes = 0;
    for (const piece of this.#pieces(partition, at)) {
      if (messages.length > 0 && bytes + piece.bytes > maxBytes) {
        const next = { ejectId: this.#id, bounds: this.#bounds, at: piece.at };
        return { messages, next, isRestarted: this.#isRestarted };
      }
      messages.push(...piece.messages);
      bytes += piece.bytes;
    }
    this.isRead = true;
    return { messages, next: null, isRestarted: this.#isRestarted };
  }

  *#pieces(partition: string, at: Place): Generator<Piece> {
    if (at.due === 0) {
      for (const row of this.#logRows()) yield* this.#logPieces(partition, row, at.number);
    }
    for (const row of this.#delayedRows(at.due === 0 ? FIRST_DELAYED : at)) {
      const { due, number } = row;
      // A row goes as a whole: its places would shift when one of it is purged.
      const messages = Array.from(messagesOf(entryOf(row)), (message) =>
        ejected(
          message,
          { attempts: 0, dueAt: due > this.#takenAt ? due : null },
          refOf({ partition, seq: -number, id: message.id }),
        ),
      );
      yield { at: { due, number }, messages, bytes: messages.reduce((sum, { body }) => sum + sizeOf(body), 0) };
    }
  }

  *#logPieces(partition: string, row: Row, from: number): Generator<Piece> {
    let seq = row.number - 1;
    for (const message of messagesOf(entryOf(row))) {
      seq++;
      if (seq < from) continue;
      if (seq >= this.#bounds.tail) return;
      const standing = this.#noted.standingOf(seq);
      if (standing === null) continue;
      const one = ejected(message, standing, refOf({ partition, seq, id: message.id }));
      yield { at: { due: 0, number: seq }, messages: [one], bytes: sizeOf(message.body) };
    }
  }

  #logRows(): Iterable<Row> {
    const { tail } = this.#bounds;
    const from = this.#neededFrom.number;
    return this.#store.db.rows<Row>(
      `SELECT 0 AS due, seq AS number, head, bodies FROM log WHERE seq >= ? AND seq < ?
       UNION ALL
       SELECT due, number, head, bodies FROM kept WHERE moment = ? AND due = 0 AND number >= ? AND number < ?
       ORDER BY number`,
      from,
      tail,
      this.#number,
      from,
      tail,
    );
  }

  #delayedRows({ due, number }: Place): Iterable<Row> {
    return this.#store.db.rows<Row>(
      `SELECT due, number, head, bodies FROM delayed WHERE (due, number) >= (?, ?) AND number < ?
         AND NOT EXISTS (SELECT 1 FROM kept WHERE moment = ? AND kept.due = delayed.due AND kept.number = delayed.number)
       UNION ALL
       SELECT due, number, head, bodies FROM kept WHERE moment = ? AND (due, number) >= (?, ?)
       ORDER BY due, number`,
      due,
      number,
      this.#bounds.delayed,
      this.#number,
      this.#number,
      due,
      number,
    );
  }

  /** Copies rows of the log that are about to leave. */
  keepLog({ from, to }: RowSpan): void {
    const { due, number } = this.#neededFrom;
    if (due > 0 || to <= number || from >= this.#bounds.tail) return;
    this.#keep(
      "SELECT ?, 0, seq, head, bodies FROM log WHERE seq >= ? AND seq < ?",
      Math.max(from, number),
      Math.min(to, this.#bounds.tail),
    );
  }

  /** Copies delayed rows that are about to leave, or to lose a message: one, or all. */
  keepDelayed(row: Place | null): void {
    if (row !== null && (row.number >= this.#bounds.delayed || isBefore(row, this.#neededFrom))) return;
    const { due, number } = this.#neededFrom;
    const columns = "SELECT ?, due, number, head, bodies FROM delayed";
    if (row !== null) this.#keep(`${columns} WHERE due = ? AND number = ?`, row.due, row.number);
    else this.#keep(`${columns} WHERE (due, number) >= (?, ?) AND number < ?`, due, number, this.#bounds.delayed);
  }

  #keep(select: string, ...values: number[]): void {
    // What was copied before lost messages is the whole of it.
    this.#keptRows += this.#store.db.run(
      `INSERT OR IGNORE INTO kept (moment, due, number, head, bodies) ${select}`,
      this.#number,
      ...values,
    );
  }

  /** Nothing before a place will be asked for any more. */
  #drop(at: Place): void {
    this.#neededFrom = at.due === 0 ? { due: 0, number: this.#rowFrom(at.number) } : at;
    if (this.#keptRows === 0) return;
    const { due, number } = this.#neededFrom;
    this.#store.db.run("DELETE FROM kept WHERE moment = ? AND (due, number) < (?, ?)", this.#number, due, number);
  }

  /** Where the row begins that holds a message, be it in the log or kept. */
  #rowFrom(seq: number): number {
    const found = this.#store.db.first<{ number: number }>(
      `SELECT MAX(COALESCE((SELECT MAX(seq) FROM log WHERE seq <= ?), 0),
         COALESCE((SELECT MAX(number) FROM kept WHERE moment = ? AND due = 0 AND number <= ?), 0)) AS number`,
      seq,
      this.#number,
      seq,
    );
    return found?.number ?? 0;
  }

  end(): void {
    if (this.#keptRows > 0) this.#store.db.run("DELETE FROM kept WHERE moment = ?", this.#number);
  }
}

function entryOf({ head, bodies }: Row): Entry {
  return { head: parseHead(head), bodies: new Uint8Array(bodies), bytes: bodies.byteLength, sentAt: 0 };
}

/** A copy: the buffer of a row holds all the others as well. */
function ejected(
  { attempts: before, ...message }: StoredMessage,
  { attempts, dueAt }: { attempts: number; dueAt: number | null },
  ref: string,
): EjectedMessage {
  return { ...message, body: message.body.slice(), attempts: Math.max(before, attempts), dueAt, ref };
}

function sizeOf({ byteLength }: Uint8Array): number {
  return byteLength + MESSAGE_BYTES;
}

function isBefore(one: Place, other: Place): boolean {
  return one.due < other.due || (one.due === other.due && one.number < other.number);
}
