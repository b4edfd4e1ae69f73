import type { Refusal } from "../contract/errors.ts";
import { MAX_ITEMS } from "../contract/limits.ts";
import type { DeclaredOptions } from "../contract/options.ts";
import { groupDepths, partitionDepths, type GroupDepth, type PartitionDepth } from "../engine/views.ts";
import type { Claim, Engine } from "../engine/engine.ts";
import { clientName, isInTransit } from "../engine/transit.ts";
import type { Turn } from "./home.ts";
import type { Peers } from "./peers.ts";
import { pack, type ClaimAnswer, type Holding } from "./protocol.ts";

/** How often an owner says that it holds nothing any more, before it leaves that to the next survey. */
const LEAVE_TRIES = 3;

/** The parts of queues that an owner holds away from their homes, and what their homes tell it. */
export class Share {
  readonly #turn: Turn;
  readonly #peers: Peers;
  readonly #joining = new Map<string, Promise<void>>();
  readonly #leaving = new Map<string, Promise<void>>();
  readonly #engine: Engine;
  /** Parts that were brought back from the disk, and whose homes do not know it yet. */
  readonly #restored = new Set<string>();

  constructor(turn: Turn, peers: Peers, engine: Engine) {
    this.#engine = engine;
    for (const queue of engine.queues.values()) if (!queue.isHome) this.#restored.add(queue.name);
    this.#turn = turn;
    this.#peers = peers;
  }

  /** Whether the home of a queue knows of the part that is held here. */
  hasJoined(queue: string): boolean {
    return this.#engine.queues.has(queue) && !this.#restored.has(queue);
  }

  /** Tells the homes of restored parts that they are back; whoever asks for one of them before that waits for it. */
  rejoin(): void {
    for (const queue of this.#restored) {
      this.join(queue).catch((error: unknown) => {
        console.warn({ event: "rejoin_failed", queue, owner: this.#peers.self, error: String(error) });
      });
    }
  }

  /** Registers with the home of a queue, once; requests for its rings wait here, in order. */
  async join(queue: string): Promise<void> {
    let joining = this.#joining.get(queue);
    if (joining === undefined) {
      joining = this.#join(queue).finally(() => this.#joining.delete(queue));
      this.#joining.set(queue, joining);
    }
    await joining;
  }

  async #join(queue: string): Promise<void> {
    await this.#leaving.get(queue);
    const known = [...(this.#engine.queues.get(queue)?.groups.keys() ?? [])];
    const { options, groups, interest } = await this.#peers.home(queue).register(queue, this.#peers.self, known);
    this.#turn((engine) => {
      const held = engine.configure(queue, options);
      for (const group of groups) held.addGroup(group);
      this.#restored.delete(queue);
      for (const name of interest) held.addGroup(name).listenAtOnce();
    });
  }

  /** Has the home make a new group known everywhere. */
  async admitGroup(queue: string, group: string): Promise<Refusal | null> {
    const refusal = await this.#peers.home(queue).admitGroup(queue, group, this.#peers.self);
    return refusal ?? this.#turn((engine) => engine.addGroup(queue, group));
  }

  /** The engine has collected its idle part of a queue: the home need not keep its place. */
  left(queue: string): void {
    const leaving = this.#leave(queue).finally(() => this.#leaving.delete(queue));
    this.#leaving.set(queue, leaving);
  }

  async #leave(queue: string): Promise<void> {
    for (let tries = 0; tries < LEAVE_TRIES; tries++) {
      try {
        await this.#peers.home(queue).unregister(queue, this.#peers.self);
        return;
      } catch {
        await scheduler.wait(1000);
      }
    }
    console.warn({ event: "unregister_failed", queue, owner: this.#peers.self });
  }

  /** Which parts of the queues of one home are held here. */
  holdings(home: number): Holding[] {
    const isOfHome = (queue: string) => this.#peers.placement.home(clientName(queue)) === home;
    // A home that has just restarted may have forgotten a registration that it has answered a moment ago.
    const joining = [...this.#joining.keys()].filter((queue) => isOfHome(queue) && !this.#engine.queues.has(queue));
    return this.#turn((engine) => [
      ...joining.map((queue) => ({ queue, groups: [], serves: true })),
      ...[...engine.queues.values()]
        .filter(({ name }) => isOfHome(name))
        .map(({ name, groups }) => ({
          queue: clientName(name),
          groups: [...groups.keys()],
          serves: !isInTransit(name),
        })),
    ]);
  }

  /** A change from the home waits for a registration under way, which may have been answered before it. */
  async #settled(queue: string): Promise<void> {
    await this.#joining.get(queue)?.catch(() => {});
  }

