import { DurableObject } from "cloudflare:workers";
import type { Env } from "../config.ts";
import { isRefusal, STATUS, WaggleError, type Refusal } from "../contract/errors.ts";
import type { DeclaredOptions } from "../contract/options.ts";
import type { Handed } from "../engine/batch.ts";
import {
  noResponders,
  type Claim,
  type Imported,
  type Outcome,
  type PopRequest,
  type PushOptions,
} from "../engine/engine.ts";
import { parseMessageId, partitionsIn } from "../engine/ids.ts";
import type { EjectPlace } from "../engine/moments.ts";
import {
  shareOf,
  watchedShareOf,
  type GroupDepth,
  type PartitionDepth,
  type Peeked,
  type QueueShare,
  type WatchedShare,
} from "../engine/views.ts";
import { ownerName } from "../placement.ts";
import { moved } from "./admission.ts";
import type { Depth } from "./home.ts";
import { OwnerParts } from "./owner-parts.ts";
import { viewOf, countersOf } from "./owner-view.ts";
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
import type { BegunEject, BegunPartition, PageAnswer, PeekAnswer } from "./transfer.ts";

/**
 * Holds many rings in memory. This class is what others may ask of one: its parts, which {@link OwnerParts} joins, do what is
 * asked.
 */
export class Owner extends DurableObject<Env> {
  readonly #parts: OwnerParts;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#parts = new OwnerParts(ctx, env, (...args) => this.push(...args));
  }

  override async alarm(): Promise<void> {
    await this.#parts.life.alarm(() => this.#parts.admission.load());
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
    const owner = this.#parts.peers.placement.owner(queue, partition);
    if (owner !== this.#parts.peers.self) {
      if (hops > 0) return moved(queue);
      return this.#parts.peers.owner(owner).push(queue, partition, payloads, isAscii, options, hops + 1);
    }
    const { key, requireResponders = false } = options;
    if (requireResponders && !(await this.#mayPush(queue, partition, key))) return noResponders(queue);
    if (payloads.length === 0) return 0;
    const refusal = await this.#parts.admission.enterPush(queue, partition);
    if (refusal !== null) return refusal;
    const texts = payloads.map(textOf);
    return this.#parts.turn((engine) => engine.push(queue, partition, texts, isAscii, { key }));
  }

  /** Whether a push that asks for responders has some, or is a repeat of one that had. */
  async #mayPush(queue: string, partition: string, key: string | undefined): Promise<boolean> {
    await this.#parts.admission.load();
    const isRepeat =
      key !== undefined && this.#parts.turn((engine) => engine.pushedWith(queue, partition, key)) !== null;
    if (isRepeat || this.#parts.turn((engine) => engine.isListening(queue, partition))) return true;
    // Pops of all partitions are parked there.
    return !this.#parts.peers.isHome(queue) && this.#parts.peers.home(queue).isListening(queue);
  }

  async pop(request: PopRequest, hops = 0): Promise<PopAnswer | Refusal> {
    const { queue, partition, waitMs } = request;
    const owner = this.#ownerOf(request);
    if (owner !== this.#parts.peers.self)
      return hops > 0 ? moved(queue) : this.#parts.peers.owner(owner).pop(request, hops + 1);
    const refusal = await this.#parts.admission.enter(request);
    if (refusal !== null) return refusal;
    const reachesOthers = partition === null && this.#parts.home.others(queue).length > 0;
    const answer =
      reachesOthers && waitMs === 0
        ? await this.#parts.gather.pop(request)
        : await this.#parts.parked.pop(request, () => reachesOthers && this.#parts.attendNow(queue, request.group));
    if (isRefusal(answer)) return answer;
    return { json: pack(answer.items.join(",")), count: answer.count, handed: answer.handed };
  }

  #ownerOf({ queue, partition }: Pick<PopRequest, "queue" | "partition">): number {
    const { placement } = this.#parts.peers;
    return partition === null ? placement.home(queue) : placement.owner(queue, partition);
  }

  /** Takes a subscriber's WebSocket, which only a `fetch` can bring. */
  override async fetch(request: Request): Promise<Response> {
    const subscribe = JSON.parse(new URL(request.url).searchParams.get("subscribe") ?? "") as Subscribe;
    const isHere = this.#ownerOf(subscribe) === this.#parts.peers.self;
    const refusal = isHere ? await this.#parts.admission.enter(subscribe) : moved(subscribe.queue);
    const answer = refusal ?? this.#parts.sockets.accept(subscribe);
    return isRefusal(answer) ? Response.json(answer, { status: STATUS[answer.code] }) : answer;
  }

  override async webSocketMessage(socket: WebSocket, data: string | ArrayBuffer): Promise<void> {
    if (!this.#parts.home.isLoaded) await this.#parts.admission.load();
    await this.#parts.sockets.received(socket, data);
  }

  override async webSocketClose(socket: WebSocket, code: number): Promise<void> {
    await this.#parts.sockets.closed(socket, code);
  }

  override async webSocketError(socket: WebSocket): Promise<void> {
    await this.#parts.sockets.closed(socket);
  }

  /** The caller of a parked pop has gone. */
  cancel(waiterId: string): void {
    this.#parts.parked.cancel(waiterId);
  }

  /** `reached` = the deliveries may have come to somebody, and count. */
  release(queue: string, group: string, handed: Handed[], reached = false): void {
    this.#parts.turn((engine) => engine.release(queue, group, handed, reached));
  }

  /** Settles deliveries as completed. Answers how many there still were. */
  complete(queue: string, group: string, handed: Handed[]): number {
    return this.#parts.turn((engine) => engine.complete(queue, group, handed));
  }

  ack(queue: string, group: string, acks: AckColumns): Outcome[] {
    return this.#parts.turn((engine) => engine.ack(queue, group, acksOf(acks)));
  }

  async configure(queue: string, options: DeclaredOptions, hops = 0): Promise<void> {
    const home = this.#otherHome(queue, hops);
    if (home !== null) return home.configure(queue, options, hops + 1);
    await this.#parts.admission.load();
    await this.#flushed(this.#parts.home.configure(queue, options));
  }

  async reset(queue: string, hops = 0): Promise<number> {
    const home = this.#otherHome(queue, hops);
    if (home !== null) return home.reset(queue, hops + 1);
    await this.#parts.admission.load();
    await this.#mustBeSettled(queue);
    return this.#flushed(this.#parts.home.reset(queue));
  }

  async remove(queue: string, hops = 0): Promise<{ deleted: boolean; declared: boolean }> {
    const home = this.#otherHome(queue, hops);
    if (home !== null) return home.remove(queue, hops + 1);
    await this.#parts.admission.load();
    await this.#mustBeSettled(queue);
    return this.#flushed(this.#parts.home.remove(queue));
  }

  async dropGroup(queue: string, group: string, hops = 0): Promise<boolean> {
    const home = this.#otherHome(queue, hops);
    if (home !== null) return home.dropGroup(queue, group, hops + 1);
    await this.#parts.admission.load();
    await this.#mustBeSettled(queue);
    return this.#flushed(this.#parts.home.dropGroup(queue, group));
  }

  async depth(queue: string, group: string | null, hops = 0): Promise<Depth | Refusal> {
    const home = this.#otherHome(queue, hops);
    if (home !== null) return home.depth(queue, group, hops + 1);
    await this.#parts.admission.load();
    return this.#parts.home.depth(queue, group);
  }

  async shares(): Promise<QueueShare[]> {
    await this.#parts.admission.load();
    return this.#parts.turn((engine) => Array.from(engine.queues.values(), shareOf));
  }

  async watchedShares(): Promise<WatchedShare[]> {
    await this.#parts.admission.load();
    return this.#parts.turn((engine) => Array.from(engine.queues.values(), watchedShareOf));
  }

  async view(queue: string | null): Promise<OwnerView> {
    await this.#parts.admission.load();
    const owner = { owner: ownerName(this.#parts.peers.self), incarnation: this.#parts.incarnation };
    return this.#parts.turn((engine) => viewOf(engine, owner, queue));
  }

  async counters(): Promise<OwnerCounters> {
    await this.#parts.admission.load();
    const kept = {
      forwarded: this.#parts.peers.calls,
      wipes: this.#parts.journal.wipes,
      checkpointRows: this.#parts.journal.rowsWritten,
      alarmsSet: this.#parts.life.alarmsSet,
    };
    return this.#parts.turn((engine) => countersOf(engine, kept));
  }

  /** The oldest messages of a partition, or of the whole queue, which its home knows. */
  async peek(queue: string, partition: string | null, limit: number, hops = 0): Promise<PeekAnswer | Refusal> {
    const owner = this.#ownerOf({ queue, partition });
    if (owner !== this.#parts.peers.self) {
      return hops > 0 ? moved(queue) : this.#parts.peers.owner(owner).peek(queue, partition, limit, hops + 1);
    }
    if (partition !== null) return this.#parts.transfer.peekPartition(queue, partition, limit);
    await this.#parts.admission.load();
    return this.#parts.transfer.peek(queue, limit);
  }

  async eject(queue: string, ejectId: string, hops = 0): Promise<BegunEject | Refusal> {
    const home = this.#otherHome(queue, hops);
    if (home !== null) return home.eject(queue, ejectId, hops + 1);
    await this.#parts.admission.load();
    await this.#mustBeSettled(queue);
    return this.#parts.transfer.eject(queue, ejectId);
  }

  async ejectPage(
    queue: string,
    partition: string,
    place: EjectPlace,
    maxBytes: number,
    hops = 0,
  ): Promise<PageAnswer | Refusal> {
    const owner = this.#ownerOf({ queue, partition });
    if (owner === this.#parts.peers.self) return this.#parts.transfer.ejectPage(queue, partition, place, maxBytes);
    return hops > 0
      ? moved(queue)
      : this.#parts.peers.owner(owner).ejectPage(queue, partition, place, maxBytes, hops + 1);
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
    if (owner === this.#parts.peers.self)
      return this.#parts.transfer.import(queue, partition, source, numbers, payloads);
    if (hops > 0) return moved(queue);
    return this.#parts.peers.owner(owner).import(queue, partition, source, numbers, payloads, hops + 1);
  }

  /** Removes messages of partitions that are here, whoever has them. */
  async discard(queue: string, ids: string[]): Promise<number | Refusal> {
    const partitions = partitionsIn(ids.map(parseMessageId));
    const isHere = (partition: string) => this.#ownerOf({ queue, partition }) === this.#parts.peers.self;
    return partitions.every(isHere)
      ? this.#flushed(this.#parts.transfer.discard(queue, partitions, ids))
      : moved(queue);
  }

  // What the owners of a queue ask of its home.

  async register(queue: string, owner: number, groups: string[]): Promise<Registration> {
    await this.#parts.admission.load();
    const registration = await this.#parts.home.register(queue, owner, groups);
    await this.#parts.life.opened();
    return registration;
  }

  unregister(queue: string, owner: number): void {
    this.#parts.home.unregister(queue, owner);
  }

  async admitGroup(queue: string, group: string, from: number): Promise<Refusal | null> {
    await this.#parts.admission.load();
    return this.#parts.home.admitGroup(queue, group, from);
  }

  available(queue: string, group: string, owner: number, count: number): boolean {
    return this.#parts.gather.available(queue, group, owner, count);
  }

  isListening(queue: string): boolean {
    return this.#parts.turn((engine) => engine.isListening(queue, null));
  }

  groupIdleMs(queue: string, group: string): number {
    return this.#parts.home.groupIdleMs(queue, group);
  }

  groupForgotten(queue: string, group: string, owner: number): void {
    this.#parts.home.groupForgotten(queue, group, owner);
  }

  // What a change of the membership asks of everybody.

  /** Hands over what belongs elsewhere among `owners`. Answers whether nothing is left. */
  async settle(epoch: number, owners: number): Promise<boolean> {
    if (this.#parts.peers.placement.owners !== owners) return false;
    await this.#parts.admission.load();
    // The number may have changed and changed back without a restart of this one.
    if (this.#parts.moves.epoch !== epoch) await this.#parts.moves.refresh();
    const isDone = await this.#parts.moves.settle();
    if (isDone && this.#parts.peers.self >= owners) await this.#retire();
    return isDone && this.#parts.moves.epoch === epoch;
  }

  /** Hands over one partition to its new owner. Answers false when this owner has not heard of the change yet. */
  async handOver(queue: string, partition: string, owners: number): Promise<boolean> {
    if (this.#parts.peers.placement.owners !== owners) return false;
    await this.#parts.admission.load();
    await this.#parts.moves.handOver(queue, partition);
    return true;
  }

  async adopt(parcels: Parcel[]): Promise<void> {
    await this.#parts.admission.load();
    await this.#parts.moves.adopt(parcels);
  }

  /** Whether a move has arrived here, asked by its sender after the membership has changed. If not, it never will. */
  async hasAdopted(move: string): Promise<boolean> {
    await this.#parts.admission.load();
    return this.#parts.moves.hasAdopted(move);
  }

  epochSettled(epoch: number): void {
    this.#parts.moves.settled(epoch);
  }

  // What a home asks of the other owners of its queues.

  holdings(home: number): Holding[] {
    return this.#parts.share.holdings(home);
  }

  claim(claim: Claim): Promise<ClaimAnswer> {
    return this.#parts.share.claim(claim);
  }

  shareConfigure(queue: string, options: DeclaredOptions | null): Promise<void> {
    return this.#flushed(this.#parts.share.configure(queue, options));
  }

  shareAddGroups(queue: string, groups: string[]): Promise<void> {
    return this.#parts.share.addGroups(queue, groups);
  }

  shareDropGroup(queue: string, group: string): Promise<{ dropped: boolean; goesOn: boolean }> {
    return this.#flushed(this.#parts.share.dropGroup(queue, group));
  }

  shareReset(queue: string): Promise<number> {
    return this.#flushed(this.#parts.share.reset(queue));
  }

  shareRemove(queue: string): Promise<{ existed: boolean; groups: string[] | null }> {
    return this.#flushed(this.#parts.share.remove(queue));
  }

  shareGroups(queue: string): GroupDepth[] {
    return this.#parts.share.groups(queue);
  }

  sharePeek(queue: string, limit: number): Peeked[] {
    return this.#parts.transfer.peekShare(queue, limit);
  }

  shareEject(queue: string, ejectId: string): BegunPartition[] | Refusal {
    return this.#parts.transfer.ejectShare(queue, ejectId);
  }

  sharePartitions(queue: string, group: string | null): PartitionDepth[] {
    return this.#parts.share.partitions(queue, group);
  }

  /** The home of a queue, when it is another owner; a request is forwarded once. */
  #otherHome(queue: string, hops: number): Remote<Owner> | null {
    if (this.#parts.peers.isHome(queue)) return null;
    if (hops > 0) throw new WaggleError("owner_moved", moved(queue).error);
    return this.#parts.peers.home(queue);
  }

  /** What is dropped while a part of it is between two owners would come back. */
  async #mustBeSettled(queue: string): Promise<void> {
    if (!this.#parts.moves.isSettled) await this.#parts.moves.refresh();
    if (!this.#parts.moves.isSettled) throw new WaggleError("owner_moved", moved(queue).error);
  }

  /** This owner is beyond the membership and has handed everything over: what is left are names, for the homes to keep. */
  async #retire(): Promise<void> {
    const names = [...this.#parts.engine.queues.keys()];
    const homes = new Set(names.map((queue) => this.#parts.peers.placement.home(queue)));
    for (const queue of names) await this.#parts.share.join(queue);
    // Taking nothing over is answered like everything else: once all that the home knows is on its disk.
    for (const home of homes) await this.#parts.peers.owner(home).adopt([]);
    for (const queue of names) await this.#parts.peers.home(queue).unregister(queue, this.#parts.peers.self);
    this.#parts.turn((engine) => {
      for (const queue of names) engine.remove(queue);
    });
    await this.#parts.life.flush();
  }

  /** Answers a verb that drops something once the disk knows of it. */
  async #flushed<T>(verb: Promise<T>): Promise<T> {
    const answer = await verb;
    await this.#parts.life.flush();
    return answer;
  }
}

/** Large payloads of other scripts come as bytes. */
function textOf(payload: string | Uint8Array): string {
  return typeof payload === "string" ? payload : new TextDecoder().decode(payload);
}
