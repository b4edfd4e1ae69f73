import { Cursor, type Flight, type LastDelivery } from "./cursor.ts";
import type { Database } from "./database.ts";
import type { DelayedTotals } from "./delayed.ts";

/** What happened to messages since the partition was made. */
export interface Counters {
  expired: number;
  /** Given up with no dead-letter queue to go to. */
  exhausted: number;
  purged: number;
  deadLettered: number;
}

/** Everything that must be known again after a restart, beside the messages. */
export interface State {
  cursors: CursorState[];
  nextCursor: number;
  delayed: DelayedTotals;
  counters: Counters;
}

interface CursorState {
  number: number;
  consumerId: string | null;
  seq: number;
  bytes: number;
  nextDead: number;
  last: LastDelivery | null;
  /** What is out. What has been removed from the log since counts no more. */
  out: Run[];
  /** Batches that wait for somebody to be reached, with attempts as if they had been. */
  held: Run[][];
  failures: number;
}

/** Messages that follow each other; this delivery counts among the attempts. */
export type Run = [seq: number, count: number, attempts: number];

const FRESH: State = {
  cursors: [],
  nextCursor: 1,
  delayed: { count: 0, bytes: 0, next: 1 },
  counters: { expired: 0, exhausted: 0, purged: 0, deadLettered: 0 },
};

export function readState(db: Database): State {
  const row = db.first<{ json: string }>("SELECT json FROM state");
  return row === undefined ? structuredClone(FRESH) : (JSON.parse(row.json) as State);
}

export function writeState(db: Database, state: State): void {
  db.run(
    "INSERT INTO state (id, json) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET json = excluded.json",
    JSON.stringify(state),
  );
}

export function cursorState(cursor: Cursor): CursorState {
  const { number, consumerId, position, nextDead, last, failures } = cursor;
  const out = Array.from(cursor.flights).flatMap(runsOf);
  const held = cursor.held.map(runsOf);
  return { number, consumerId, ...position, nextDead, last, out, held, failures };
}

export function cursorOf({ number, consumerId, seq, bytes, nextDead, ...rest }: CursorState): Cursor {
  const cursor = new Cursor(number, consumerId, { seq, bytes }, nextDead);
  cursor.last = rest.last;
  // A start may be that of a deploy which has bound the consumer at last: it is tried at once.
  cursor.failures = rest.failures;
  return cursor;
}

function runsOf({ entries }: Flight): Run[] {
  const runs: Run[] = [];
  let run: Run | undefined;
  for (const { seq, attempts } of entries) {
    if (run !== undefined && run[0] + run[1] === seq && run[2] === attempts) run[1]++;
    else {
      run = [seq, 1, attempts];
      runs.push(run);
    }
  }
  return runs;
}

/** The messages of runs, with their attempts. */
export function* messagesOfRuns(runs: readonly Run[]): Generator<{ seq: number; attempts: number }> {
  for (const [first, count, attempts] of runs) {
    for (let seq = first; seq < first + count; seq++) yield { seq, attempts };
  }
}
