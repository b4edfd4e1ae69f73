import { refuse, type Refusal } from "../contract/errors.ts";
import type { DeclaredOptions } from "../contract/options.ts";
import type { Engine } from "../engine/engine.ts";
import type { Group } from "../engine/group.ts";
import type { Queue } from "../engine/queue.ts";
import { isInTransit } from "../engine/transit.ts";
import { groupDepths, partitionDepths, type GroupDepth, type PartitionDepth } from "../engine/views.ts";
import { KeyedMutex } from "./mutex.ts";
import type { Owner } from "./owner.ts";
import type { Peers } from "./peers.ts";
import type { Membership, Registration } from "./protocol.ts";
import type { Remote } from "./remote.ts";
import { deepestGroup, mergeGroups } from "./depth.ts";

/** One synchronous step of the engine: the clock is moved before it, timers and memory are settled after it. */
export type Turn = <T>(act: (engine: Engine) => T) => T;

export interface Depth {
  queue: string;
  group: string | null;
  tier: "declared" | "implicit";
  pending: number;
  partitionsPending: number;
  bytes: number;
  partitions: PartitionDepth[];
  groups: GroupDepth[];
}

/** What an owner must hear of when the other owners of a queue have changed under parked pops. */
export interface ParkedElsewhere {
  /** An owner starts from nothing: what was known of its messages is void. */
  forget(group: Group, owner: number): void;
  /** Parked pops are to be served from the queue's other owners too. */
  attend(group: Group): void;
}

/**
 * The queues that an owner is home of: who else holds a part of them, and the verbs that concern them whole. Every
 * owner that holds a part has registered here first, so that options, groups and deletions reach all of a queue.
 */
export class Home {
  readonly #engine: Engine;
  readonly #turn: Turn;
  readonly #peers: Peers;
  readonly #parked: ParkedElsewhere;
  readonly #began: (membership: Membership) => void;
  readonly #declared = new Map<string, DeclaredOptions>();
  readonly #verbs = new KeyedMutex();
  #loading: Promise<void> | null = null;
  #surveying: Promise<void> | null = null;
  #loaded = false;
  readonly #doubt: { holdersKnown: boolean };
  /** How many owners a survey asks: all that there are or were. */
  #members: number;

  /** `doubt` outlives this life: whether another owner can hold a part of a queue unknown to this one. */
  constructor(
    engine: Engine,
    turn: Turn,
    peers: Peers,
    parked: ParkedElsewhere,
    doubt: { holdersKnown: boolean },
    began: (membership: Membership) => void,
  ) {
    this.#engine = engine;
    this.#turn = turn;
    this.#peers = peers;
    this.#parked = parked;
    this.#doubt = doubt;
    this.#members = peers.placement.owners;
    this.#began = began;
  }

  get isLoaded(): boolean {
    return this.#loaded;
  }

