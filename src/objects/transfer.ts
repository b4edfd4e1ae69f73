import { isRefusal, refuse, type Refusal } from "../contract/errors.ts";
import type { Imported } from "../engine/engine.ts";
import { MAX_MOMENTS, type EjectPlace } from "../engine/moments.ts";
import { peekedOf, type Peeked } from "../engine/views.ts";
import type { Admission } from "./admission.ts";
import type { Home, Turn } from "./home.ts";
import type { Peers } from "./peers.ts";
import { pack, unpack, type Packed } from "./protocol.ts";

/** Where the pages of one partition begin. */
export interface BegunPartition {
  partition: string;
  count: number;
  place: EjectPlace;
}

/** What a queue held at one time. */
export interface BegunEject {
  takenAtMs: number;
  tier: "declared" | "implicit";
  options: Record<string, unknown>;
  partitions: BegunPartition[];
}

/** Messages, as JSON texts joined by commas. */
export interface PageAnswer {
  json: Packed;
  next: EjectPlace | null;
  isRestarted: boolean;
}

export interface PeekAnswer {
  json: Packed;
  /** Whether anything of the queue is here. */
  isKnown: boolean;
}

interface TransferParts {
  turn: Turn;
  peers: Peers;
  home: Home;
  admission: Admission;
}

/** Contents of queues on their way out and in, beside what consumers do. */
export class Transfer {
  readonly #parts: TransferParts;

  constructor(parts: TransferParts) {
    this.#parts = parts;
  }

  /** The oldest messages of one partition. */
  async peekPartition(queue: string, partition: string, limit: number): Promise<PeekAnswer | Refusal> {
    const refusal = await this.#parts.admission.enterLook(queue, partition);
    if (refusal !== null) return refusal;
    return this.#parts.turn((engine) => {
      const ring = engine.queues.get(queue)?.rings.get(partition);
      const isKnown = engine.queues.has(queue);
      return { json: joined(ring === undefined ? [] : peekedOf([ring], limit)), isKnown };
    });
  }

  /** The oldest messages of what is held here of a queue. */
  peekShare(queue: string, limit: number): Peeked[] {
    return this.#parts.turn((engine) => peekedOf(engine.queues.get(queue)?.rings.values() ?? [], limit));
  }

  /** The oldest messages of a queue, asked of its home. */
  async peek(queue: string, limit: number): Promise<PeekAnswer | Refusal> {
    const { home, peers, turn } = this.#parts;
    await home.survey();
    if (!turn((engine) => engine.queues.has(queue))) return noQueue(queue);
    const elsewhere = home.others(queue).map((owner) => peers.owner(owner).sharePeek(queue, limit));
    const all = [this.peekShare(queue, limit), ...(await Promise.all(elsewhere))].flat();
    const oldest = all.sort((a, b) => a.pushedAt - b.pushedAt).slice(0, limit);
    return { json: joined(oldest), isKnown: true };
  }

  /** Begins a moment of what is held here of a queue. */
  ejectShare(queue: string, ejectId: string): BegunPartition[] | Refusal {
    const { peers, turn } = this.#parts;
    return turn((engine) => {
      const held = engine.queues.get(queue);
      const begun = held === undefined ? [] : engine.moments.begin(held, ejectId, peers.self);
      if (begun !== null) return begun;
      const text = `${MAX_MOMENTS} ejects are under way at an owner of this queue; begin another when one has ended`;
      return refuse("ephemeral_unavailable", text);
    });
  }

  /** Begins a moment of a queue, on all of its owners at the same time; asked of its home. */
  async eject(queue: string, ejectId: string): Promise<BegunEject | Refusal> {
    const { home, peers, turn } = this.#parts;
    await home.survey();
    const held = turn((engine) => engine.queues.get(queue));
    if (held === undefined) return noQueue(queue);
    const { declared, options } = held;
    const takenAtMs = Date.now();
    const elsewhere = home.others(queue).map((owner) => peers.owner(owner).shareEject(queue, ejectId));
    const shares = [this.ejectShare(queue, ejectId), ...(await Promise.all(elsewhere))];
    const partitions: BegunPartition[] = [];
    for (const share of shares) {
      if (isRefusal(share)) return share;
      partitions.push(...share);
    }
    partitions.sort((a, b) => (a.partition < b.partition ? -1 : 1));
    return { takenAtMs, tier: declared ? "declared" : "implicit", options: { ...options }, partitions };
  }

  async ejectPage(
    queue: string,
    partition: string,
    place: EjectPlace,
    maxBytes: number,
  ): Promise<PageAnswer | Refusal> {
    const { admission, peers, turn } = this.#parts;
    const refusal = await admission.enterLook(queue, partition);
    if (refusal !== null) return refusal;
    return turn((engine) => {
      const held = engine.queues.get(queue);
      const { items, next, isRestarted } = engine.moments.page(held, partition, place, maxBytes, peers.self);
      return { json: pack(items.join(",")), next, isRestarted };
    });
  }

  async import(
    queue: string,
    partition: string,
    source: string,
    numbers: readonly number[],
    payloads: readonly Packed[],
  ): Promise<Imported | Refusal> {
    const { admission, turn } = this.#parts;
    const refusal = await admission.enterPush(queue, partition);
    return refusal ?? turn((engine) => engine.import(queue, partition, source, numbers, payloads.map(unpack)));
  }

  /** Removes messages whoever has them. Answers how many were here. */
  async discard(queue: string, partitions: readonly string[], ids: readonly string[]): Promise<number | Refusal> {
    for (const partition of partitions) {
      const refusal = await this.#parts.admission.enterLook(queue, partition);
      if (refusal !== null) return refusal;
    }
    return this.#parts.turn((engine) => engine.discard(queue, ids));
  }
}

function joined(messages: readonly Peeked[]): Packed {
  return pack(messages.map(({ item }) => item).join(","));
}

function noQueue(queue: string): Refusal {
  return refuse("ephemeral_queue_not_found", `there is no queue ${JSON.stringify(queue)}`);
}
