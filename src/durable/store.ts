import type { QueueConfig } from "../contract/queue-config.ts";
import { Cursor, type Flight, type FlightEntry } from "./cursor.ts";
import type { Database } from "./database.ts";
import { DelayedMessages } from "./delayed.ts";
import { Log, type Mark, type RowSpan } from "./log.ts";
import { Moments } from "./moments.ts";
import { PendingMessages, WAITS } from "./pending.ts";
import { cursorOf, cursorState, messagesOfRuns, readState, writeState, type Counters, type Run } from "./state.ts";

export interface Effects {
  log(event: string, details: Record<string, unknown>): void;
}

/**
 * Everything that one partition holds. A turn changes it through the functions of this folder and ends with `save`; all
 * of a turn's writes become durable together.
 */
export class Store {
  readonly db: Database;
  readonly log: Log;
  readonly pending: PendingMessages;
  readonly delayed: DelayedMessages;
  readonly moments: Moments;
  readonly cursors: Map<number, Cursor>;
  readonly counters: Counters;
  readonly effects: Effects;
  config: QueueConfig;
  nextCursor: number;
  /** How many messages of a row are out, by the row's first number. */
  readonly #holds = new Map<number, number>();
  readonly #mended: RowSpan[] = [];
  /** Whether the state on disk does not say where everybody stands. */
  #dirty = false;

  /** Opens a partition; what was out when its last life ended waits to be delivered again. */
  constructor(db: Database, config: QueueConfig, now: number, effects: Effects) {
    const state = readState(db);
    this.db = db;
    this.config = config;
    this.effects = effects;
    this.cursors = new Map(state.cursors.map((cursor) => [cursor.number, cursorOf(cursor)]));
    this.nextCursor = state.nextCursor;
    this.counters = state.counters;
    const furthest = state.cursors.reduce<Mark>((far, at) => (at.seq > far.seq ? at : far), { seq: 0, bytes: 0 });
    this.log = new Log(db, { seq: furthest.seq, bytes: furthest.bytes });
    this.pending = new PendingMessages(db);
    this.delayed = new DelayedMessages(db, state.delayed);
    this.moments = new Moments(this);
    for (const { number, out, held } of state.cursors) {
      const cursor = this.cursors.get(number);
      if (cursor === undefined) continue;
      for (const { seq, attempts } of messagesOfRuns(out)) this.#comesBack(cursor, seq, attempts, now);
      for (const runs of held) this.#holdAgain(cursor, runs);
      this.#passHanded(cursor, now);
    }
    this.release(this.#mended);
    this.save();
  }

  #holdAgain(cursor: Cursor, runs: readonly Run[]): void {
    const entries = Array.from(messagesOfRuns(runs)).flatMap(({ seq, attempts }): FlightEntry[] => {
      const logged = this.log.at(seq);
      if (logged === undefined) return [];
      return [{ seq, attempts, bytes: logged.message.body.byteLength, row: logged.row, isPurged: false }];
    });
    const bytes = entries.reduce((sum, entry) => sum + entry.bytes, 0);
    const flight: Flight = { cursor, entries, count: entries.length, bytes };
    cursor.held.push(flight);
    this.#hold(entries);
  }

  /** Rows that were handed over in the turn of their insert: nothing else says that the cursor has passed them. */
  #passHanded(cursor: Cursor, now: number): void {
    const rows = [...this.log.handedTo(cursor.number, cursor.position.seq)];
    for (const { from, to, end } of rows) {
      for (let seq = from; seq < to; seq++) this.#comesBack(cursor, seq, 1, now);
      cursor.position = end;
      this.touch();
    }
    // Of those that were settled as well, only the gap is left.
    this.#mended.push(...this.advance(cursor, this.log.settle(cursor.position)));
  }

  #comesBack({ number }: Cursor, seq: number, attempts: number, now: number): void {
    if (this.pending.get(number, seq) !== undefined) return;
    const logged = this.log.at(seq);
    if (logged === undefined) {
      // Purged while it was out: perhaps it was the last that its row was kept for.
      const row = this.log.rowOf(seq);
      if (row !== undefined) this.#mended.push(row);
      return;
    }
    const bytes = logged.message.body.byteLength;
    this.pending.put({ seq, cursor: number, attempts, due: now, kind: WAITS, bytes, error: null });
    this.touch();
  }

  /** Notes that the state on disk is behind. */
  touch(): void {
    this.#dirty = true;
  }

  /** Ends a turn. */
  save(): void {
    if (!this.#dirty) return;
    this.#dirty = false;
    const { nextCursor, counters, delayed } = this;
    const cursors = Array.from(this.cursors.values(), cursorState);
    writeState(this.db, { cursors, nextCursor, delayed: delayed.totals, counters });
  }

  /** Notes that a batch is out. */
  launch(flight: Flight): void {
    flight.cursor.flights.add(flight);
    this.#hold(flight.entries);
  }

  /** Notes that a batch is no longer out, nor waits to be. */
  land(flight: Flight): void {
    const { cursor } = flight;
    const at = cursor.held.indexOf(flight);
    if (at >= 0) cursor.held.splice(at, 1);
    else if (!cursor.flights.delete(flight)) return;
    for (const { row } of flight.entries) {
      const left = (this.#holds.get(row.from) ?? 0) - 1;
      if (left > 0) this.#holds.set(row.from, left);
      else this.#holds.delete(row.from);
    }
  }

  #hold(entries: readonly FlightEntry[]): void {
    for (const { row } of entries) this.#holds.set(row.from, (this.#holds.get(row.from) ?? 0) + 1);
  }

  isHeld({ from }: RowSpan): boolean {
    return this.#holds.has(from);
  }

  /** A message that is out counts no more, whatever becomes of it. Answers whether it was. */
  forgetFlying(seq: number): boolean {
    let wasOut = false;
    for (const { flights } of this.cursors.values()) {
      for (const flight of flights) {
        const entry = flight.entries.find((one) => one.seq === seq && !one.isPurged);
        if (entry === undefined) continue;
        wasOut = true;
        entry.isPurged = true;
        flight.count--;
        flight.bytes -= entry.bytes;
      }
    }
    return wasOut;
  }

  /** The same for all of a batch. */
  forgetFlight(flight: Flight): void {
    for (const entry of flight.entries) entry.isPurged = true;
    flight.count = 0;
    flight.bytes = 0;
  }

  /** The place before which every cursor has been. */
  get behind(): Mark {
    let behind = this.log.tail;
    for (const { position } of this.cursors.values()) if (position.seq < behind.seq) behind = position;
    return behind;
  }

  /** Moves a cursor on, past what was purged as well. Answers rows that may be free because of that. */
  advance(cursor: Cursor, to: Mark): RowSpan[] {
    const from = cursor.position.seq;
    cursor.position = this.log.skipHoles(to);
    const { seq } = cursor.position;
    return this.log.hasHoles && seq > from ? [...this.log.spansBetween(from, seq)] : [];
  }

  /** Removes those of the rows that nobody needs any more. Rows that stay are remembered by the state. */
  release(rows: Iterable<RowSpan>): void {
    const { seq: behind } = this.behind;
    const free: RowSpan[] = [];
    const seen = new Set<number>();
    for (const row of rows) {
      if (seen.has(row.from)) continue;
      seen.add(row.from);
      if (row.to <= behind && !this.isHeld(row) && !this.pending.hasAny(row)) free.push(row);
      else this.touch();
    }
    this.log.remove(free);
  }
}
