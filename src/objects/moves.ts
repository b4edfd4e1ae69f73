import type { Engine } from "../engine/engine.ts";
import { exportRing, type RingExport } from "../engine/adopt.ts";
import { clientName, inTransit, isInTransit } from "../engine/transit.ts";
import { Placement } from "../placement.ts";
import type { Turn } from "./home.ts";
import { KeyedMutex } from "./mutex.ts";
import type { Peers } from "./peers.ts";
import type { Membership, Parcel } from "./protocol.ts";

/** A parcel's messages, in bytes of text: two of them still fit an RPC of 32 MiB, wide characters included. */
const PARCEL_BYTES = 4 * 1024 * 1024;
/** Partitions in one call. */
const PARCELS_PER_CALL = 200;

/** What moves need of the owner around them. */
export interface MovesHost {
  /** Makes the queue known here, with its home, before a part of it arrives. */
  open(queue: string, groups: readonly string[]): Promise<void>;
  /** Makes everything so far durable. */
  flush(): Promise<void>;
}

/**
 * Partitions that change their owner when the number of owners changes. The sender keeps a partition, on its disk, until
 * the receiver has it on its own; the receiver remembers what it has taken over, so that a parcel that is sent again
 * after a crash changes nothing. Nothing is dropped while it can still be sent.
 */
export class Moves {
  readonly #engine: Engine;
  readonly #turn: Turn;
  readonly #peers: Peers;
  readonly #host: MovesHost;
  /** Moves that have arrived here, kept until the epoch is settled. */
  readonly #adopted: Set<string>;
  readonly #sending = new KeyedMutex();
  /** Partitions that no earlier owner has a part of any more. */
  readonly #pulled = new Set<string>();
  /** Messages of parcels that are not complete yet, by move. */
  readonly #arriving = new Map<string, RingExport["messages"]>();
  #membership: Membership = { epoch: 0, earlier: [] };
  /** Partitions taken over since this owner started: counted where they arrive, as a sender may be a member no more. */
  takenOver = 0;

  constructor(engine: Engine, turn: Turn, peers: Peers, adopted: Set<string>, host: MovesHost) {
    this.#engine = engine;
    this.#turn = turn;
    this.#peers = peers;
    this.#adopted = adopted;
    this.#host = host;
  }

  get isSettled(): boolean {
    return this.#membership.earlier.length === 0;
  }

