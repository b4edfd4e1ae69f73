import { ImportSources } from "./import-sources.ts";
import type { Ring } from "./ring.ts";
import type { KeysState } from "./recent-keys.ts";
import { ringState, type CursorState, type RingState } from "./snapshot.ts";
import type { StoredMessage } from "./stored.ts";
import { clientName } from "./transit.ts";

/** A partition with its contents, as one owner hands it to another. */
export interface RingExport {
  state: RingState;
  messages: Omit<StoredMessage, "segment">[];
  /** Of the last pushes to it. */
  keys?: KeysState;
}

export function exportRing(ring: Ring): RingExport {
  const messages = Array.from(ring.messages, ({ seq, payload, pushedAt, bytes, width }) => ({
    seq,
    payload,
    pushedAt,
    bytes,
    width,
  }));
  const { context, name } = ring.queue;
  return { state: ringState(ring), messages, keys: context.keys.stateOf(clientName(name), ring.partition) };
}

/** Gives the messages of a partition new numbers, from `first` on: each owner counts for itself. */
export function renumber({ state, messages }: RingExport, first: number): RingExport {
  const numbers = new Map(messages.map(({ seq }, index) => [seq, first + index]));
  const after = first + messages.length;
  const cursors = state.cursors.map((cursor): CursorState => {
    const { seqs, attempts } = held(cursor, (seq) => numbers.get(seq));
    return { ...cursor, next: renumberedNext(cursor.next, messages, first), seqs, attempts };
  });
  return {
    state: { ...state, head: first, early: [], tail: after, cursors },
    messages: messages.map((message, index) => ({ ...message, seq: first + index })),
  };
}

function renumberedNext(next: number | null, messages: RingExport["messages"], first: number): number | null {
  if (next === null) return null;
  const index = messages.findIndex(({ seq }) => seq >= next);
  return index < 0 ? null : first + index;
}

function held(
  { seqs, attempts }: CursorState,
  numberOf: (seq: number) => number | undefined,
): { seqs: number[]; attempts: number[] } {
  const kept: { seqs: number[]; attempts: number[] } = { seqs: [], attempts: [] };
  seqs.forEach((seq, index) => {
    const number = numberOf(seq);
    if (number === undefined) return;
    kept.seqs.push(number);
    kept.attempts.push(attempts[index] ?? 1);
  });
  return kept;
}

/**
 * Joins two parts of one partition that came to stand on two owners, the older in front. A group goes on where it stood
 * in the newer part; what it was owed of the older one comes to it as if handed back, never counted as an attempt.
 * Both parts must have been numbered so that every message of `older` comes before those of `newer`.
 */
export function joined(older: RingExport, newer: RingExport): RingExport {
  const groups = new Set([...older.state.cursors, ...newer.state.cursors].map(({ group }) => group));
  const cursors = Array.from(groups, (group): CursorState => {
    const before = older.state.cursors.find((cursor) => cursor.group === group);
    const now = newer.state.cursors.find((cursor) => cursor.group === group);
    if (now === undefined) return onlyOlder(before as CursorState, newer);
    const owed = before === undefined ? older.messages : unseen(before, older.messages);
    return {
      ...now,
      skipped: now.skipped + (before?.skipped ?? 0),
      lastPopAt: Math.max(now.lastPopAt, before?.lastPopAt ?? 0),
      seqs: [...(before?.seqs ?? []), ...owed.map(({ seq }) => seq), ...now.seqs],
      attempts: [...(before?.attempts ?? []), ...owed.map(() => 0), ...now.attempts],
    };
  });
  const { entries: imports } = new ImportSources([...(older.state.imports ?? []), ...(newer.state.imports ?? [])]);
  const touchedAt = Math.max(older.state.touchedAt, newer.state.touchedAt);
  const { head } = older.messages.length > 0 ? older.state : newer.state;
  return {
    state: { ...newer.state, head, touchedAt, cursors, imports },
    messages: [...older.messages, ...newer.messages],
  };
}

/** A group that the newer part did not know has seen nothing of it. */
function onlyOlder(cursor: CursorState, newer: RingExport): CursorState {
  return { ...cursor, next: cursor.next ?? newer.messages[0]?.seq ?? null };
}

function unseen({ next }: CursorState, messages: RingExport["messages"]): RingExport["messages"] {
  return next === null ? [] : messages.filter(({ seq }) => seq >= next);
}
