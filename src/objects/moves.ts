import type { Engine } from "../engine/engine.ts";
import { exportRing } from "../engine/adopt.ts";
import type { Queue } from "../engine/queue.ts";
import type { Ring } from "../engine/ring.ts";
import { clientName, inTransit, isInTransit } from "../engine/transit.ts";
import { Placement } from "../placement.ts";
import { Arrivals } from "./arrivals.ts";
import type { Turn } from "./home.ts";
import { KeyedMutex } from "./mutex.ts";
import { bytesOf, keyOf, PARCEL_BYTES, split, type Place } from "./parcels.ts";
import type { Peers } from "./peers.ts";
import type { Membership, Offer, Parcel } from "./protocol.ts";

/** Partitions in one call. */
const PARCELS_PER_CALL = 200;

/** What moves need of the owner around them. */
export interface MovesHost {
  /** Makes the queue known here, with its home, before a part of it arrives. */
  open(queue: string, groups: readonly string[]): Promise<void>;
  /** Makes everything so far durable. */
  flush(): Promise<void>;
}

/** What outlives an owner's life of the moves of its partitions. */
export interface MovesLog {
  /** Moves that have arrived here, kept until the epoch is settled. */
  readonly adopted: Set<string>;
  /** Partitions that this owner has begun to send, by key. */
  readonly offered: Map<string, Offer>;
}

/**
 * Partitions that change their owner when the number of owners changes. The sender keeps a partition, on its disk, until
 * the receiver has it on its own; the receiver remembers what it has taken over, so that a parcel that is sent again
 * after a crash changes nothing. Nothing is dropped while it can still be sent. Should the number change once more
 * before the sender has heard, it asks that receiver first: of two copies one would be out of date.
 */
export class Moves {
  readonly #engine: Engine;
  readonly #turn: Turn;
  readonly #peers: Peers;
  readonly #host: MovesHost;
  readonly #offered: Map<string, Offer>;
  readonly #sending = new KeyedMutex();
  /** Partitions that no earlier owner has a part of any more. */
  readonly #pulled = new Set<string>();
  readonly #arrivals: Arrivals;
  #membership: Membership = { epoch: 0, earlier: [] };

  constructor(engine: Engine, turn: Turn, peers: Peers, { adopted, offered }: MovesLog, host: MovesHost) {
    this.#engine = engine;
    this.#turn = turn;
    this.#peers = peers;
    this.#offered = offered;
    this.#host = host;
    this.#arrivals = new Arrivals(turn, host, adopted);
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
    if (membership.earlier.length === 0) this.#arrivals.forget();
  }

