import type { Counters } from "../engine/context.ts";
import type { Segment } from "../engine/ledger.ts";
import type { Message } from "../engine/message.ts";
import type { Snapshot } from "../engine/snapshot.ts";
import type { Columns, StoredPart } from "../engine/stored.ts";
import type { Place } from "./parcels.ts";
import type { Offer } from "./protocol.ts";

/** How an owner's contents lie in its storage: rows of up to about 1 MB, many messages to a row. */

/** Rows stay well under the 2 MB that the storage allows. */
export const ROW_BYTES = 1024 * 1024;
/** What a message costs in a row beside its text, roughly, and what the first of a partition adds to the names. */
const ENTRY_BYTES = 40;
const PART_BYTES = 160;

/** Messages of one partition in a row: the next `count` of its columns. */
export interface Part {
  queue: string;
  partition: string;
  count: number;
  text: string;
  isWide: boolean;
}

/** Rows of another format are of a version that was never released. */
export const FORMAT = 2;

/** The end of a checkpoint: what is valid, and how the owner stood. The row with the highest number counts. */
export interface Head {
  format: number;
  /** Whether the owner went on holding what it might lose; a clean sleep writes false. */
  open: boolean;
  at: number;
  /** Every slot that is still needed, this row's own included. */
  live: number[];
  /** Of these, the ones whose state says where everybody stands, in order; older rows live on for their messages only. */
  states: number[];
  counters: Counters;
  /** Lives that ended open, this one's predecessors. */
  wipes: number;
  /** Whether every owner was known that holds a part of a queue which this one is home of. */
  holdersKnown: boolean;
}

export interface Row {
  number: number;
  columns?: Columns;
  parts?: Part[];
  /** A piece of a payload that is larger than a row; the piece of index 0 has its part in the same row. */
  piece?: { seq: number; index: number; text: string };
  /** A piece of the text of a {@link State}. */
  state?: string;
  head?: Head;
}

/** Where everybody stands. It is cut as a text, since a single queue of it may be larger than a row. */
export interface State {
  snapshot: Snapshot;
  /** Moves of partitions that this owner has taken over. */
  adopted: string[];
  /** Partitions in transit that this owner has begun to send. */
  offered: Offer[];
}

/** The parts of a row, as they are read back. `whole` = the payload of the only message, if it is larger than a row. */
export function partsIn({ columns, parts = [] }: Row, segment: Segment, whole?: string): (Place & StoredPart)[] {
  if (columns === undefined) return [];
  let from = 0;
  return parts.map(({ queue, partition, count, text, isWide }) => {
    const part = { queue, partition, columns, from, count, text: whole ?? text, isWide, segment };
    from += count;
    return part;
  });
}

/** A row to be written, and the messages that it is for. */
export interface Draft {
  row: Omit<Row, "number">;
  bytes: number;
  messages: Message[];
  /** How many rows after this one carry the rest of its only message. */
  pieces: number;
}

function emptyDraft(): Draft {
  return { row: {}, bytes: 0, messages: [], pieces: 0 };
}

/** Packs messages into rows. A payload that is larger than a row takes several of its own. */
export function packMessages(messages: Iterable<Message>): Draft[] {
  const drafts: Draft[] = [];
  let current = emptyDraft();
  const flush = () => {
    if (current.messages.length > 0) drafts.push(finished(current));
    current = emptyDraft();
  };
  for (const message of messages) {
    if (message.width > ROW_BYTES) {
      flush();
      drafts.push(...packLarge(message));
      continue;
    }
    if (current.bytes + costIn(current, message) > ROW_BYTES) flush();
    current.bytes += costIn(current, message);
    addTo(current, message);
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
    const part = emptyDraft();
    part.bytes = ROW_BYTES;
    part.row.piece = { seq, index, text };
    if (index === 0) {
      addTo(part, message);
      part.row.columns = columnsOf([message]);
      part.pieces = texts.length - 1;
    }
    return part;
  });
}

function costIn(draft: Draft, message: Message): number {
  const { queue, partition } = message.ring;
  const cost = message.width + ENTRY_BYTES;
  return partFor(draft, message) === null ? cost + PART_BYTES + 2 * (queue.name.length + partition.length) : cost;
}

/** The part that a message goes on with; null = it begins one. Parts never overlap, so that they can be put in order. */
function partFor({ row, messages }: Draft, message: Message): Part | null {
  const part = row.parts?.at(-1);
  if (part === undefined || message.prev === null || message.prev !== messages.at(-1)) return null;
  return part.isWide === takesTwoBytes(message) ? part : null;
}

function takesTwoBytes({ width, payload }: Message): boolean {
  return width > payload.length;
}

function addTo(draft: Draft, message: Message): void {
  const { row, messages } = draft;
  let part = partFor(draft, message);
  if (part === null) {
    const { queue, partition } = message.ring;
    part = { queue: queue.name, partition, count: 0, text: "", isWide: takesTwoBytes(message) };
    (row.parts ??= []).push(part);
  }
  part.count++;
  messages.push(message);
}

/** Fills in what is written by column. */
function finished(draft: Draft): Draft {
  const { row, messages } = draft;
  row.columns = columnsOf(messages);
  let from = 0;
  for (const part of row.parts ?? []) {
    const payloads = messages.slice(from, from + part.count).map(({ payload }) => payload);
    part.text = payloads.join("");
    from += part.count;
  }
  return draft;
}

function columnsOf(messages: readonly Message[]): Columns {
  return {
    seqs: Float64Array.from(messages, ({ seq }) => seq),
    pushedAt: Float64Array.from(messages, ({ pushedAt }) => pushedAt),
    bytes: Uint32Array.from(messages, ({ bytes }) => bytes),
    lengths: Uint32Array.from(messages, ({ payload }) => payload.length),
  };
}

/** Packs the state into rows, the first piece on top of `onto` if that has room. */
export function packState(state: State, onto: Draft | undefined): { drafts: Draft[]; usesOnto: boolean } {
  const text = JSON.stringify(state);
  const usesOnto = onto !== undefined && onto.bytes < ROW_BYTES / 2;
  const drafts: Draft[] = [];
  let current = usesOnto ? onto : emptyDraft();
  for (let at = 0; at < text.length;) {
    // A character may take two bytes.
    const end = at + Math.floor((ROW_BYTES - current.bytes) / 2);
    current.row.state = text.slice(at, end);
    drafts.push(current);
    current = emptyDraft();
    at = end;
  }
  return { drafts, usesOnto };
}

/** `texts` are the pieces in order. */
export function unpackState(texts: readonly string[]): State {
  return JSON.parse(texts.join("")) as State;
}
