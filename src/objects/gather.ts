import { isRefusal, type Refusal } from "../contract/errors.ts";
import { MAX_ANSWER_BYTES, MAX_ITEMS } from "../contract/limits.ts";
import { Batch, type Handed } from "../engine/batch.ts";
import type { PopRequest } from "../engine/engine.ts";
import type { Group } from "../engine/group.ts";
import type { Waiter } from "../engine/waiter.ts";
import type { ParkedElsewhere, Turn } from "./home.ts";
import type { Peers } from "./peers.ts";
import { unpack } from "./protocol.ts";

/** After an owner could not be asked for parked pops. */
const RETRY_MS = 1000;

/** What a home knows of a group on the queue's other owners. */
interface Elsewhere {
  /**
   * Messages known to be there for the group. An owner with an entry will report more by itself; one without has to be
   * asked.
   */
  available: Map<number, number>;
  /** Whose turn it is, so that no owner starves another. */
  turn: number;
  running: boolean;
  again: boolean;
}

/**
 * Pops with no partition, over everything that a queue has: the home serves its own rings and, in turn, asks the other
 * owners. A demand leaves the home's interest behind in the same call, so that no wake-up is lost.
 */
export class Gather implements ParkedElsewhere {
  readonly #turn: Turn;
  readonly #peers: Peers;
  readonly #others: (queue: string) => number[];
  readonly #elsewhere = new WeakMap<Group, Elsewhere>();

  constructor(turn: Turn, peers: Peers, others: (queue: string) => number[]) {
    this.#turn = turn;
    this.#peers = peers;
    this.#others = others;
  }