  /** Loads the declarations of this home, once; a failure is tried again by the next request. */
  async load(): Promise<void> {
    this.#loading ??= this.#load().finally(() => {
      this.#loading = null;
    });
    await this.#loading;
  }

  async #load(): Promise<void> {
    if (this.#loaded) return;
    const { self, placement } = this.#peers;
    const { declarations, membership } = await this.#peers.declarations().join(self, placement.owners);
    this.#turn((engine) => {
      for (const { queue, options } of declarations) {
        this.#declared.set(queue, options);
        engine.configure(queue, options);
      }
      // A checkpoint may be older than the end of a declaration.
      for (const { name, declared } of engine.queues.values()) {
        if (!isInTransit(name) && this.#peers.isHome(name) && declared && !this.#declared.has(name))
          engine.configure(name, null);
      }
    });
    this.#began(membership);
    if (membership.earlier.length > 0) {
      // Owners that there were may know of groups and partitions that this one is home of only now.
      this.#members = Math.max(placement.owners, ...membership.earlier);
      this.#doubt.holdersKnown = false;
      await this.survey();
    }
    this.#loaded = true;
  }

  /** Whether all that hold a part of this home's queues are known: what concerns a queue whole waits for it. */
  get isSurveyed(): boolean {
    return this.#doubt.holdersKnown;
  }

  /** After an unclean end: asks every owner which parts of this home's queues it holds, once. */
  async survey(): Promise<void> {
    if (this.#doubt.holdersKnown) return;
    this.#surveying ??= this.#askHoldings().finally(() => {
      this.#surveying = null;
    });
    await this.#surveying;
  }

  async #askHoldings(): Promise<void> {
    const held = await Promise.all(
      this.#peers.othersOf(this.#members).map(async (owner) => {
        const holdings = await this.#peers.owner(owner).holdings(this.#peers.self);
        return holdings.map((holding) => ({ owner, ...holding }));
      }),
    );
    for (const { owner, queue, groups, serves } of held.flat()) {
      if (serves) this.#enroll(queue, owner, groups);
      else this.#learn(queue, groups);
    }
    this.#doubt.holdersKnown = true;
    // Not waited for: an owner may be about to register, which waits for this survey.
    for (const { owner, queue, serves } of held.flat()) if (serves) void this.#bringUpToDate(owner, queue);
  }

  /** The last life may have ended while it told the others of a change. */
  async #bringUpToDate(owner: number, queue: string): Promise<void> {
    try {
      await this.#peers.owner(owner).shareConfigure(queue, this.#declared.get(queue) ?? null);
    } catch (error) {
      console.warn({ event: "share_not_updated", queue, owner, error: String(error) });
    }
  }

  /** The other owners that hold a part of a queue. */
  others(queue: string): number[] {
    return [...(this.#engine.queues.get(queue)?.holders ?? [])];
  }

  /** Lets an owner hold a part of a queue. */
  async register(queue: string, owner: number, groups: readonly string[]): Promise<Registration> {
    await this.survey();
    const unknown = groups.filter((group) => !this.#knows(queue, group));
    const known = this.#enroll(queue, owner, groups);
    // Not waited for: they may be registering themselves, and waiting for this home.
    if (unknown.length > 0)
      void this.#tell(queue, (other) => other.shareAddGroups(queue, unknown), owner).catch(() => {});
    return {
      options: this.#declared.get(queue) ?? null,
      groups: [...known.groups.keys()],
      interest: [...known.groups.values()].filter((group) => group.parking.isOccupied).map((group) => group.name),
    };
  }

  /** Groups that only an owner on its way out knows. */
  #learn(queue: string, groups: readonly string[]): void {
    this.#turn((engine) => {
      if (!engine.queues.has(queue)) engine.configure(queue, this.#declared.get(queue) ?? null);
      for (const name of groups) engine.addGroup(queue, name);
    });
  }

  #knows(queue: string, group: string): boolean {
    return this.#engine.queues.get(queue)?.groups.has(group) ?? false;
  }

  #enroll(queue: string, owner: number, groups: readonly string[]): Queue {
    return this.#turn((engine) => {
      const held = engine.queues.get(queue) ?? engine.configure(queue, this.#declared.get(queue) ?? null);
      for (const name of groups) engine.addGroup(queue, name);
      held.addHolder(owner);
      for (const group of held.groups.values()) this.#parked.forget(group, owner);
      return held;
    });
  }

  /** An owner holds nothing of a queue any more. */
  unregister(queue: string, owner: number): void {
    this.#turn((engine) => {
      const held = engine.queues.get(queue);
      held?.removeHolder(owner);
      for (const group of held?.groups.values() ?? []) this.#parked.forget(group, owner);
    });
  }

  /** Tells the other owners of a queue. A failure fails the verb: a part that has not heard would go on by old rules. */
  async #tell<T>(queue: string, call: (owner: Remote<Owner>) => Promise<T>, except?: number): Promise<T[]> {
    const owners = this.others(queue).filter((owner) => owner !== except);
    return Promise.all(owners.map((owner) => call(this.#peers.owner(owner))));
  }

  /** Makes a group known to the whole queue, before its first pop is answered anywhere. */
  async admitGroup(queue: string, group: string, from?: number): Promise<Refusal | null> {
    await this.survey();
    if (from !== undefined) this.#enroll(queue, from, []);
    if (this.others(queue).length === 0) return null;
    return this.#verbs.run(queue, async () => {
      const refusal = this.#turn((engine) => {
        const refused = engine.addGroup(queue, group);
        const added = engine.queues.get(queue)?.groups.get(group);
        for (const owner of engine.queues.get(queue)?.holders ?? []) added?.pins.add(owner);
        return refused;
      });
      if (refusal === null) await this.#tell(queue, (owner) => owner.shareAddGroups(queue, [group]), from);
      return refusal;
    });
  }

  async configure(queue: string, options: DeclaredOptions): Promise<void> {
    await this.#verbs.run(queue, async () => {
      await this.survey();
      await this.#peers.declarations().declareEphemeral(queue, options);
      this.#declared.set(queue, options);
      this.#turn((engine) => engine.configure(queue, options));
      await this.#tell(queue, (owner) => owner.shareConfigure(queue, options));
    });
  }

  /** Answers how many messages went. */
  async reset(queue: string): Promise<number> {
    return this.#verbs.run(queue, async () => {
      await this.survey();
      const here = this.#turn((engine) => engine.reset(queue));
      const elsewhere = await this.#tell(queue, (owner) => owner.shareReset(queue));
      return elsewhere.reduce((sum, dropped) => sum + dropped, here);
    });
  }

  async remove(queue: string): Promise<{ deleted: boolean; declared: boolean }> {
    return this.#verbs.run(queue, async () => {
      await this.survey();
      const declared = await this.#peers.declarations().removeEphemeral(queue);
      this.#declared.delete(queue);
      const owners = this.others(queue);
      let existed = this.#turn((engine) => engine.remove(queue));
      for (const owner of owners) {
        const removed = await this.#peers.owner(owner).shareRemove(queue);
        existed ||= removed.existed;
        // Pops are parked there: that owner holds a part of the new queue of this name.
        if (removed.groups !== null) this.#enroll(queue, owner, removed.groups);
      }
      await this.#goOn(queue);
      return { deleted: existed || declared, declared };
    });
  }

  /** Pops that were parked on what has been dropped have started anew: their groups are made known, and they are served. */
  async #goOn(queue: string): Promise<void> {
    const groups = this.#turn((engine) => [...(engine.queues.get(queue)?.groups.values() ?? [])]);
    if (groups.length === 0) return;
    await this.#tell(queue, (owner) =>
      owner.shareAddGroups(
        queue,
        groups.map(({ name }) => name),
      ),
    );
    this.#turn(() => {
      for (const group of groups) if (group.parking.isOccupied) this.#parked.attend(group);
    });
  }

  async dropGroup(queue: string, group: string): Promise<boolean> {
    return this.#verbs.run(queue, async () => {
      await this.survey();
      const here = this.#turn((engine) => engine.dropGroup(queue, group));
      const elsewhere = await this.#tell(queue, (owner) => owner.shareDropGroup(queue, group));
      const goesOn = elsewhere.some(({ goesOn: parked }) => parked);
      this.#turn((engine) => {
        if (goesOn) engine.addGroup(queue, group);
        const anew = engine.queues.get(queue)?.groups.get(group);
        for (const owner of this.others(queue)) anew?.pins.add(owner);
      });
      await this.#goOn(queue);
      return here || elsewhere.some(({ dropped }) => dropped);
    });
  }

  async depth(name: string, group: string | null): Promise<Depth | Refusal> {
    await this.survey();
    const queue = this.#turn((engine) => engine.queues.get(name));
    if (queue === undefined) return refuse("ephemeral_queue_not_found", `there is no queue ${JSON.stringify(name)}`);
    const totals = await this.#tell(name, (owner) => owner.shareGroups(name));
    const groups = mergeGroups([groupDepths(queue), ...totals]);
    const seen = group ?? deepestGroup(groups);
    const parts = await this.#tell(name, (owner) => owner.sharePartitions(name, seen));
    const partitions = [...partitionDepths(queue, seen), ...parts.flat()].sort(byPartition);
    return {
      queue: name,
      group,
      tier: queue.declared ? "declared" : "implicit",
      pending: partitions.reduce((sum, { pending }) => sum + pending, 0),
      partitionsPending: partitions.filter(({ pending }) => pending > 0).length,
      bytes: partitions.reduce((sum, { bytes }) => sum + bytes, 0),
      partitions,
      groups,
    };
  }

  /** How long no pop with no partition has used a group, in ms. */
  groupIdleMs(queue: string, name: string): number {
    return this.#turn((engine) => {
      const group = engine.queues.get(queue)?.groups.get(name);
      if (group === undefined) return Infinity;
      return group.isAttended ? 0 : Date.now() - group.lastPopAt;
    });
  }

  /** An owner has forgotten a group; once all have, so may its home. */
  groupForgotten(queue: string, group: string, owner: number): void {
    this.#turn((engine) => engine.queues.get(queue)?.groups.get(group)?.unpin(owner));
  }
}

function byPartition(a: PartitionDepth, b: PartitionDepth): number {
  return a.partition < b.partition ? -1 : 1;
}
