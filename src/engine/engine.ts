import { isRefusal, refuse, type Refusal } from "../contract/errors.ts";
import { LISTENING_MS, MAX_GROUPS, MAX_ITEMS } from "../contract/limits.ts";
import { effectiveOptions, type DeclaredOptions, type EngineSettings } from "../contract/options.ts";
import type { RingExport } from "./adopt.ts";
import { Batch, type Handed } from "./batch.ts";
import { COST, EngineContext, type Effects } from "./context.ts";
import type { Cursor } from "./cursor.ts";
import type { Group } from "./group.ts";
import { Moments } from "./moments.ts";
import { planEviction } from "./eviction.ts";
import { HandOver } from "./handover.ts";
import { idsOf } from "./ids.ts";
import type { Ledger } from "./ledger.ts";
import type { Queue } from "./queue.ts";
import { Queues } from "./queues.ts";
import { costOfKey, type KeysState } from "./recent-keys.ts";
import type { Restored } from "./restore.ts";
import type { Ack, Claim, Imported, Outcome, PopRequest, PushOptions } from "./requests.ts";
import { Room } from "./room.ts";
import { ackOne, complete, discard, release } from "./settling.ts";
import type { SubscribeRequest } from "./subscription.ts";
import { Subscriptions } from "./subscriptions.ts";
import { takeSnapshot, type Snapshot } from "./snapshot.ts";
import type { StoredPart } from "./stored.ts";
import { weigh } from "./text.ts";
import { Waiter } from "./waiter.ts";

export type { Ack, AckStatus, Claim, Imported, Outcome, PopRequest, PushOptions } from "./requests.ts";

export interface EngineConfig {
  /** Named in the ids of everything that this engine hands over. */
  incarnation: string;
  settings: EngineSettings;
  effects: Effects;
  /** Whether this owner is the home of a queue. */
  isHome: (queue: string) => boolean;
  /** Whether what was stored of a partition is served here; in transit already, it may have left since. */
  isHere: (queue: string, partition: string) => boolean;
  /** Whether the isolate has room for that many more bytes. */
  hasRoom: (bytes: number) => boolean;
}

/**
 * The broker of one owner: every rule that a message lives by, over memory alone. It knows no runtime: the clock is
 * moved by {@link advance}, and what others must hear of goes through {@link Effects}.
 */
export class Engine {
  readonly queues: Queues;
  readonly #context: EngineContext;
  readonly #config: EngineConfig;
  readonly #room: Room;
  readonly #handOver: HandOver;
  readonly moments: Moments;
  readonly subscriptions: Subscriptions;

