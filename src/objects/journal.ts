import type { Counters } from "../engine/context.ts";
import type { Engine } from "../engine/engine.ts";
import { Segment } from "../engine/ledger.ts";
import type { Message } from "../engine/message.ts";
import type { StoredPart } from "../engine/stored.ts";
import { clientName, inTransit } from "../engine/transit.ts";
import { keyOf } from "./parcels.ts";
import type { Offer } from "./protocol.ts";
import { sparseSegments } from "./compaction.ts";
import { FORMAT, packMessages, packState, partsIn, unpackState, type Draft, type Head, type Row } from "./rows.ts";

const PREFIX = "row:";
/** The most keys that one `put` takes. */
const PUT_KEYS = 128;
/** Rows that hold nothing any more are used again; beyond this many they are removed when the owner goes to sleep. */
const SPARE_SLOTS = 8;

/** How the last life of this owner ended. */
export interface LastLife {
  wasOpen: boolean;
  /** When it wrote its last checkpoint; null = never. */
  lastCheckpointAt: number | null;
}

/**
 * Writes an owner's contents ahead of its end, which nobody announces. A checkpoint is the messages that were never
 * written, a snapshot of where everybody stands, and a head that says which rows count; all of it goes out in one turn
 * and so becomes durable as a whole. Messages are written once: a row lives until nobody needs any of them, and is then
 * written over. Nothing waits for the disk: the writes are unconfirmed, and a reply never stands behind them.
 */
export class Journal {
  readonly #storage: DurableObjectStorage;
  readonly #engine: Engine;
  #segments: Segment[] = [];
  #stateSlots: number[] = [];
  /** How many slots have ever been used. */
  #slots = 0;
  #number = 0;
  /** Whether the last row says that the owner might lose something. */
  #open = false;
  #activityWritten = 0;
  /** Moves of partitions that have arrived here: they must be remembered for as long as they could be sent again. */
  readonly adopted = new Set<string>();
  /** Partitions in transit that this owner has begun to send, by key. */
  readonly offered = new Map<string, Offer>();
  rowsWritten = 0;
  /** Lives of this owner that ended while it might have lost something. */
  wipes = 0;
  /**
   * Whether all owners that hold a part of a queue which this one is home of are known to it. An unclean end puts that in
   * doubt, and the doubt outlives every life in which nobody asked.
   */
  holdersKnown = true;

  constructor(storage: DurableObjectStorage, engine: Engine) {
    this.#storage = storage;
    this.#engine = engine;
  }

  get isOpen(): boolean {
    return this.#open;
  }

  /** Whether a clean end has something to write: that it is one, or what was counted. */
  get hasNews(): boolean {
    return this.#open || activity(this.#engine.counters) !== this.#activityWritten;
  }

