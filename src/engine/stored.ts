import type { Segment } from "./ledger.ts";
import { copied } from "./text.ts";

/** A message as it was before its owner's end, or before it came from another owner. */
export interface StoredMessage {
  seq: number;
  payload: string;
  pushedAt: number;
  /** Spare a walk over the text: see {@link Weight}. */
  bytes: number;
  width: number;
  /** What it was written with; null = it is not on this disk yet. */
  segment: Segment | null;
}

/**
 * Messages that were written together, by column: reading a hundred thousand of them one by one would keep an owner, and
 * the collector, busy for longer than its first answer may take.
 */
export interface Columns {
  seqs: Float64Array;
  pushedAt: Float64Array;
  bytes: Uint32Array;
  /** Of the payloads, in characters. */
  lengths: Uint32Array;
}

/** Some messages of one partition, as they lie in a row. */
export interface StoredPart {
  columns: Columns;
  /** Which of them these are. */
  from: number;
  count: number;
  /** Their payloads, one behind the other. */
  text: string;
  /** Whether a character takes two bytes, in each of them. */
  isWide: boolean;
  segment: Segment;
}

/** The messages of parts that are in order, one at a time. */
export function* messagesOf(parts: readonly StoredPart[]): Generator<StoredMessage> {
  for (const { columns, from, count, text, isWide, segment } of parts) {
    const { seqs, pushedAt, bytes, lengths } = columns;
    let at = 0;
    for (let i = from; i < from + count; i++) {
      const length = lengths[i] ?? 0;
      yield {
        seq: seqs[i] ?? 0,
        payload: copied(text, at, at + length),
        pushedAt: pushedAt[i] ?? 0,
        bytes: bytes[i] ?? 0,
        width: isWide ? 2 * length : length,
        segment,
      };
      at += length;
    }
  }
}
