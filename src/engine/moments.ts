import type { EngineContext } from "./context.ts";
import { formatMessageId } from "./ids.ts";
import type { Message } from "./message.ts";
import type { Queue } from "./queue.ts";
import type { Ring } from "./ring.ts";

/** How far an eject has come in one partition. */
export interface EjectPlace {
  ejectId: string;
  /** The owner that held the partition when the moment began: numbers are its own. */
  owner: number;
  takenAt: number;
  /** The number after the newest message of the moment. */
  tail: number;
  /** The number of the next message. */
  next: number;
  /** When the last one was pushed that went out. */
  after: number;
}

/** Messages of an eject, as JSON texts. */
export interface EjectedPage {
  items: string[];
  /** null = that was all. */
  next: EjectPlace | null;
  /** Whether the moment was lost: what left meanwhile is missing. */
  isRestarted: boolean;
}

/** A message and how often it had been delivered. */
interface Stood {
  message: Message;
  attempts: number;
}

interface Moment {
  rings: Map<string, Stood[]>;
  usedAt: number;
  /** The partitions that were read to their ends. */
  read: Set<string>;
}

export const MAX_MOMENTS = 4;
/** How long a moment is kept for the next page. */
const MOMENT_MS = 60_000;
/** What a message takes of a page beside its payload. */
const MESSAGE_BYTES = 200;

/**
 * What queues held at one time, for ejects to read in peace: references to messages, whose texts never change. A moment
 * ends with its owner's life, or when nobody has asked for a page for a while; an eject then goes on with what is still
 * here of it. Then too nothing comes twice, and nothing that was pushed later. If the partition has moved as well, those
 * messages are missing that were pushed in the same millisecond as the last one that went out.
 */
export class Moments {
  readonly #context: EngineContext;
  readonly #open = new Map<string, Moment>();

  constructor(context: EngineContext) {
    this.#context = context;
  }

  /** Begins a moment of everything that is here of a queue; null = there are too many. */
  begin(
    queue: Queue,
    ejectId: string,
    owner: number,
  ): { partition: string; count: number; place: EjectPlace }[] | null {
    if (this.#open.size >= MAX_MOMENTS) this.#endOne();
    if (this.#open.size >= MAX_MOMENTS) return null;
    const { now: takenAt, nextSeq: tail } = this.#context;
    const rings = new Map(Array.from(queue.rings.values(), (ring) => [ring.partition, standing(ring)]));
    this.#open.set(ejectId, { rings, usedAt: takenAt, read: new Set() });
    const place: EjectPlace = { ejectId, owner, takenAt, tail, next: 0, after: -1 };
    return Array.from(rings, ([partition, { length: count }]) => ({ partition, count, place }));
  }

  /** One that has been read to its end makes room. */
  #endOne(): void {
    for (const [ejectId, { rings, read }] of this.#open) {
      if (read.size < rings.size) continue;
      this.#open.delete(ejectId);
      return;
    }
  }

  expire(): void {
    for (const [ejectId, { usedAt }] of this.#open) {
      if (usedAt + MOMENT_MS <= this.#context.now) this.#open.delete(ejectId);
    }
  }

  /** The messages of a partition from a place on, up to a size, but one at least. `self` is the owner that this is. */
  page(queue: Queue | undefined, partition: string, place: EjectPlace, maxBytes: number, self: number): EjectedPage {
    const moment = this.#open.get(place.ejectId);
    const held = moment?.rings.get(partition);
    if (moment !== undefined) moment.usedAt = this.#context.now;
    const all = held ?? whatIsLeft(queue?.rings.get(partition), place, self);
    const isRestarted = held === undefined;
    const items: string[] = [];
    let bytes = 0;
    let { after } = place;
    for (let at = held === undefined ? 0 : firstFrom(held, place.next); at < all.length; at++) {
      const { message, attempts } = all[at] as Stood;
      const size = message.bytes + MESSAGE_BYTES;
      if (items.length > 0 && bytes + size > maxBytes) {
        return {
          items,
          next: { ...place, ...numbering(self, this.#context, place), next: message.seq, after },
          isRestarted,
        };
      }
      items.push(itemOf(message, `"attempts":${attempts}`));
      bytes += size;
      after = message.pushedAt;
    }
    moment?.read.add(partition);
    return { items, next: null, isRestarted };
  }
}

/** Whose numbers the next place speaks of: those of another owner end with its part. */
function numbering(
  self: number,
  { nextSeq }: EngineContext,
  { owner, tail }: EjectPlace,
): Pick<EjectPlace, "owner" | "tail"> {
  return owner === self ? { owner, tail } : { owner: self, tail: nextSeq };
}

function standing({ messages }: Ring): Stood[] {
  return Array.from(messages, (message) => ({ message, attempts: attemptsOf(message) }));
}

/** The most deliveries that any group has had of it. */
function attemptsOf({ deliveries }: Message): number {
  let attempts = 0;
  for (let each = deliveries; each !== null; each = each.after) attempts = Math.max(attempts, each.attempts);
  return attempts;
}

function whatIsLeft(ring: Ring | undefined, { owner, takenAt, tail, next, after }: EjectPlace, self: number): Stood[] {
  if (ring === undefined) return [];
  const isOwed = ({ seq, pushedAt }: Message) =>
    pushedAt <= takenAt && (owner === self ? seq >= next && seq < tail : pushedAt > after);
  return standing(ring).filter(({ message }) => isOwed(message));
}

function firstFrom(held: readonly Stood[], seq: number): number {
  let low = 0;
  let high = held.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((held[middle]?.message.seq ?? Infinity) < seq) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** A message as somebody sees it who only looks, with one more member. */
export function itemOf({ ring, seq, payload, pushedAt }: Message, member: string): string {
  const { partition, queue } = ring;
  const id = formatMessageId({ incarnation: queue.context.incarnation, partition, seq });
  const head = `{"id":${JSON.stringify(id)},"partition":${JSON.stringify(partition)},"payload":${payload}`;
  return `${head},"enqueuedAtMs":${pushedAt},${member}}`;
}