  constructor(config: EngineConfig) {
    this.#config = config;
    this.#context = new EngineContext(config.incarnation, config.settings, config.effects);
    this.queues = new Queues(this.#context, config.isHome);
    this.#room = new Room(this.#context, this.queues, config.hasRoom);
    this.moments = new Moments(this.#context);
    this.subscriptions = new Subscriptions(this.#context, this.queues);
    this.#handOver = new HandOver(this.#context, this.queues, config.isHere);
  }

  get counters() {
    return this.#context.counters;
  }

  get memoryBytes(): number {
    return this.#context.memoryBytes;
  }

  get parkedPops(): number {
    return this.#context.waiters.size - this.#context.parkedSubscriptions;
  }

  /** When {@link advance} has something to do next; `Infinity` = never. */
  get nextDueAt(): number {
    return this.#context.deadlines.next;
  }

  /** Sets the clock, and leaves what is due to the first operation. */
  start(now: number): void {
    this.#context.now = Math.max(now, this.#context.now);
  }

  /** Moves the clock and does what has become due. Called before every operation. */
  advance(now: number): void {
    this.#context.now = Math.max(now, this.#context.now);
    this.#context.keys.expire();
    this.moments.expire();
    this.#context.expiries.run(this.#context.now, () => {});
    this.#context.deadlines.run(this.#context.now, this.#context.wake);
  }

  /**
   * Appends payloads to a partition, all or none, and answers how many; with a key that is known already, how many they
   * were the first time. `isAscii` says that every payload is, which makes weighing free. Refused: `queue_full` by the
   * queue's bounds, `ephemeral_unavailable` by the memory cap, `no_responders` where some were asked for.
   */
  push(
    name: string,
    partition: string,
    payloads: readonly string[],
    isAscii: boolean,
    { key, requireResponders = false }: PushOptions = {},
  ): Refusal | number {
    const before = key === undefined ? null : this.pushedWith(name, partition, key);
    if (before !== null) return before;
    if (requireResponders && !this.isListening(name, partition)) return noResponders(name);
    if (payloads.length === 0) return 0;
    const sizes: number[] = [];
    const widths: number[] = [];
    let bytes = 0;
    let memory = payloads.length * COST.message + (key === undefined ? 0 : costOfKey(key));
    for (const payload of payloads) {
      const weight = weigh(payload, isAscii);
      sizes.push(weight.bytes);
      widths.push(weight.width);
      bytes += weight.bytes;
      memory += weight.width;
    }
    const known = this.queues.get(name);
    const options = known?.options ?? effectiveOptions(null, this.#config.settings);
    const evicted = planEviction(name, known, options, partition, payloads.length, bytes);
    if (isRefusal(evicted)) return evicted;
    const refusal = this.#room.reserve(name, partition, null, memory - evicted.memory);
    if (refusal !== null) return refusal;

    const queue = known ?? this.queues.create(name);
    const ring = queue.ring(partition);
    for (let i = 0; i < evicted.messages; i++) ring.dropOldest("bounds");
    if (evicted.messages > 0) queue.reviewWindows(ring);
    for (let i = 0; i < payloads.length; i++) {
      ring.append(payloads[i] as string, sizes[i] as number, widths[i] as number);
    }
    if (key !== undefined) this.#context.keys.remember(name, partition, key, payloads.length);
    this.#context.counters.pushed += payloads.length;
    queue.pushed += payloads.length;
    queue.touchedAt = this.#context.now;
    ring.touchedAt = this.#context.now;
    ring.announce();
    return payloads.length;
  }

  /** Appends the payloads of a file, but for those of this source that are here already. Numbers grow. Refused like a push. */
  import(
    name: string,
    partition: string,
    source: string,
    numbers: readonly number[],
    payloads: readonly string[],
  ): Refusal | Imported {
    const last = this.queues.get(name)?.rings.get(partition)?.sources.last(source) ?? 0;
    const fresh = payloads.filter((_, i) => (numbers[i] ?? 0) > last);
    const pushed = this.push(name, partition, fresh, false);
    if (isRefusal(pushed)) return pushed;
    const ring = this.queues.get(name)?.rings.get(partition);
    if (fresh.length > 0) ring?.sources.note(source, numbers.at(-1) ?? 0);
    return { imported: fresh.length, repeated: payloads.length - fresh.length };
  }

  /** Removes messages, whichever groups have them or still need them. Answers how many were here. */
  discard(name: string, ids: readonly string[]): number {
    return discard(this.#context, this.queues.get(name), ids);
  }

  /** How many messages an earlier push with this key stored; null = none is remembered. */
  pushedWith(name: string, partition: string, key: string): number | null {
    return this.#context.keys.pushedWith(name, partition, key);
  }

  /**
   * Whether anybody listens to a partition here, by its name or with all others; null = to all of the queue. Pops of all
   * partitions are seen by the queue's home alone.
   */
  isListening(name: string, partition: string | null): boolean {
    const { now, unsureUntil } = this.#context;
    return now < unsureUntil || (this.queues.get(name)?.isListenedTo(partition, now - LISTENING_MS) ?? false);
  }

  /**
   * Hands messages to a group. Answers the batch, or null when the pop has been parked: its answer then comes, perhaps
   * before this returns, through `effects.answer`. Refused: `too_many_groups`, and `ephemeral_unavailable` when memory
   * or places to wait have run out.
   */
  pop(request: PopRequest): Batch | Refusal | null {
    const found = this.#open(request.queue, request.partition, request.group);
    if (isRefusal(found)) return found;
    const { queue, group, cursor } = found;
    group.popped(cursor);
    const mayTake =
      request.waitMs === 0 || (!queue.hasWindow && group.parking.waiters.size + (cursor?.waiters?.size ?? 0) === 0);
    if (mayTake) {
      const batch = new Batch(request.batch);
      if (cursor === null) group.takeAny(batch, request.autoAck);
      else cursor.take(batch, request.autoAck);
      group.parking.windowsEmptied(batch);
      if (batch.count > 0 || request.waitMs === 0) return batch;
    }
    return this.#park(request, group, cursor);
  }

  /**
   * Hands messages of any partition to the home of the queue, for a pop that waits there. What is left is counted no
   * further than an answer can hold; null = nothing of the queue is held here. With `interest`, the next messages after
   * that are announced.
   */
  claim(claim: Claim): { batch: Batch; left: number | null } {
    const batch = new Batch(claim.limit, claim.maxBytes);
    const queue = this.queues.get(claim.queue);
    if (queue === undefined) return { batch, left: null };
    const { group } = queue.enter(null, claim.group);
    group.popped(null);
    group.takeAny(batch, claim.autoAck);
    group.parking.windowsEmptied(batch);
    if (claim.interest) group.listenFor();
    return { batch, left: group.availableUpTo(MAX_ITEMS) };
  }

  #park(request: PopRequest, group: Group, cursor: Cursor | null): Refusal | null {
    const context = this.#context;
    const refusal = this.#fullHouse();
    if (refusal !== null) return refusal;
    const { waiterId, batch, autoAck, waitMs } = request;
    const arrival = context.nextArrival++;
    group.parking.park(new Waiter(waiterId, group, cursor, batch, autoAck, context.now + waitMs, arrival));
    return null;
  }

  /** Whether one more may wait here. */
  #fullHouse(): Refusal | null {
    const waiting = this.parkedPops + this.subscriptions.size;
    const { maxWaiters } = this.#config.settings;
    if (waiting < maxWaiters && this.#config.hasRoom(COST.waiter)) return null;
    return refuse(
      "ephemeral_unavailable",
      `${waiting} pops are waiting here already (EPHEMERAL_MAX_WAITERS is ${maxWaiters}); try again later`,
    );
  }

  /**
   * Hands messages to a consumer that stays, through `effects.deliver`, as they come and as far as its credit goes.
   * Refused like a pop that parks.
   */
  subscribe(request: SubscribeRequest): Refusal | null {
    const { queue: name, partition, group } = request;
    const found = this.#open(name, partition, group);
    if (isRefusal(found)) return found;
    const refusal = this.#fullHouse();
    if (refusal !== null) return refusal;
    const subscription = this.subscriptions.begin(request);
    found.group.popped(found.cursor);
    found.queue.subscribed(group, partition);
    subscription.park();
    return null;
  }

  /** The queue, group and cursor that a pop names, created where they are missing. */
  #open(
    name: string,
    partition: string | null,
    groupName: string,
  ): { queue: Queue; group: Group; cursor: Cursor | null } | Refusal {
    const known = this.queues.get(name);
    if (known === undefined || known.costOf(partition, groupName) > 0) {
      const refusal = groupLimit(known, groupName) ?? this.#room.reserve(name, partition, groupName, 0);
      if (refusal !== null) return refusal;
    }
    const queue = known ?? this.queues.create(name);
    return { queue, ...queue.enter(partition, groupName) };
  }

  /** Settles what was handed over; one outcome per ack, in order. `ids` is what their ids say, for who has read them. */
  ack(name: string, groupName: string, acks: readonly Ack[], ids = idsOf(acks)): Outcome[] {
    const queue = this.queues.get(name);
    const outcomes: Outcome[] = [];
    for (let i = 0; i < acks.length; i++) {
      outcomes.push(ackOne(this.#context, queue, groupName, acks[i] as Ack, ids[i] ?? null));
    }
    this.#context.wake();
    return outcomes;
  }

  /** Settles deliveries as completed. Answers how many there still were. */
  complete(name: string, groupName: string, handed: readonly Handed[]): number {
    const completed = complete(this.queues.get(name), groupName, handed);
    this.#context.wake();
    return completed;
  }

  /**
   * Takes back deliveries whose holder has gone. `reached` = they may have come to somebody, and count; if not, it is as
   * if they had not been made.
   */
  release(name: string, groupName: string, handed: readonly Handed[], reached = false): void {
    release(this.queues.get(name), groupName, handed, reached);
    this.#context.wake();
  }

  /** Ends a parked pop whose caller has gone. */
  cancel(waiterId: string): void {
    const waiter = this.#context.waiters.get(waiterId);
    if (waiter !== undefined) waiter.group.parking.cancel(waiter);
  }

  /** Creates a queue, or changes the options of a live one; null = implicit. */
  configure(name: string, options: DeclaredOptions | null): Queue {
    const effective = effectiveOptions(options, this.#config.settings);
    const known = this.queues.get(name);
    if (known === undefined) return this.queues.create(name, options);
    known.touchedAt = this.#context.now;
    known.setOptions(effective, options !== null);
    return known;
  }

  /** Makes a group's name known to a queue that is held here. Refused: `too_many_groups`. */
  addGroup(name: string, groupName: string): Refusal | null {
    const queue = this.queues.get(name);
    if (queue === undefined || queue.groups.has(groupName)) return null;
    const refusal = groupLimit(queue, groupName) ?? this.#room.reserve(name, null, groupName, 0);
    if (refusal === null) queue.addGroup(groupName);
    return refusal;
  }

  /** Drops a group at once. Pops parked in it go on, as the first of a new group of that name. */
  dropGroup(name: string, groupName: string): boolean {
    const queue = this.queues.get(name);
    const group = queue?.groups.get(groupName);
    if (queue === undefined || group === undefined) return false;
    const parked = this.queues.unpark((waiter) => waiter.group === group);
    queue.dropGroup(group);
    this.queues.repark(parked);
    this.subscriptions.clear(name, groupName);
    return true;
  }

  /** Drops a queue's messages and leases. Answers how many messages went. */
  reset(name: string): number {
    const dropped = this.queues.get(name)?.clear() ?? 0;
    this.subscriptions.clear(name);
    return dropped;
  }

  /** Drops a queue with everything in it. Pops parked on it go on, on a new implicit queue; subscriptions end. */
  remove(name: string): boolean {
    const queue = this.queues.get(name);
    if (queue === undefined) return false;
    this.subscriptions.queueDeleted(name);
    const parked = this.queues.unpark((waiter) => waiter.group.queue === queue);
    this.queues.forget(queue);
    this.queues.repark(parked);
    return true;
  }

  /**
   * Puts parked pops back that had been taken out of the line while other owners were asked for them. A queue that was
   * deleted meanwhile has left them without a line: they start a new one.
   */
  resume(waiters: readonly Waiter[]): void {
    for (const waiter of waiters) if (waiter.cancelled) waiter.group.parking.answer(waiter, new Batch(0));
    const waiting = waiters.filter((waiter) => !waiter.cancelled);
    const group = waiting[0]?.group;
    if (group === undefined) return;
    if (this.queues.get(group.queue.name)?.groups.get(group.name) === group) {
      group.parking.reattach(waiting);
      return;
    }
    for (const waiter of waiting) group.parking.unpark(waiter);
    this.queues.repark(waiting);
  }

  /** What has to be written for a restart to find everything; the caller writes the messages first. */
  get ledger(): Ledger {
    return this.#context.ledger;
  }

  /**
   * Whether nobody holds anything, or waits for it until some time: without a request, nothing happens before the next
   * deadline. Subscriptions outlive an owner's sleep.
   */
  get isQuiet(): boolean {
    return this.#context.leases === 0 && this.#context.unsettled === 0 && this.parkedPops === 0;
  }

  /** Whether there is anything that a restart would have to bring back. */
  get keepsAnything(): boolean {
    for (const queue of this.queues.values()) if (queue.isKept) return true;
    return false;
  }

  /** The keys of pushes that a restart has to bring back. */
  get recentKeys(): KeysState[] {
    return this.#context.keys.states();
  }

  snapshot(): Snapshot {
    return { ...takeSnapshot(this.queues.values(), this.#context.nextSeq), keys: this.recentKeys };
  }

  /** Takes up what an earlier life wrote; see {@link HandOver.restore}. */
  restore(
    snapshot: Snapshot,
    parts: (queue: string, partition: string) => StoredPart[],
    restored: Restored,
    now: number,
  ): void {
    this.#handOver.restore(snapshot, parts, restored, now);
  }

  /** Takes over a partition from another owner; see {@link HandOver.adopt}. */
  adopt(queue: string, ring: RingExport): void {
    this.#handOver.adopt(queue, ring);
  }

  /** Forgets a partition that another owner has taken over. */
  surrender(queue: string, partition: string): void {
    this.#handOver.surrender(queue, partition);
  }
}

function groupLimit(queue: Queue | undefined, group: string): Refusal | null {
  if (queue === undefined || queue.groups.size < MAX_GROUPS || queue.groups.has(group)) return null;
  return refuse(
    "too_many_groups",
    `queue ${JSON.stringify(queue.name)} has ${MAX_GROUPS} groups, the most it may have`,
  );
}

export function noResponders(queue: string): Refusal {
  return refuse(
    "no_responders",
    `nobody waits on queue ${JSON.stringify(queue)}, or has popped it within the last ${LISTENING_MS / 1000} s`,
  );
}