  /** Asks again how things stand: the word that an epoch is settled may have been lost. */
  async refresh(): Promise<void> {
    this.begin(await this.#peers.declarations().membership());
  }

  get epoch(): number {
    return this.#membership.epoch;
  }

  /** Learns how many owners there were before; called once the membership is known. */
  begin(membership: Membership): void {
    this.#membership = membership;
    if (membership.earlier.length === 0) this.#adopted.clear();
  }

  /** Every owner has settled: whatever belongs here is here. */
  settled(epoch: number): void {
    if (epoch !== this.#membership.epoch) return;
    this.#membership = { epoch, earlier: [] };
    this.#adopted.clear();
    this.#pulled.clear();
  }

  /** Whether an earlier owner may still hold a part of this partition. */
  mayBeElsewhere(queue: string, partition: string): boolean {
    if (this.#membership.earlier.length === 0) return false;
    return !this.#pulled.has(keyOf(queue, partition));
  }

  /** Fetches what earlier owners still hold of a partition. Answers false when one of them has not got that far. */
  async pull(queue: string, partition: string): Promise<boolean> {
    for (const owners of this.#membership.earlier) {
      const source = new Placement(owners).owner(queue, partition);
      if (source === this.#peers.self) continue;
      if (!(await this.#asked(source, queue, partition))) return false;
    }
    this.#pulled.add(keyOf(queue, partition));
    return true;
  }

  async #asked(source: number, queue: string, partition: string): Promise<boolean> {
    try {
      return await this.#peers.owner(source).handOver(queue, partition, this.#peers.placement.owners);
    } catch (error) {
      console.warn({ event: "pull_failed", queue, partition, owner: this.#peers.self, source, error: String(error) });
      return false;
    }
  }

  /** Sends one partition to the owner that asks for it, if it is here. */
  async handOver(queue: string, partition: string): Promise<void> {
    const target = this.#peers.placement.owner(queue, partition);
    await this.#send(target, [{ queue, partition }]);
  }

  /** Sends everything that belongs elsewhere. Answers whether nothing is left. */
  async settle(): Promise<boolean> {
    const rings = [...this.#engine.queues.values()]
      .filter(({ name }) => isInTransit(name))
      .flatMap((held) => Array.from(held.rings.keys(), (partition) => ({ queue: clientName(held.name), partition })));
    const byTarget = Map.groupBy(rings, ({ queue, partition }) => this.#peers.placement.owner(queue, partition));
    const before = this.#held();
    let failure: unknown = null;
    for (const [target, parts] of byTarget) {
      for (let from = 0; from < parts.length; from += PARCELS_PER_CALL) {
        try {
          await this.#send(target, parts.slice(from, from + PARCELS_PER_CALL));
        } catch (error) {
          failure = error;
        }
      }
    }
    // What has left must be off this disk, and what this owner has learnt of its queues on it, before all count as done.
    await this.#host.flush();
    const left = this.#held();
    if (rings.length > 0) {
      const delivered = before.messages - left.messages;
      const event = {
        event: "handed_over",
        owner: this.#peers.self,
        rings: before.rings - left.rings,
        delivered,
        lost: 0,
      };
      if (failure === null) console.log(event);
      else console.warn({ ...event, left: left.rings, error: String(failure) });
    }
    return failure === null && left.rings === 0;
  }

  #held(): { rings: number; messages: number } {
    const held = { rings: 0, messages: 0 };
    for (const queue of this.#engine.queues.values()) {
      if (!isInTransit(queue.name)) continue;
      held.rings += queue.rings.size;
      held.messages += queue.length;
    }
    return held;
  }

  async #send(target: number, rings: readonly { queue: string; partition: string }[]): Promise<void> {
    await this.#sending.run(String(target), async () => {
      const sent: { queue: string; partition: string }[] = [];
      let parcels: Parcel[] = [];
      let bytes = 0;
      const dispatch = async () => {
        if (parcels.length > 0) await this.#peers.owner(target).adopt(parcels);
        parcels = [];
        bytes = 0;
      };
      for (const { queue, partition } of rings) {
        const held = this.#engine.queues.get(inTransit(queue));
        const ring = held?.rings.get(partition);
        if (held === undefined || ring === undefined) continue;
        const move = `${this.#membership.epoch}:${this.#peers.self}:${keyOf(queue, partition)}`;
        const groups = [...held.groups.keys()];
        for (const parcel of split(move, queue, groups, exportRing(ring))) {
          parcels.push(parcel);
          bytes += ring.bytes;
          if (bytes >= PARCEL_BYTES) await dispatch();
        }
        sent.push({ queue, partition });
      }
      await dispatch();
      if (sent.length === 0) return;
      this.#turn((engine) => {
        for (const { queue, partition } of sent) engine.surrender(inTransit(queue), partition);
      });
      await this.#host.flush();
    });
  }

  /** Takes partitions over, and answers once they are on this owner's disk. */
  async adopt(parcels: readonly Parcel[]): Promise<void> {
    for (const { move, queue, groups, index, last, ring } of parcels) {
      if (this.#adopted.has(move)) continue;
      const messages = index === 0 ? [] : this.#arriving.get(move);
      // A parcel out of order is of an earlier try: that one starts again from the first.
      if (messages === undefined) throw new Error(`parcel ${index} of ${move} came without those before it`);
      messages.push(...ring.messages);
      this.#arriving.set(move, messages);
      if (!last) continue;
      await this.#host.open(queue, groups);
      this.#arriving.delete(move);
      if (this.#adopted.has(move)) continue;
      this.#turn((engine) => {
        this.#adopted.add(move);
        engine.adopt(queue, { state: ring.state, messages });
      });
      this.takenOver++;
    }
    await this.#host.flush();
  }
}

/** Cuts a partition into parcels that fit a call each. */
function split(move: string, queue: string, groups: string[], { state, messages }: RingExport): Parcel[] {
  const pieces: RingExport["messages"][] = [[]];
  let bytes = 0;
  for (const message of messages) {
    if (bytes > 0 && bytes + message.payload.length > PARCEL_BYTES) {
      pieces.push([]);
      bytes = 0;
    }
    pieces.at(-1)?.push(message);
    bytes += message.payload.length;
  }
  return pieces.map((piece, index) => ({
    move,
    queue,
    groups,
    index,
    last: index === pieces.length - 1,
    ring: { state: { ...state, queue }, messages: piece },
  }));
}

function keyOf(queue: string, partition: string): string {
  return `${queue}\u0000${partition}`;
}