  async configure(queue: string, options: DeclaredOptions | null): Promise<void> {
    await this.#settled(queue);
    this.#turn((engine) => {
      if (engine.queues.has(queue)) engine.configure(queue, options);
    });
  }

  async addGroups(queue: string, groups: readonly string[]): Promise<void> {
    await this.#settled(queue);
    this.#turn((engine) => {
      for (const group of groups) engine.queues.get(queue)?.addGroup(group);
    });
  }

  /** `goesOn` = pops that were parked here have started the group anew. */
  async dropGroup(queue: string, group: string): Promise<{ dropped: boolean; goesOn: boolean }> {
    await this.#settled(queue);
    return this.#turn((engine) => {
      const dropped = engine.dropGroup(queue, group);
      return { dropped, goesOn: engine.queues.get(queue)?.groups.has(group) ?? false };
    });
  }

  async reset(queue: string): Promise<number> {
    await this.#settled(queue);
    return this.#turn((engine) => engine.reset(queue));
  }

  /** `groups` is null when nothing is left here; pops that were parked keep a new queue of that name alive. */
  async remove(queue: string): Promise<{ existed: boolean; groups: string[] | null }> {
    await this.#settled(queue);
    return this.#turn((engine) => {
      const existed = engine.remove(queue);
      const left = engine.queues.get(queue);
      return { existed, groups: left === undefined ? null : [...left.groups.keys()] };
    });
  }

  groups(queue: string): GroupDepth[] {
    return this.#turn((engine) => {
      const held = engine.queues.get(queue);
      return held === undefined ? [] : groupDepths(held);
    });
  }

  partitions(queue: string, group: string | null): PartitionDepth[] {
    return this.#turn((engine) => {
      const held = engine.queues.get(queue);
      return held === undefined ? [] : partitionDepths(held, group);
    });
  }

  /** Hands over messages for a pop that waits at home, or leaves the home's interest: decided in one turn. */
  async claim(claim: Claim): Promise<ClaimAnswer> {
    // The home may know of this part before its word of that is here.
    const joining = this.#joining.get(claim.queue);
    if (joining !== undefined) await joining.catch(() => {});
    return this.#turn((engine) => {
      const { batch, left } = engine.claim(claim);
      return { items: batch.items.map(pack), handed: batch.handed, bytes: batch.bytes, left };
    });
  }

  /** Tells the home of a queue that a group has messages here, until it does not want to hear more. */
  async announce(queue: string, name: string): Promise<void> {
    const group = () => this.#engine.queues.get(queue)?.groups.get(name);
    let told = group()?.availableUpTo(MAX_ITEMS) ?? 0;
    let wanted = true;
    try {
      wanted = await this.#peers.home(queue).available(queue, name, this.#peers.self, told);
    } catch {
      // The home is on its way back and may not have heard.
      told = 0;
      await scheduler.wait(1000);
    }
    const later = group();
    if (!wanted || later === undefined || later.interest) return;
    if (later.availableUpTo(MAX_ITEMS) > told) await this.announce(queue, name);
    else later.listenFor();
  }

  async askIdle(queue: string, group: string): Promise<void> {
    try {
      const idleMs = await this.#peers.home(queue).groupIdleMs(queue, group);
      this.#turn((engine) => engine.queues.get(queue)?.hearIdle(group, idleMs));
    } catch {
      // Asked again at the next look.
    }
  }

  /** The last trace of a group has left this owner. */
  groupForgotten(queue: string, group: string): void {
    if (this.#peers.isHome(queue) || isInTransit(queue)) return;
    this.#peers
      .home(queue)
      .groupForgotten(queue, group, this.#peers.self)
      .catch(() => {});
  }
}