  /** Every owner has settled: whatever belongs here is here. */
  settled(epoch: number): void {
    if (epoch !== this.#membership.epoch) return;
    this.#membership = { epoch, earlier: [] };
    this.#arrivals.forget();
    this.#pulled.clear();
  }

  /** Whether an earlier owner may still hold a part of this partition. */
  mayBeElsewhere(queue: string, partition: string): boolean {
    if (this.#membership.earlier.length === 0) return false;
    return !this.#pulled.has(keyOf({ queue, partition }));
  }

  /** Fetches what earlier owners still hold of a partition. Answers false when one of them has not got that far. */
  async pull(queue: string, partition: string): Promise<boolean> {
    if (!(await this.#asked(this.#peers.self, queue, partition))) return false;
    for (const owners of this.#membership.earlier) {
      const source = new Placement(owners).owner(queue, partition);
      if (source === this.#peers.self) continue;
      if (!(await this.#asked(source, queue, partition))) return false;
    }
    this.#pulled.add(keyOf({ queue, partition }));
    return true;
  }

  async #asked(source: number, queue: string, partition: string): Promise<boolean> {
    try {
      if (source !== this.#peers.self) {
        return await this.#peers.owner(source).handOver(queue, partition, this.#peers.placement.owners);
      }
      await this.handOver(queue, partition);
      return true;
    } catch (error) {
      console.warn({ event: "pull_failed", queue, partition, owner: this.#peers.self, source, error: String(error) });
      return false;
    }
  }

  /** Sends one partition to the owner that it belongs to, which may be this one, if it is in transit here. */
  async handOver(queue: string, partition: string): Promise<void> {
    await this.#resolve({ queue, partition });
    await this.#send(this.#peers.placement.owner(queue, partition), [{ queue, partition }]);
  }

  /** Sends everything that belongs elsewhere. Answers whether nothing is left. */
  async settle(): Promise<boolean> {
    const rings = [...this.#engine.queues.values()]
      .filter(({ name }) => isInTransit(name))
      .flatMap((held) => Array.from(held.rings.keys(), (partition) => ({ queue: clientName(held.name), partition })));
    const before = this.#held();
    let failure: unknown = null;
    const note = (error: unknown) => {
      failure = error;
    };
    for (const place of rings) await this.#resolve(place).catch(note);
    const byTarget = Map.groupBy(rings, ({ queue, partition }) => this.#peers.placement.owner(queue, partition));
    for (const [target, parts] of byTarget) {
      for (let from = 0; from < parts.length; from += PARCELS_PER_CALL) {
        await this.#send(target, parts.slice(from, from + PARCELS_PER_CALL)).catch(note);
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

  #find({ queue, partition }: Place): { held: Queue; ring: Ring } | null {
    const held = this.#engine.queues.get(inTransit(queue));
    const ring = held?.rings.get(partition);
    return held === undefined || ring === undefined ? null : { held, ring };
  }

  #moveOf(place: Place): string {
    return `${this.#membership.epoch}:${this.#peers.self}:${keyOf(place)}`;
  }

  #isOfferedBefore(place: Place): boolean {
    const offer = this.#offered.get(keyOf(place));
    return offer !== undefined && offer.move !== this.#moveOf(place);
  }

  /** Asks about a partition that was being sent when the membership changed. If it has arrived there, it has left here. */
  async #resolve(place: Place): Promise<void> {
    const offer = this.#offered.get(keyOf(place));
    if (offer === undefined || !this.#isOfferedBefore(place)) return;
    const hasArrived = await this.#peers.owner(offer.target).hasAdopted(offer.move);
    if (this.#offered.get(keyOf(place)) !== offer) return;
    if (hasArrived) await this.#surrender([place]);
    else this.#offered.delete(keyOf(place));
  }

  async #send(target: number, places: readonly Place[]): Promise<void> {
    await this.#sending.run(String(target), async () => {
      const sent = places.filter((place) => this.#find(place) !== null && !this.#isOfferedBefore(place));
      if (sent.length === 0) return;
      if (target === this.#peers.self) await this.#takeBack(sent);
      else await this.#sendAll(target, sent);
      await this.#surrender(sent);
    });
  }

  /** What had not arrived elsewhere, and belongs here again. */
  async #takeBack(places: readonly Place[]): Promise<void> {
    for (const place of places) {
      const groups = [...(this.#find(place)?.held.groups.keys() ?? [])];
      await this.#host.open(place.queue, groups);
      this.#turn((engine) => {
        const found = this.#find(place);
        if (found === null) return;
        const { state, ...contents } = exportRing(found.ring);
        engine.adopt(place.queue, { state: { ...state, queue: place.queue }, ...contents });
        engine.surrender(inTransit(place.queue), place.partition);
      });
    }
  }

  async #sendAll(target: number, places: readonly Place[]): Promise<void> {
    this.#turn((engine) => {
      for (const place of places) this.#offered.set(keyOf(place), { ...place, move: this.#moveOf(place), target });
      engine.ledger.change(Date.now());
    });
    // The next life must know whom to ask.
    await this.#host.flush();
    let parcels: Parcel[] = [];
    let bytes = 0;
    for (const place of places) {
      const found = this.#find(place);
      if (found === null) continue;
      const groups = [...found.held.groups.keys()];
      const head = { move: this.#moveOf(place), epoch: this.epoch, queue: place.queue, groups };
      for (const parcel of split(head, exportRing(found.ring))) {
        parcels.push(parcel);
        bytes += bytesOf(parcel);
        if (bytes < PARCEL_BYTES) continue;
        await this.#peers.owner(target).adopt(parcels);
        parcels = [];
        bytes = 0;
      }
    }
    if (parcels.length > 0) await this.#peers.owner(target).adopt(parcels);
  }

  /** Forgets what is on another owner's disk by now. */
  async #surrender(places: readonly Place[]): Promise<void> {
    this.#turn((engine) => {
      for (const place of places) {
        engine.surrender(inTransit(place.queue), place.partition);
        this.#offered.delete(keyOf(place));
      }
      engine.ledger.change(Date.now());
    });
    await this.#host.flush();
  }

  /** Takes partitions over, and answers once they are on this owner's disk. */
  async adopt(parcels: readonly Parcel[]): Promise<void> {
    for (const parcel of parcels) {
      await this.#mustBeDue(parcel);
      await this.#arrivals.take(parcel, () => this.handOver(parcel.queue, parcel.ring.state.partition));
    }
    await this.#host.flush();
  }

  /** A parcel may be late, of a sender that is no more: by now its partition may have arrived, been forgotten and moved on. */
  async #mustBeDue({ move, epoch, queue, ring }: Parcel): Promise<void> {
    if (epoch > this.epoch) await this.refresh();
    const isHere = this.#peers.placement.owner(queue, ring.state.partition) === this.#peers.self;
    if (epoch !== this.epoch || this.isSettled || !isHere) throw new Error(`${move} does not move here any more`);
  }

  /** Whether a move has arrived here. If it has not, it never will. */
  hasAdopted(move: string): Promise<boolean> {
    return this.#arrivals.has(move);
  }
}
