import type { Counters } from "../engine/context.ts";
import type { Message } from "../engine/message.ts";
import type { QueueState, RingState, Snapshot } from "../engine/snapshot.ts";

/** How an owner's contents lie in its storage: rows of up to about 1 MB, many messages to a row. */

/** Rows stay well under the 2 MB that the storage allows. */
export const ROW_BYTES = 1024 * 1024;
/** What an entry of a row costs beside its text, roughly. */
const ENTRY_BYTES = 40;

/** The messages of one partition in a row. */
export interface Part {
  queue: string;
  partition: string;
  isAscii: boolean;
  seqs: number[];
  pushedAt: number[];
  payloads: string[];
}

/** The end of a checkpoint: what is valid, and how the owner stood. The row with the highest number counts. */
export interface Head {
  /** Whether the owner went on holding what it might lose; a clean sleep writes false. */
  open: boolean;
  at: number;
  /** Every slot that is still needed, this row's own included. */
  live: number[];
  /** Of these, the ones whose queues and rings say where everybody stands; older rows live on for their messages only. */
  states: number[];
  /** See {@link Snapshot}. */
  nextSeq: number;
  counters: Counters;
  /** Lives that ended open, this one's predecessors. */
  wipes: number;
}

export interface Row {
  number: number;
  parts?: Part[];
  /** A piece of a payload that is larger than a row; the piece of index 0 has its part in the same row. */
  piece?: { seq: number; index: number; text: string };
  queues?: QueueState[];
  rings?: RingState[];
  /** Moves of partitions that this owner has taken over. */
  adopted?: string[];
  head?: Head;
}

/** A row to be written, and the messages that it is for. */
export interface Draft {
  row: Omit<Row, "number">;
  bytes: number;
  messages: Message[];
  /** How many rows after this one carry the rest of its only message. */
  pieces: number;
}

function draft(): Draft {
  return { row: {}, bytes: 0, messages: [], pieces: 0 };
}

/** Packs messages into rows. A payload that is larger than a row takes several of its own. */
export function packMessages(messages: Iterable<Message>): Draft[] {
  const drafts: Draft[] = [];
  let current = draft();
  const flush = () => {
    if (current.messages.length > 0) drafts.push(current);
    current = draft();
  };
  for (const message of messages) {
    if (message.width > ROW_BYTES) {
      flush();
      drafts.push(...packLarge(message));
      continue;
    }
    const cost = message.width + ENTRY_BYTES;
    if (current.bytes + cost > ROW_BYTES) flush();
    addTo(current, message, message.payload);
    current.bytes += cost;
  }
  flush();
  return drafts;
}

function packLarge(message: Message): Draft[] {
  const { payload, seq } = message;
  const step = ROW_BYTES / 2;
  const texts = Array.from({ length: Math.ceil(payload.length / step) }, (_, i) =>
    payload.slice(i * step, (i + 1) * step),
  );
  return texts.map((text, index) => {
    const part = draft();
    part.bytes = ROW_BYTES;
    part.row.piece = { seq, index, text };
    if (index === 0) {
      addTo(part, message, "");
      part.pieces = texts.length - 1;
    }
    return part;
  });
}

function addTo({ row, messages }: Draft, message: Message, payload: string): void {
  const { queue, partition } = message.ring;
  const isAscii = message.bytes === message.payload.length;
  row.parts ??= [];
  let part = row.parts.at(-1);
  if (part?.queue !== queue.name || part.partition !== partition || part.isAscii !== isAscii) {
    part = { queue: queue.name, partition, isAscii, seqs: [], pushedAt: [], payloads: [] };
    row.parts.push(part);
  }
  part.seqs.push(message.seq);
  part.pushedAt.push(message.pushedAt);
  part.payloads.push(payload);
  messages.push(message);
}

/** Packs a snapshot into rows, the first of them on top of `onto` if that has room. */
export function packSnapshot(
  { queues, rings }: Snapshot,
  adopted: Iterable<string>,
  onto: Draft | undefined,
): { drafts: Draft[]; usesOnto: boolean } {
  const usesOnto = onto !== undefined && onto.bytes < ROW_BYTES / 2;
  let current = usesOnto ? onto : draft();
  const drafts: Draft[] = [];
  const room = (bytes: number): Draft => {
    if (current.bytes + bytes > ROW_BYTES) {
      drafts.push(current);
      current = draft();
    }
    current.bytes += bytes;
    return current;
  };
  for (const state of queues) {
    const { row } = room(4 * ENTRY_BYTES + 2 * state.queue.length + state.groups.length * 4 * ENTRY_BYTES);
    (row.queues ??= []).push(state);
  }
  for (const state of rings) {
    const deliveries = state.cursors.reduce((sum, { seqs }) => sum + seqs.length, 0);
    const { row } = room(4 * ENTRY_BYTES + state.cursors.length * 4 * ENTRY_BYTES + deliveries * 16);
    (row.rings ??= []).push(state);
  }
  for (const move of adopted) {
    const { row } = room(ENTRY_BYTES + 2 * move.length);
    (row.adopted ??= []).push(move);
  }
  drafts.push(current);
  return { drafts, usesOnto };
}