  /** Reads the last checkpoint back into the engine. */
  restore(now: number): LastLife {
    const rows = new Map<number, Row>();
    for (const [key, row] of this.#storage.kv.list<Row>({ prefix: PREFIX })) rows.set(slotOf(key), row);
    let last: Row | null = null;
    for (const row of rows.values()) if (row.head !== undefined && row.number > (last?.number ?? -1)) last = row;
    this.#slots = Math.max(-1, ...rows.keys()) + 1;
    if (last?.head?.format !== FORMAT) return { wasOpen: false, lastCheckpointAt: null };
    const { head, number } = last;
    this.#number = number + 1;
    this.#open = head.open;
    this.wipes = head.wipes + (head.open ? 1 : 0);
    this.holdersKnown = head.holdersKnown && !head.open;
    const live = head.live.flatMap((slot): [number, Row][] => {
      const row = rows.get(slot);
      return row === undefined ? [] : [[slot, row]];
    });
    this.#readInto(live, head, now);
    this.#activityWritten = activity(head.counters);
    Object.assign(this.#engine.counters, head.counters);
    return { wasOpen: head.open, lastCheckpointAt: head.at };
  }

  /** Takes everything off the disk: the contents live on in memory alone. */
  discard(): void {
    this.#delete(Array.from({ length: this.#slots }, (_, slot) => slot));
    this.#slots = 0;
  }

  #readInto(live: [number, Row][], { states, open }: Head, now: number): void {
    const parts = new Map<string, StoredPart[]>();
    const large = largePayloads(live);
    for (const [slot, row] of live) {
      const whole = row.piece === undefined ? undefined : large.get(row.piece.seq);
      const segment = new Segment(whole?.slots ?? [slot], countOf(row), sizeOf(row, whole?.text));
      this.#segments.push(segment);
      for (const part of partsIn(row, segment, whole?.text)) {
        const key = keyOf({ queue: clientName(part.queue), partition: part.partition });
        const list = parts.get(key);
        if (list === undefined) parts.set(key, [part]);
        else list.push(part);
      }
    }
    for (const list of parts.values()) list.sort((a, b) => firstOf(a) - firstOf(b));
    const slots = new Map(live);
    const { snapshot, adopted, offered } = unpackState(states.map((slot) => slots.get(slot)?.state ?? ""));
    this.#stateSlots = states;
    for (const move of adopted) this.adopted.add(move);
    for (const offer of offered) this.offered.set(keyOf(offer), offer);
    const partsOf = (queue: string, partition: string) => parts.get(keyOf({ queue, partition })) ?? [];
    this.#engine.restore(snapshot, partsOf, { timesAreExact: !open }, now);
  }

  /** Writes everything that the disk does not know. `open` = the owner goes on holding what it might lose. */
  write(now: number, open: boolean): void {
    const engine = this.#engine;
    const messages = [...this.#compacted(), ...unwritten(engine)];
    this.#segments = this.#segments.filter(({ live }) => live > 0);
    this.#stateSlots = [];
    const taken = new Set(this.#live());
    const drafts = packMessages(messages);
    const slots = this.#place(drafts, taken);
    // Only now that its messages count as stored does the snapshot see which queues are to be kept.
    const offered = [...this.offered.values()].filter(({ queue, partition }) =>
      engine.queues.get(inTransit(queue))?.rings.has(partition),
    );
    const state = { snapshot: engine.snapshot(), adopted: [...this.adopted], offered };
    const { drafts: states, usesOnto } = packState(state, drafts.at(-1));
    const added = usesOnto ? states.slice(1) : states;
    slots.push(...this.#place(added, taken));
    this.#stateSlots = slots.slice(slots.length - states.length);
    const rows = [...drafts, ...added].map(({ row }): Row => ({ ...row, number: this.#number++ }));
    const { counters } = engine;
    const head: Head = {
      format: FORMAT,
      open,
      at: now,
      live: this.#live(),
      states: this.#stateSlots,
      counters,
      wipes: this.wipes,
      holdersKnown: this.holdersKnown,
    };
    (rows.at(-1) as Row).head = head;
    engine.ledger.settle();
    this.#put(rows, slots);
    this.#open = open;
    this.#activityWritten = activity(counters);
    if (!open) this.#tidy(head.live);
  }

  /** Takes the messages out of rows that hold hardly anything else any more. */
  #compacted(): Message[] {
    const sparse = sparseSegments(this.#segments, this.#engine.memoryBytes);
    const messages: Message[] = [];
    if (sparse.size === 0) return messages;
    for (const queue of this.#engine.queues.values()) {
      queue.rings.wakeIf(({ parts }) => parts.some(({ segment }) => sparse.has(segment)));
      for (const ring of queue.rings.awake) {
        for (const message of ring.messages) {
          if (message.segment !== null && sparse.has(message.segment)) messages.push(message);
        }
      }
    }
    for (const message of messages) message.ring.noteUnstored(message);
    return messages;
  }

  /** Gives each row a slot, the first whose contents nobody needs, and notes which messages lie there. */
  #place(drafts: readonly Draft[], taken: Set<number>): number[] {
    let next = 0;
    const slots = drafts.map(() => {
      while (taken.has(next)) next++;
      taken.add(next);
      return next;
    });
    this.#slots = Math.max(this.#slots, ...slots.map((slot) => slot + 1));
    drafts.forEach(({ messages, pieces }, index) => {
      if (messages.length === 0) return;
      const bytes = messages.reduce((sum, { width }) => sum + width, 0);
      const segment = new Segment(slots.slice(index, index + 1 + pieces), messages.length, bytes);
      for (const message of messages) message.ring.noteStored(message, segment);
      this.#segments.push(segment);
    });
    return slots;
  }

  #live(): number[] {
    return [...new Set([...this.#segments.flatMap(({ slots }) => slots), ...this.#stateSlots])];
  }

  #put(rows: readonly Row[], slots: readonly number[]): void {
    this.rowsWritten += rows.length;
    for (let from = 0; from < rows.length; from += PUT_KEYS) {
      const entries = rows.slice(from, from + PUT_KEYS).map((row, i) => [PREFIX + slots[from + i], row] as const);
      void this.#storage.put(Object.fromEntries(entries), { allowUnconfirmed: true });
    }
  }

  #tidy(live: readonly number[]): void {
    const needed = new Set(live);
    const spare: number[] = [];
    for (let slot = 0; slot < this.#slots; slot++) if (!needed.has(slot)) spare.push(slot);
    if (spare.length <= SPARE_SLOTS) return;
    this.#delete(spare);
    this.#slots = Math.max(-1, ...live) + 1;
  }

  #delete(slots: readonly number[]): void {
    this.rowsWritten += slots.length;
    for (let from = 0; from < slots.length; from += PUT_KEYS) {
      const keys = slots.slice(from, from + PUT_KEYS).map((slot) => PREFIX + slot);
      void this.#storage.delete(keys, { allowUnconfirmed: true });
    }
  }
}

function* unwritten(engine: Engine): Generator<Message> {
  for (const ring of engine.ledger.fresh) {
    for (let message = ring.fresh; message !== null; message = message.next) yield message;
  }
}

function largePayloads(live: readonly [number, Row][]): Map<number, { text: string; slots: number[] }> {
  const pieces = live
    .flatMap(([slot, { piece }]) => (piece === undefined ? [] : [{ slot, ...piece }]))
    .sort((a, b) => a.index - b.index);
  const whole = new Map<number, { text: string; slots: number[] }>();
  for (const { seq, text, slot } of pieces) {
    const so = whole.get(seq) ?? { text: "", slots: [] };
    so.text += text;
    so.slots.push(slot);
    whole.set(seq, so);
  }
  return whole;
}

function countOf({ columns }: Row): number {
  return columns?.seqs.length ?? 0;
}

function sizeOf({ parts = [] }: Row, whole = ""): number {
  return parts.reduce((sum, { text }) => sum + text.length, whole.length);
}

function firstOf({ columns, from }: StoredPart): number {
  return columns.seqs[from] ?? 0;
}

/** Moves whenever a counter does. */
function activity({ pushed, popped, acked, redelivered, dropped, adopted, groupIdleOwed }: Counters): number {
  return adopted + pushed + popped + acked + redelivered + dropped.bounds + dropped.ttl + dropped.retry + groupIdleOwed;
}

function slotOf(key: string): number {
  return Number(key.slice(PREFIX.length));
}
