import { DurableObject } from "cloudflare:workers";
import { readConfig, type Env } from "../config.ts";
import { isRefusal, STATUS, WaggleError, type Refusal } from "../contract/errors.ts";
import type { DeclaredOptions } from "../contract/options.ts";
import type { Handed } from "../engine/batch.ts";
import {
  Engine,
  noResponders,
  type Claim,
  type Imported,
  type Outcome,
  type PopRequest,
  type PushOptions,
} from "../engine/engine.ts";
import { newIncarnation, parseMessageId, partitionsIn } from "../engine/ids.ts";
import type { EjectPlace } from "../engine/moments.ts";
import { specimen } from "../engine/specimen.ts";
import { clientName, isInTransit } from "../engine/transit.ts";
import {
  shareOf,
  watchedShareOf,
  type GroupDepth,
  type PartitionDepth,
  type Peeked,
  type QueueShare,
  type WatchedShare,
} from "../engine/views.ts";
import { keep } from "../kept.ts";
import { ownerName, Placement } from "../placement.ts";
import { Admission, moved } from "./admission.ts";
import { Gather } from "./gather.ts";
import { Home, type Depth, type Turn } from "./home.ts";
import { Journal } from "./journal.ts";
import { Life } from "./life.ts";
import { heldByIsolate, setHeld } from "./memory.ts";
import { Moves } from "./moves.ts";
import { viewOf, countersOf } from "./owner-view.ts";
import { keyOf } from "./parcels.ts";
import { ParkedPops } from "./parked-pops.ts";
import { Peers } from "./peers.ts";
import {
  acksOf,
  pack,
  type AckColumns,
  type ClaimAnswer,
  type Holding,
  type OwnerCounters,
  type OwnerView,
  type Packed,
  type Parcel,
  type PopAnswer,
  type Registration,
  type Subscribe,
} from "./protocol.ts";
import type { Remote } from "./remote.ts";
import { Share } from "./share.ts";
import { Sockets } from "./sockets.ts";
import { Transfer, type BegunEject, type BegunPartition, type PageAnswer, type PeekAnswer } from "./transfer.ts";

keep(specimen());

/**
 * Holds many rings in memory. This class only joins the parts, and is what others may ask of them: `Admission` lets
 * requests in, the engine decides, `Home` and `Share` keep the owners of a queue in step, `Gather` serves pops that name no
 * partition, `Sockets` speaks to subscribers, `Life` keeps the object awake while it holds anything.
 */