  #of(group: Group): Elsewhere {
    let known = this.#elsewhere.get(group);
    if (known === undefined) {
      known = { available: new Map(), turn: 0, running: false, again: false };
      this.#elsewhere.set(group, known);
    }
    return known;
  }

  forget(group: Group, owner: number): void {
    if (this.#elsewhere.get(group)?.available.delete(owner)) this.#count(group);
  }

  #count(group: Group): void {
    let total = 0;
    for (const available of this.#of(group).available.values()) total += available;
    group.parking.remoteAvailable = total;
  }

  /** An answer from everywhere, at once. */
  async pop(request: PopRequest): Promise<Batch | Refusal> {
    const here = this.#turn((engine) => engine.pop({ ...request, batch: 0, waitMs: 0 }));
    if (here !== null && isRefusal(here)) return here;
    const group = this.#group(request);
    const batch = new Batch(request.batch);
    const owners = [this.#peers.self, ...this.#others(request.queue)];
    const first = group === undefined ? 0 : this.#of(group).turn++ % owners.length;
    for (const owner of [...owners.slice(first), ...owners.slice(0, first)]) {
      if (batch.count >= batch.limit || batch.bytes >= MAX_ANSWER_BYTES) break;
      // An owner that will report by itself has nothing.
      if (group !== undefined && this.#of(group).available.get(owner) === 0) continue;
      await this.#take(request, group, owner, batch, false);
    }
    return batch;
  }

  #group({ queue, group }: { queue: string; group: string }): Group | undefined {
    return this.#turn((engine) => engine.queues.get(queue)?.groups.get(group));
  }

  /** Adds to `batch` what one owner has for it. */
  async #take(
    { queue, group: name, autoAck }: Pick<PopRequest, "queue" | "group" | "autoAck">,
    group: Group | undefined,
    owner: number,
    batch: Batch,
    interest: boolean,
  ): Promise<void> {
    const limit = batch.limit - batch.count;
    const claim = { queue, group: name, limit, maxBytes: MAX_ANSWER_BYTES - batch.bytes, autoAck, interest };
    if (owner === this.#peers.self) {
      this.#turn((engine) => batch.append(engine.claim({ ...claim, interest: false }).batch));
      return;
    }
    const { items, handed, bytes, left } = await this.#peers.owner(owner).claim(claim);
    batch.append({ items: items.map(unpack), handed, bytes });
    if (group === undefined) return;
    const { available } = this.#of(group);
    if (left === null) available.delete(owner);
    else if (interest || available.has(owner)) available.set(owner, left);
    this.#count(group);
  }

  /** Another owner has messages for a group. Answers whether anybody waits for them. */
  available(queue: string, name: string, owner: number, count: number): boolean {
    const group = this.#group({ queue, group: name });
    if (group === undefined) return false;
    if (!group.parking.isOccupied) {
      this.forget(group, owner);
      return false;
    }
    this.#of(group).available.set(owner, count);
    this.#count(group);
    this.#turn(() => group.parking.serveAny());
    return true;
  }

  /** Pops of this group have been parked: leaves interest with every owner that has none of it yet. */
  attend(group: Group): void {
    const { available } = this.#of(group);
    const unknown = this.#others(group.queue.name).filter((owner) => !available.has(owner));
    if (unknown.length > 0) void this.#ask(group, unknown);
    else if (group.parking.remoteAvailable > 0) this.#turn(() => group.parking.serveAny());
  }

  async #ask(group: Group, owners: readonly number[]): Promise<void> {
    const request = { queue: group.queue.name, group: group.name, autoAck: false };
    const asked = await Promise.allSettled(
      owners.map((owner) => this.#take(request, group, owner, new Batch(0), true)),
    );
    if (asked.some(({ status }) => status === "rejected")) this.#later(group);
    this.#turn(() => group.parking.serveAny());
  }

  #later(group: Group): void {
    setTimeout(() => {
      if (group.parking.isOccupied) this.attend(group);
    }, RETRY_MS);
  }

  /** Serves parked pops from the other owners, one run at a time so that first come stays first served. */
  async serve(group: Group): Promise<void> {
    const state = this.#of(group);
    if (state.running) {
      state.again = true;
      return;
    }
    state.running = true;
    try {
      do {
        state.again = false;
        await this.#serveOnce(group, state);
      } while (state.again);
    } finally {
      state.running = false;
    }
  }

  async #serveOnce(group: Group, state: Elsewhere): Promise<void> {
    const waiters = group.parking.detach(group.queue.hasWindow ? 1 : group.parking.remoteAvailable);
    const [head] = waiters;
    if (head === undefined) return;
    // The engine may be in the middle of a step: it is spoken to again only after that.
    await Promise.resolve();
    const request = { queue: group.queue.name, group: group.name, autoAck: head.autoAck };
    const demand = Math.min(
      MAX_ITEMS,
      waiters.reduce((sum, waiter) => sum + waiter.batch, 0),
    );
    const batch = new Batch(demand);
    const owners = [this.#peers.self, ...state.available.keys()];
    const first = state.turn++ % owners.length;
    try {
      for (const owner of [...owners.slice(first), ...owners.slice(0, first)]) {
        if (batch.count >= demand || batch.bytes >= MAX_ANSWER_BYTES) break;
        if (owner !== this.#peers.self && (state.available.get(owner) ?? 0) === 0) continue;
        try {
          await this.#take(request, group, owner, batch, true);
        } catch {
          this.forget(group, owner);
          this.#later(group);
        }
      }
    } finally {
      await this.#distribute(group, waiters, batch);
    }
  }

  async #distribute(group: Group, waiters: readonly Waiter[], batch: Batch): Promise<void> {
    const spare = this.#turn((engine) => {
      const unserved: Waiter[] = [];
      for (const waiter of waiters) {
        if (waiter.cancelled || batch.count === 0) unserved.push(waiter);
        else group.parking.answer(waiter, batch.split(waiter.batch));
      }
      engine.resume(unserved);
      return batch.handed;
    });
    if (batch.count > 0) await this.release(group.queue.name, group.name, spare);
  }

  /** Gives messages back to the owners that handed them over. */
  async release(queue: string, group: string, handed: readonly Handed[]): Promise<void> {
    const byOwner = Map.groupBy(handed, ({ partition }) => this.#peers.placement.owner(queue, partition));
    for (const [owner, part] of byOwner) {
      if (owner === this.#peers.self) this.#turn((engine) => engine.release(queue, group, part));
      else await this.#peers.owner(owner).release(queue, group, part);
    }
  }
}