export class Owner extends DurableObject<Env> {
  readonly #name: string;
  readonly #incarnation = newIncarnation();
  readonly #peers: Peers;
  readonly #engine: Engine;
  readonly #home: Home;
  readonly #share: Share;
  readonly #gather: Gather;
  readonly #moves: Moves;
  readonly #journal: Journal;
  readonly #life: Life;
  readonly #sockets: Sockets;
  readonly #admission: Admission;
  readonly #parked: ParkedPops;
  readonly #transfer: Transfer;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    const config = readConfig(env);
    const name = ctx.id.name ?? ctx.id.toString();
    this.#name = name;
    this.#peers = new Peers(env, new Placement(config.owners), Number(name.slice(ownerName(0).length - 1)));
    this.#engine = new Engine({
      incarnation: this.#incarnation,
      settings: config.engine,
      isHome: (queue) => this.#peers.isHome(queue),
      isHere: (queue, partition) => {
        const place = { queue: clientName(queue), partition };
        if (isInTransit(queue) && this.#journal.offered.has(keyOf(place))) return false;
        return this.#peers.placement.owner(place.queue, partition) === this.#peers.self;
      },
      hasRoom: (bytes) => {
        setHeld(name, this.#engine.memoryBytes);
        return heldByIsolate() + bytes <= config.maxBytes;
      },
      effects: {
        answer: (waiter, batch) => this.#parked.answer(waiter.id, batch),
        deliver: (id, number, batch) => this.#sockets.deliver(id, number, batch),
        ended: (id, why, out) => this.#sockets.ended(id, why, out),
        attend: (queue, group) => void this.#attend(queue, group),
        available: (queue, group) => void this.#share.announce(queue, group),
        gather: (queue, group) => {
          const parked = this.#engine.queues.get(queue)?.groups.get(group);
          if (parked !== undefined) void this.#gather.serve(parked);
        },
        askIdle: (queue, group) => void this.#share.askIdle(queue, group),
        groupForgotten: (queue, group) => this.#share.groupForgotten(queue, group),
        queueCollected: (queue) => {
          if (!this.#peers.isHome(queue) && !isInTransit(queue)) this.#share.left(queue);
        },
        log: (event, details) => console.log({ event, owner: name, ...details }),
      },
    });
    this.#journal = new Journal(ctx.storage, this.#engine);
    this.#life = new Life(ctx.storage, this.#engine, this.#journal, {
      name,
      checkpointMs: config.checkpointMs,
      wake: () => {
        this.#engine.advance(Date.now());
        setHeld(name, this.#engine.memoryBytes);
        this.#life.tick();
      },
    });
    this.#parked = new ParkedPops(this.#turn);
    this.#engine.start(Date.now());
    // Before the queues of this owner are looked at: theirs must not be taken for idle, nor for known to their homes.
    this.#sockets = new Sockets(ctx, this.#engine, this.#turn, this.#peers, {
      push: (...args) => this.push(...args),
    });
    this.#share = new Share(this.#turn, this.#peers, this.#engine);
    this.#gather = new Gather(this.#turn, this.#peers, (queue) => this.#home.others(queue));
    this.#moves = new Moves(this.#engine, this.#turn, this.#peers, this.#journal, {
      open: (queue, groups) => this.#admission.openFor(queue, groups),
      flush: () => this.#life.flush(),
    });
    // What is kept in memory alone ends without a mark.
    if (config.checkpointMs === 0) this.#journal.holdersKnown = false;
    this.#home = new Home(this.#engine, this.#turn, this.#peers, this.#gather, this.#journal, (membership) =>
      this.#moves.begin(membership),
    );
    this.#admission = new Admission({
      engine: this.#engine,
      peers: this.#peers,
      home: this.#home,
      share: this.#share,
      moves: this.#moves,
    });
    this.#transfer = new Transfer({
      turn: this.#turn,
      peers: this.#peers,
      home: this.#home,
      admission: this.#admission,
    });
    setHeld(name, this.#engine.memoryBytes);
  }

  readonly #turn: Turn = (act) => {
    this.#engine.advance(Date.now());
    const result = act(this.#engine);
    setHeld(this.#name, this.#engine.memoryBytes);
    this.#life.settle();
    return result;
  };

  override async alarm(): Promise<void> {
    await this.#life.alarm(() => this.#admission.load());
  }

  // What the router asks for.

  /** `hops` = how often other owners have passed this on: a request is forwarded once. */
  async push(
    queue: string,
    partition: string,
    payloads: string[] | Uint8Array[],
    isAscii: boolean,
    options: PushOptions = {},
    hops = 0,
  ): Promise<Refusal | number> {
    const owner = this.#peers.placement.owner(queue, partition);
    if (owner !== this.#peers.self) {
      if (hops > 0) return moved(queue);
      return this.#peers.owner(owner).push(queue, partition, payloads, isAscii, options, hops + 1);
    }
    const { key, requireResponders = false } = options;
    if (requireResponders && !(await this.#mayPush(queue, partition, key))) return noResponders(queue);
    if (payloads.length === 0) return 0;
    const refusal = await this.#admission.enterPush(queue, partition);
    if (refusal !== null) return refusal;
    const texts = payloads.map(textOf);
    return this.#turn((engine) => engine.push(queue, partition, texts, isAscii, { key }));
  }

  /** Whether a push that asks for responders has some, or is a repeat of one that had. */
  async #mayPush(queue: string, partition: string, key: string | undefined): Promise<boolean> {
    await this.#admission.load();
    const isRepeat = key !== undefined && this.#turn((engine) => engine.pushedWith(queue, partition, key)) !== null;
    if (isRepeat || this.#turn((engine) => engine.isListening(queue, partition))) return true;
    // Pops of all partitions are parked there.
    return !this.#peers.isHome(queue) && this.#peers.home(queue).isListening(queue);
  }

  async pop(request: PopRequest, hops = 0): Promise<PopAnswer | Refusal> {
    const { queue, partition, waitMs } = request;
    const owner = this.#ownerOf(request);
    if (owner !== this.#peers.self) return hops > 0 ? moved(queue) : this.#peers.owner(owner).pop(request, hops + 1);
    const refusal = await this.#admission.enter(request);
    if (refusal !== null) return refusal;
    const reachesOthers = partition === null && this.#home.others(queue).length > 0;
    const answer =
      reachesOthers && waitMs === 0
        ? await this.#gather.pop(request)
        : await this.#parked.pop(request, () => reachesOthers && this.#attendNow(queue, request.group));
    if (isRefusal(answer)) return answer;
    return { json: pack(answer.items.join(",")), count: answer.count, handed: answer.handed };
  }

  #ownerOf({ queue, partition }: Pick<PopRequest, "queue" | "partition">): number {
    const { placement } = this.#peers;
    return partition === null ? placement.home(queue) : placement.owner(queue, partition);
  }

  /** Takes a subscriber's WebSocket, which only a `fetch` can bring. */
  override async fetch(request: Request): Promise<Response> {
    const subscribe = JSON.parse(new URL(request.url).searchParams.get("subscribe") ?? "") as Subscribe;
    const isHere = this.#ownerOf(subscribe) === this.#peers.self;
    const refusal = isHere ? await this.#admission.enter(subscribe) : moved(subscribe.queue);
    const answer = refusal ?? this.#sockets.accept(subscribe);
    return isRefusal(answer) ? Response.json(answer, { status: STATUS[answer.code] }) : answer;
  }

  override async webSocketMessage(socket: WebSocket, data: string | ArrayBuffer): Promise<void> {
    if (!this.#home.isLoaded) await this.#admission.load();
    await this.#sockets.received(socket, data);
  }

  override async webSocketClose(socket: WebSocket, code: number): Promise<void> {
    await this.#sockets.closed(socket, code);
  }

  override async webSocketError(socket: WebSocket): Promise<void> {
    await this.#sockets.closed(socket);
  }

  /** A subscriber of any partition waits: whoever else has messages for it is to say so. */
  async #attend(queue: string, name: string): Promise<void> {
    // The engine may be in the middle of a step.
    await Promise.resolve();
    if (this.#home.others(queue).length > 0) this.#attendNow(queue, name);
  }

  #attendNow(queue: string, name: string): void {
    const group = this.#engine.queues.get(queue)?.groups.get(name);
    if (group?.parking.isOccupied) this.#gather.attend(group);
  }

  /** The caller of a parked pop has gone. */
  cancel(waiterId: string): void {
    this.#parked.cancel(waiterId);
  }

  /** `reached` = the deliveries may have come to somebody, and count. */
  release(queue: string, group: string, handed: Handed[], reached = false): void {
    this.#turn((engine) => engine.release(queue, group, handed, reached));
  }

  /** Settles deliveries as completed. Answers how many there still were. */
  complete(queue: string, group: string, handed: Handed[]): number {
    return this.#turn((engine) => engine.complete(queue, group, handed));
  }

  ack(queue: string, group: string, acks: AckColumns): Outcome[] {
    return this.#turn((engine) => engine.ack(queue, group, acksOf(acks)));
  }

  async configure(queue: string, options: DeclaredOptions, hops = 0): Promise<void> {
    const home = this.#otherHome(queue, hops);
    if (home !== null) return home.configure(queue, options, hops + 1);
    await this.#admission.load();
    await this.#flushed(this.#home.configure(queue, options));
  }

  async reset(queue: string, hops = 0): Promise<number> {
    const home = this.#otherHome(queue, hops);
    if (home !== null) return home.reset(queue, hops + 1);
    await this.#admission.load();
    await this.#mustBeSettled(queue);
    return this.#flushed(this.#home.reset(queue));
  }

  async remove(queue: string, hops = 0): Promise<{ deleted: boolean; declared: boolean }> {
    const home = this.#otherHome(queue, hops);
    if (home !== null) return home.remove(queue, hops + 1);
    await this.#admission.load();
    await this.#mustBeSettled(queue);
    return this.#flushed(this.#home.remove(queue));
  }

  async dropGroup(queue: string, group: string, hops = 0): Promise<boolean> {
    const home = this.#otherHome(queue, hops);
    if (home !== null) return home.dropGroup(queue, group, hops + 1);
    await this.#admission.load();
    await this.#mustBeSettled(queue);
    return this.#flushed(this.#home.dropGroup(queue, group));
  }

  async depth(queue: string, group: string | null, hops = 0): Promise<Depth | Refusal> {
    const home = this.#otherHome(queue, hops);
    if (home !== null) return home.depth(queue, group, hops + 1);
    await this.#admission.load();
    return this.#home.depth(queue, group);
  }

  async shares(): Promise<QueueShare[]> {
    await this.#admission.load();
    return this.#turn((engine) => Array.from(engine.queues.values(), shareOf));
  }

  async watchedShares(): Promise<WatchedShare[]> {
    await this.#admission.load();
    return this.#turn((engine) => Array.from(engine.queues.values(), watchedShareOf));
  }

  async view(queue: string | null): Promise<OwnerView> {
    await this.#admission.load();
    const owner = { owner: ownerName(this.#peers.self), incarnation: this.#incarnation };
    return this.#turn((engine) => viewOf(engine, owner, queue));
  }

  async counters(): Promise<OwnerCounters> {
    await this.#admission.load();
    const kept = {
      forwarded: this.#peers.calls,
      wipes: this.#journal.wipes,
      checkpointRows: this.#journal.rowsWritten,
      alarmsSet: this.#life.alarmsSet,
    };
    return this.#turn((engine) => countersOf(engine, kept));
  }

  /** The oldest messages of a partition, or of the whole queue, which its home knows. */
  async peek(queue: string, partition: string | null, limit: number, hops = 0): Promise<PeekAnswer | Refusal> {
    const owner = this.#ownerOf({ queue, partition });
    if (owner !== this.#peers.self) {
      return hops > 0 ? moved(queue) : this.#peers.owner(owner).peek(queue, partition, limit, hops + 1);
    }
    if (partition !== null) return this.#transfer.peekPartition(queue, partition, limit);
    await this.#admission.load();
    return this.#transfer.peek(queue, limit);
  }

  async eject(queue: string, ejectId: string, hops = 0): Promise<BegunEject | Refusal> {
    const home = this.#otherHome(queue, hops);
    if (home !== null) return home.eject(queue, ejectId, hops + 1);
    await this.#admission.load();
    await this.#mustBeSettled(queue);
    return this.#transfer.eject(queue, ejectId);
  }

  async ejectPage(
    queue: string,
    partition: string,
    place: EjectPlace,
    maxBytes: number,
    hops = 0,
  ): Promise<PageAnswer | Refusal> {
    const owner = this.#ownerOf({ queue, partition });
    if (owner === this.#peers.self) return this.#transfer.ejectPage(queue, partition, place, maxBytes);
    return hops > 0 ? moved(queue) : this.#peers.owner(owner).ejectPage(queue, partition, place, maxBytes, hops + 1);
  }

  async import(
    queue: string,
    partition: string,
    source: string,
    numbers: number[],
    payloads: Packed[],
    hops = 0,
  ): Promise<Imported | Refusal> {
    const owner = this.#ownerOf({ queue, partition });
    if (owner === this.#peers.self) return this.#transfer.import(queue, partition, source, numbers, payloads);
    if (hops > 0) return moved(queue);
    return this.#peers.owner(owner).import(queue, partition, source, numbers, payloads, hops + 1);
  }

  /** Removes messages of partitions that are here, whoever has them. */
  async discard(queue: string, ids: string[]): Promise<number | Refusal> {
    const partitions = partitionsIn(ids.map(parseMessageId));
    const isHere = (partition: string) => this.#ownerOf({ queue, partition }) === this.#peers.self;
    return partitions.every(isHere) ? this.#flushed(this.#transfer.discard(queue, partitions, ids)) : moved(queue);
  }

  // What the owners of a queue ask of its home.

  async register(queue: string, owner: number, groups: string[]): Promise<Registration> {
    await this.#admission.load();
    const registration = await this.#home.register(queue, owner, groups);
    await this.#life.opened();
    return registration;
  }

  unregister(queue: string, owner: number): void {
    this.#home.unregister(queue, owner);
  }

  async admitGroup(queue: string, group: string, from: number): Promise<Refusal | null> {
    await this.#admission.load();
    return this.#home.admitGroup(queue, group, from);
  }

  available(queue: string, group: string, owner: number, count: number): boolean {
    return this.#gather.available(queue, group, owner, count);
  }

  isListening(queue: string): boolean {
    return this.#turn((engine) => engine.isListening(queue, null));
  }

  groupIdleMs(queue: string, group: string): number {
    return this.#home.groupIdleMs(queue, group);
  }

  groupForgotten(queue: string, group: string, owner: number): void {
    this.#home.groupForgotten(queue, group, owner);
  }

  // What a change of the membership asks of everybody.

  /** Hands over what belongs elsewhere among `owners`. Answers whether nothing is left. */
  async settle(epoch: number, owners: number): Promise<boolean> {
    if (this.#peers.placement.owners !== owners) return false;
    await this.#admission.load();
    // The number may have changed and changed back without a restart of this one.
    if (this.#moves.epoch !== epoch) await this.#moves.refresh();
    const isDone = await this.#moves.settle();
    if (isDone && this.#peers.self >= owners) await this.#retire();
    return isDone && this.#moves.epoch === epoch;
  }

  /** Hands over one partition to its new owner. Answers false when this owner has not heard of the change yet. */
  async handOver(queue: string, partition: string, owners: number): Promise<boolean> {
    if (this.#peers.placement.owners !== owners) return false;
    await this.#admission.load();
    await this.#moves.handOver(queue, partition);
    return true;
  }

  async adopt(parcels: Parcel[]): Promise<void> {
    await this.#admission.load();
    await this.#moves.adopt(parcels);
  }

  /** Whether a move has arrived here, asked by its sender after the membership has changed. If not, it never will. */
  async hasAdopted(move: string): Promise<boolean> {
    await this.#admission.load();
    return this.#moves.hasAdopted(move);
  }

  epochSettled(epoch: number): void {
    this.#moves.settled(epoch);
  }

  // What a home asks of the other owners of its queues.

  holdings(home: number): Holding[] {
    return this.#share.holdings(home);
  }

  claim(claim: Claim): Promise<ClaimAnswer> {
    return this.#share.claim(claim);
  }

  shareConfigure(queue: string, options: DeclaredOptions | null): Promise<void> {
    return this.#flushed(this.#share.configure(queue, options));
  }

  shareAddGroups(queue: string, groups: string[]): Promise<void> {
    return this.#share.addGroups(queue, groups);
  }

  shareDropGroup(queue: string, group: string): Promise<{ dropped: boolean; goesOn: boolean }> {
    return this.#flushed(this.#share.dropGroup(queue, group));
  }

  shareReset(queue: string): Promise<number> {
    return this.#flushed(this.#share.reset(queue));
  }

  shareRemove(queue: string): Promise<{ existed: boolean; groups: string[] | null }> {
    return this.#flushed(this.#share.remove(queue));
  }

  shareGroups(queue: string): GroupDepth[] {
    return this.#share.groups(queue);
  }

  sharePeek(queue: string, limit: number): Peeked[] {
    return this.#transfer.peekShare(queue, limit);
  }

  shareEject(queue: string, ejectId: string): BegunPartition[] | Refusal {
    return this.#transfer.ejectShare(queue, ejectId);
  }

  sharePartitions(queue: string, group: string | null): PartitionDepth[] {
    return this.#share.partitions(queue, group);
  }

  /** The home of a queue, when it is another owner; a request is forwarded once. */
  #otherHome(queue: string, hops: number): Remote<Owner> | null {
    if (this.#peers.isHome(queue)) return null;
    if (hops > 0) throw new WaggleError("owner_moved", moved(queue).error);
    return this.#peers.home(queue);
  }

  /** What is dropped while a part of it is between two owners would come back. */
  async #mustBeSettled(queue: string): Promise<void> {
    if (!this.#moves.isSettled) await this.#moves.refresh();
    if (!this.#moves.isSettled) throw new WaggleError("owner_moved", moved(queue).error);
  }

  /** This owner is beyond the membership and has handed everything over: what is left are names, for the homes to keep. */
  async #retire(): Promise<void> {
    const names = [...this.#engine.queues.keys()];
    const homes = new Set(names.map((queue) => this.#peers.placement.home(queue)));
    for (const queue of names) await this.#share.join(queue);
    // Taking nothing over is answered like everything else: once all that the home knows is on its disk.
    for (const home of homes) await this.#peers.owner(home).adopt([]);
    for (const queue of names) await this.#peers.home(queue).unregister(queue, this.#peers.self);
    this.#turn((engine) => {
      for (const queue of names) engine.remove(queue);
    });
    await this.#life.flush();
  }

  /** Answers a verb that drops something once the disk knows of it. */
  async #flushed<T>(verb: Promise<T>): Promise<T> {
    const answer = await verb;
    await this.#life.flush();
    return answer;
  }
}

/** Large payloads of other scripts come as bytes. */
function textOf(payload: string | Uint8Array): string {
  return typeof payload === "string" ? payload : new TextDecoder().decode(payload);
}
