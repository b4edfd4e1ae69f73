/**
 * A second opinion on the engine: one owner, home of all its queues, written from the contract's text with plain arrays
 * and full scans. Where the contract leaves a choice (which partition a pop of any partition takes from, which of two
 * idle partitions stays as the only one) the model checks that the engine's choice is legal, and adopts it.
 */
import type { DeclaredOptions, EngineSettings, QueueOptions } from "../../src/contract/options.ts";
import { COST, type DropCause } from "../../src/engine/context.ts";
import type { Ack, Outcome, PopRequest, PushOptions } from "../../src/engine/engine.ts";

/** One delivered message, with the exact text that it had in the answer. */
export interface Item {
  id: string;
  partition: string;
  attempts: number;
  text: string;
}

/** What the engine did in the same step, for the model to check and to adopt. */
export interface Choices {
  /** What the pop itself answered. */
  direct: Item[] | null;
  /** Parked pops that ended, by their ids; the model takes out what it agrees with. */
  answers: Map<string, Item[]>;
  hasPartition: (queue: string, partition: string) => boolean;
  /** Cursors that were dropped for idleness, in order: which of two that became idle together goes last is a choice. */
  idle: readonly string[];
}

export function readerKey(queue: string, partition: string, group: string): string {
  return JSON.stringify([queue, partition, group]);
}

interface Held {
  order: number;
  payload: string;
  bytes: number;
  width: number;
  pushedAt: number;
  /** Learnt at the first delivery. */
  id: string | null;
}

interface Delivered {
  message: Held;
  attempts: number;
  state: "leased" | "expired" | "returned";
  leasedUntil: number;
}

/** One group in one partition. */
interface Reader {
  fresh: Held[];
  delivered: Delivered[];
  lastPopAt: number;
}

interface Partition {
  name: string;
  held: Held[];
  readers: Map<string, Reader>;
  touchedAt: number;
}

interface Group {
  name: string;
  /** The last pop of any partition, which counts for each of them. */
  lastPopAt: number;
  /** The last sign of it in a partition that it has left since, which counts for its name alone. */
  lastSeenAt: number;
  skipped: number;
}

export interface ModelQueue {
  name: string;
  declared: boolean;
  options: QueueOptions;
  partitions: Map<string, Partition>;
  groups: Map<string, Group>;
  drops: Record<DropCause, number>;
  touchedAt: number;
}

interface Parked {
  id: string;
  queue: string;
  group: string;
  partition: string | null;
  batch: number;
  autoAck: boolean;
  timeoutAt: number;
  /** Since when it has had something in hand. */
  windowSince: number | null;
}

interface Happening {
  at: number;
  rank: number;
  run: () => void;
}

/** Things that happen at one instant go in this order: see `RANK` in the engine. */
const [AGE, LEASE, POP, READER, GROUP, QUEUE] = [0, 1, 2, 3, 4, 5];

export class Model {
  now = 0;
  readonly queues = new Map<string, ModelQueue>();
  /** In the order of arrival. */
  parked: Parked[] = [];
  /** Of the pushes of the last minute. */
  keys: { queue: string; partition: string; key: string; pushed: number; at: number }[] = [];
  /** Pops of the last seconds, and the ends of parked ones; a deleted queue takes them along. */
  #pops: { queue: string; partition: string | null; at: number }[] = [];
  readonly counters = {
    pushed: 0,
    popped: 0,
    acked: 0,
    redelivered: 0,
    dropped: { bounds: 0, ttl: 0, retry: 0 },
    adopted: 0,
    groupIdleOwed: 0,
  };
  #choices: Choices = { direct: null, answers: new Map(), hasPartition: () => true, idle: [] };
  #order = 0;
  readonly #ids = new Set<string>();

  constructor(
    readonly settings: EngineSettings,
    readonly incarnation: string,
  ) {}

  adopt(choices: Choices): void {
    this.#choices = choices;
  }

  // What a caller can do.

  push(name: string, partitionName: string, payloads: string[], { key, requireResponders }: PushOptions): string {
    const before = this.keys.find(
      (known) => known.queue === name && known.partition === partitionName && known.key === key,
    );
    if (before !== undefined) return `pushed ${before.pushed}`;
    if (requireResponders && !this.isListenedTo(name, partitionName)) return "no_responders";
    if (payloads.length === 0) return "pushed 0";
    const known = this.queues.get(name);
    const { maxLength, maxBytes, policy } = known?.options ?? this.#effective(null);
    const incoming = payloads.map((payload) => this.#message(payload));
    let rest = known === undefined ? [] : heldIn(known);
    const fits = () => rest.length + incoming.length <= maxLength && bytesOf(rest) + bytesOf(incoming) <= maxBytes;
    const oldest = [...(known?.partitions.get(partitionName)?.held ?? [])];
    const evicted: Held[] = [];
    while (!fits()) {
      const victim = oldest.shift();
      if (policy === "reject" || victim === undefined) return "queue_full";
      evicted.push(victim);
      rest = rest.filter((message) => message !== victim);
    }
    const queue = this.#queue(name);
    const partition = this.#partition(queue, partitionName);
    for (const message of evicted) this.#drop(queue, partition, message, "bounds");
    this.#serve();
    for (const message of incoming) {
      partition.held.push(message);
      for (const reader of partition.readers.values()) reader.fresh.push(message);
    }
    if (key !== undefined) {
      this.keys.push({ queue: name, partition: partitionName, key, pushed: incoming.length, at: this.now });
    }
    this.counters.pushed += incoming.length;
    queue.touchedAt = this.now;
    partition.touchedAt = this.now;
    this.#serve();
    return `pushed ${incoming.length}`;
  }

  /** Whether a pop waits for messages of the partition, or has come within 5 s. */
  isListenedTo(name: string, partition: string): boolean {
    const concerns = (it: { queue: string; partition: string | null }) =>
      it.queue === name && (it.partition === null || it.partition === partition);
    return this.parked.some(concerns) || this.#pops.some((pop) => concerns(pop) && this.now - pop.at < 5000);
  }

  pop(request: PopRequest): string {
    const queue = this.#queue(request.queue);
    if (request.partition !== null) this.#partition(queue, request.partition);
    const group = this.#group(queue, request.group);
    const partitions = this.#partitionsOf(queue, request.partition);
    // A cursor that was dropped for idleness comes back like a new group's.
    for (const partition of partitions) this.#admit(partition, group.name);
    this.#used(queue, group.name, request.partition);
    const available = partitions.some((partition) => line(readerOf(partition, group.name)).length > 0);
    if (request.waitMs === 0 || (available && !hasWindow(queue))) {
      this.#take(queue, group.name, partitions, request.batch, request.autoAck, this.#choices.direct);
      this.#serve();
      return "answered";
    }
    if (this.parked.length >= this.settings.maxWaiters) return "ephemeral_unavailable";
    this.parked.push({
      id: request.waiterId,
      queue: queue.name,
      group: group.name,
      partition: request.partition,
      batch: request.batch,
      autoAck: request.autoAck,
      timeoutAt: this.now + request.waitMs,
      windowSince: null,
    });
    this.#serve();
    return "parked";
  }

  ack(name: string, group: string, acks: readonly Ack[]): Outcome[] {
    const outcomes = acks.map((ack) => this.#ackOne(name, group, ack));
    this.#serve();
    return outcomes;
  }

  #ackOne(name: string, groupName: string, ack: Ack): Outcome {
    const incarnation = incarnationOf(ack.id);
    if (incarnation === null) return "unknown";
    if (incarnation !== this.incarnation) return "stale";
    const queue = this.queues.get(name);
    for (const partition of queue?.partitions.values() ?? []) {
      const reader = partition.readers.get(groupName);
      const delivered = reader?.delivered.find(({ message }) => message.id === ack.id);
      if (queue === undefined || reader === undefined || delivered === undefined) continue;
      if (delivered.state === "returned") return "unknown";
      if (ack.attempts !== undefined && ack.attempts !== delivered.attempts) return "unknown";
      if (ack.status !== "completed") {
        return this.#handBack(queue, partition, reader, delivered, "returned") ? "redelivered" : "acked";
      }
      reader.delivered = without(reader.delivered, delivered);
      free(partition);
      this.counters.acked++;
      return "acked";
    }
    return "unknown";
  }

  /** Deliveries that never arrived: they do not count. One that ran out meanwhile is somebody else's by now. */
  release(name: string, group: string, items: readonly { id: string; attempts: number }[]): void {
    for (const partition of this.queues.get(name)?.partitions.values() ?? []) {
      for (const delivered of partition.readers.get(group)?.delivered ?? []) {
        const isMeant = items.some(
          ({ id, attempts }) => id === delivered.message.id && attempts === delivered.attempts,
        );
        if (delivered.state !== "leased" || !isMeant) continue;
        delivered.state = "returned";
        delivered.attempts--;
      }
    }
    this.#serve();
  }

  cancel(id: string): void {
    const waiter = this.parked.find((other) => other.id === id);
    if (waiter === undefined) return;
    const items = this.#end(waiter);
    if (items.length > 0) throw new Error(`cancelled pop ${id} was answered with messages`);
    this.#serve();
  }

  configure(name: string, declared: DeclaredOptions): void {
    const queue = this.#queue(name);
    queue.options = this.#effective(declared);
    queue.declared = true;
    queue.touchedAt = this.now;
    this.#serve();
  }

  reset(name: string): number {
    const queue = this.queues.get(name);
    if (queue === undefined) return 0;
    const dropped = heldIn(queue).length;
    for (const partition of queue.partitions.values()) {
      partition.held = [];
      for (const reader of partition.readers.values()) {
        reader.fresh = [];
        reader.delivered = [];
      }
    }
    queue.touchedAt = this.now;
    this.#serve();
    return dropped;
  }

  /** Takes out the messages at these places of a partition. Nobody has missed them. */
  discard(name: string, partitionName: string, places: readonly number[]): number {
    const queue = this.queues.get(name);
    const partition = queue?.partitions.get(partitionName);
    if (queue === undefined || partition === undefined) return 0;
    const gone = new Set(partition.held.filter((_, place) => places.includes(place)));
    partition.held = partition.held.filter((message) => !gone.has(message));
    for (const reader of partition.readers.values()) {
      reader.fresh = reader.fresh.filter((message) => !gone.has(message));
      reader.delivered = reader.delivered.filter(({ message }) => !gone.has(message));
    }
    this.#serve();
    return gone.size;
  }

  remove(name: string): boolean {
    const existed = this.queues.delete(name);
    this.#pops = this.#pops.filter((pop) => pop.queue !== name);
    this.#park(this.parked.filter((waiter) => waiter.queue === name));
    return existed;
  }

  dropGroup(name: string, groupName: string): boolean {
    const queue = this.queues.get(name);
    if (queue === undefined || !queue.groups.has(groupName)) return false;
    for (const partition of queue.partitions.values()) expel(partition, groupName);
    queue.groups.delete(groupName);
    this.#park(this.parked.filter((waiter) => waiter.queue === name && waiter.group === groupName));
    return true;
  }

  /** Parked pops whose group or queue was taken away go on, in a new one. */
  #park(waiters: Parked[]): void {
    for (const waiter of waiters) {
      const queue = this.#queue(waiter.queue);
      if (waiter.partition !== null) this.#partition(queue, waiter.partition);
      this.#group(queue, waiter.group);
      this.#used(queue, waiter.group, waiter.partition);
      waiter.windowSince = null;
    }
    this.#serve();
  }

  // What happens by itself.

  /** When something happens next. */
  get nextAt(): number {
    return Math.min(...this.#happenings().map(({ at }) => at), Infinity);
  }

  /** Before when nothing can be given up for its age or for idleness, whatever leases and parked pops do. */
  get quietUntil(): number {
    const looks = [...this.queues.values()].flatMap(({ options, partitions, groups }) => {
      const ageMs = options.ttlSeconds === 0 ? Infinity : options.ttlSeconds * 1000;
      const idleMs = options.groupIdleSeconds === 0 ? Infinity : options.groupIdleSeconds * 1000;
      return [...partitions.values()]
        .flatMap(({ held, readers, touchedAt }) => [
          touchedAt + this.settings.implicitIdleMs,
          ...held.map(({ pushedAt }) => pushedAt + ageMs),
          ...[...readers.values()].map(({ lastPopAt }) => lastPopAt + idleMs),
        ])
        .concat([...groups.values()].map(({ lastPopAt }) => lastPopAt + idleMs));
    });
    return Math.min(...looks, Infinity);
  }

  /** Moves the clock; what has become due happens in the order in which it was due. */
  advance(now: number): void {
    this.now = now;
    this.keys = this.keys.filter(({ at }) => now - at < 60_000);
    for (;;) {
      const due = this.#happenings().filter(({ at }) => at <= now);
      const at = Math.min(...due.map((happening) => happening.at));
      const first = due.filter((happening) => happening.at === at).sort((a, b) => a.rank - b.rank)[0];
      if (first === undefined) return;
      // Leases that run out together come back together.
      const together = first.rank === LEASE ? due.filter((other) => other.at === at && other.rank === LEASE) : [first];
      for (const { run } of together) run();
      this.#serve();
    }
  }

  #happenings(): Happening[] {
    const happenings: Happening[] = [];
    const add = (at: number, rank: number | undefined, run: () => void) =>
      happenings.push({ at, rank: rank ?? 0, run });
    for (const queue of this.queues.values()) {
      const idleMs = queue.options.groupIdleSeconds * 1000;
      // Of partitions that have been idle equally long, the one that the engine kept is looked at last.
      const partitions = [...queue.partitions.values()];
      partitions.sort((a, b) => this.#isKept(queue, a) - this.#isKept(queue, b));
      for (const partition of partitions) {
        const [oldest] = partition.held;
        const ageMs = queue.options.ttlSeconds * 1000;
        if (oldest === undefined) {
          add(partition.touchedAt + this.settings.implicitIdleMs, AGE, () => this.#partitionIdle(queue, partition));
        } else if (ageMs > 0) add(oldest.pushedAt + ageMs, AGE, () => this.#age(queue, partition, ageMs));
        const readers = [...partition.readers];
        readers.sort(([a], [b]) => this.#idlePlace(queue, partition, a) - this.#idlePlace(queue, partition, b));
        for (const [name, reader] of readers) {
          const leased = reader.delivered.filter(({ state }) => state === "leased");
          for (const delivered of leased) {
            add(delivered.leasedUntil, LEASE, () => this.#handBack(queue, partition, reader, delivered, "expired"));
          }
          const lastPopAt = Math.max(reader.lastPopAt, queue.groups.get(name)?.lastPopAt ?? 0);
          const isUsed = leased.length > 0 || this.#isParked(queue, name, partition.name);
          if (idleMs > 0 && !isUsed) add(lastPopAt + idleMs, READER, () => this.#readerIdle(partition, name));
        }
      }
      for (const { name, lastPopAt, lastSeenAt } of queue.groups.values()) {
        const isUsed = partitions.some(({ readers }) => readers.has(name)) || this.#isParked(queue, name, null);
        const seenAt = Math.max(lastPopAt, lastSeenAt);
        if (idleMs > 0 && !isUsed) add(seenAt + idleMs, GROUP, () => queue.groups.delete(name));
      }
      const isUsed = heldIn(queue).length > 0 || this.parked.some((waiter) => waiter.queue === queue.name);
      if (!queue.declared && !isUsed) {
        add(queue.touchedAt + this.settings.implicitIdleMs, QUEUE, () => this.queues.delete(queue.name));
      }
    }
    for (const waiter of this.parked) {
      const queue = this.#queue(waiter.queue);
      const { ms } = queue.options.windowBuffer;
      add(waiter.timeoutAt, POP, () => this.#timeOut(queue, waiter));
      if (waiter.windowSince !== null && ms > 0) add(waiter.windowSince + ms, POP, () => {});
    }
    return happenings;
  }

  #isKept(queue: ModelQueue, partition: Partition): number {
    return this.#choices.hasPartition(queue.name, partition.name) ? 1 : 0;
  }

  #idlePlace(queue: ModelQueue, partition: Partition, group: string): number {
    const place = this.#choices.idle.indexOf(readerKey(queue.name, partition.name, group));
    return place < 0 ? this.#choices.idle.length : place;
  }

  /** Whether the group is parked on the partition, by name or on any; `null` = parked on any. */
  #isParked(queue: ModelQueue, group: string, partition: string | null): boolean {
    return this.parked.some(
      (waiter) =>
        waiter.queue === queue.name &&
        waiter.group === group &&
        (waiter.partition === null || waiter.partition === partition),
    );
  }

  #age(queue: ModelQueue, partition: Partition, ageMs: number): void {
    const aged = partition.held.filter(({ pushedAt }) => pushedAt + ageMs <= this.now);
    for (const message of aged) this.#drop(queue, partition, message, "ttl");
  }

  #partitionIdle(queue: ModelQueue, partition: Partition): void {
    const isParkedOn = this.parked.some((it) => it.queue === queue.name && it.partition === partition.name);
    if (isParkedOn || queue.partitions.size === 1) {
      partition.touchedAt = this.now;
      return;
    }
    for (const name of partition.readers.keys()) this.#leave(queue, partition, name);
    queue.partitions.delete(partition.name);
  }

  #readerIdle(partition: Partition, name: string): void {
    const queue = [...this.queues.values()].find(({ partitions }) => partitions.get(partition.name) === partition);
    if (queue === undefined) throw new Error("a partition without a queue");
    this.counters.groupIdleOwed += line(readerOf(partition, name)).length;
    this.#leave(queue, partition, name);
  }

  /** A group leaves a partition: its last pop there goes on counting for its name. */
  #leave(queue: ModelQueue, partition: Partition, name: string): void {
    const group = queue.groups.get(name);
    if (group !== undefined) group.lastSeenAt = Math.max(group.lastSeenAt, readerOf(partition, name).lastPopAt);
    expel(partition, name);
  }

  #timeOut(queue: ModelQueue, waiter: Parked): void {
    const items = this.#end(waiter);
    const partitions = this.#partitionsOf(queue, waiter.partition);
    this.#take(queue, waiter.group, partitions, waiter.batch, waiter.autoAck, items);
  }

  /** Serves parked pops, first come first served; one that waits for more claims what it has in hand. */
  #serve(): void {
    const claimed = new Set<Reader>();
    for (const waiter of this.parked) {
      const queue = this.#queue(waiter.queue);
      const partitions = this.#partitionsOf(queue, waiter.partition).filter(
        (partition) => !claimed.has(readerOf(partition, waiter.group)),
      );
      const readers = partitions.map((partition) => readerOf(partition, waiter.group));
      const inHand = readers.reduce((sum, reader) => sum + line(reader).length, 0);
      if (inHand === 0) {
        waiter.windowSince = null;
        continue;
      }
      if (hasWindow(queue)) {
        const { ms, count } = queue.options.windowBuffer;
        waiter.windowSince ??= this.now;
        const isFull = inHand >= waiter.batch || (count > 0 && inHand >= count);
        const isOver = (ms > 0 && this.now >= waiter.windowSince + ms) || this.now >= waiter.timeoutAt;
        if (!isFull && !isOver) {
          for (const reader of readers) claimed.add(reader);
          continue;
        }
      }
      this.#take(queue, waiter.group, partitions, waiter.batch, waiter.autoAck, this.#end(waiter));
    }
  }

  /** Ends a parked pop, as the engine must have done. Answers what the engine gave it. */
  #end(waiter: Parked): Item[] {
    const items = this.#choices.answers.get(waiter.id);
    if (items === undefined) throw new Error(`parked pop ${waiter.id} should have been answered`);
    this.#choices.answers.delete(waiter.id);
    this.parked = without(this.parked, waiter);
    this.#used(this.#queue(waiter.queue), waiter.group, waiter.partition);
    return items;
  }

  /** Hands over what the engine did, if that is what each partition had to give next. */
  #take(
    queue: ModelQueue,
    group: string,
    partitions: Partition[],
    batch: number,
    autoAck: boolean,
    items: Item[] | null,
  ): void {
    if (items === null) throw new Error("the pop should have answered at once");
    const available = partitions.reduce((sum, partition) => sum + line(readerOf(partition, group)).length, 0);
    const due = Math.min(batch, available);
    if (items.length !== due) throw new Error(`${group} was handed ${items.length} messages instead of ${due}`);
    for (const item of items) {
      const partition = partitions.find(({ name }) => name === item.partition);
      if (partition === undefined) throw new Error(`${item.id} is not of a partition that was asked for`);
      const reader = readerOf(partition, group);
      const [next] = line(reader);
      if (next === undefined) throw new Error(`${partition.name} has nothing for ${group}, which got ${item.text}`);
      this.#identify(next.message, item, partition.name, next.attempts + 1);
      reader.fresh = without(reader.fresh, next.message);
      reader.delivered = reader.delivered.filter(({ message }) => message !== next.message);
      if (!autoAck) {
        const leasedUntil = this.now + queue.options.leaseSeconds * 1000;
        reader.delivered.push({ message: next.message, attempts: next.attempts + 1, state: "leased", leasedUntil });
      }
      this.counters.popped++;
      free(partition);
    }
  }

  #identify(message: Held, item: Item, partition: string, attempts: number): void {
    if (message.id === null) {
      if (this.#ids.has(item.id)) throw new Error(`id ${item.id} was used before`);
      this.#ids.add(item.id);
      message.id = item.id;
    }
    const head = JSON.stringify({ id: message.id, partition, attempts });
    const text = `${head.slice(0, -1)},"payload":${message.payload}}`;
    if (item.text !== text) throw new Error(`handed ${item.text} instead of ${text}`);
    if (!item.id.startsWith(`e:${this.incarnation}:${partition}:`)) throw new Error(`malformed id ${item.id}`);
  }

  /** A delivery failed: the message goes back, or is given up for this group. */
  #handBack(
    queue: ModelQueue,
    partition: Partition,
    reader: Reader,
    delivered: Delivered,
    state: "expired" | "returned",
  ): boolean {
    if (delivered.attempts >= Math.max(1, queue.options.retryLimit)) {
      reader.delivered = without(reader.delivered, delivered);
      this.#count(queue, "retry");
      free(partition);
      return false;
    }
    delivered.state = state;
    this.counters.redelivered++;
    return true;
  }

  #drop(queue: ModelQueue, partition: Partition, message: Held, cause: DropCause): void {
    partition.held = without(partition.held, message);
    for (const [name, reader] of partition.readers) {
      const group = queue.groups.get(name);
      if (group !== undefined && reader.fresh.includes(message)) group.skipped++;
      reader.fresh = without(reader.fresh, message);
      reader.delivered = reader.delivered.filter((delivered) => delivered.message !== message);
    }
    this.#count(queue, cause);
  }

  #count(queue: ModelQueue, cause: DropCause): void {
    queue.drops[cause]++;
    this.counters.dropped[cause]++;
  }

  /** A pop, or the end of one that was parked: what idleness is judged by. */
  #used(queue: ModelQueue, groupName: string, partitionName: string | null): void {
    const group = this.#group(queue, groupName);
    queue.touchedAt = this.now;
    this.#pops = this.#pops.filter(({ at }) => this.now - at < 5000);
    this.#pops.push({ queue: queue.name, partition: partitionName, at: this.now });
    if (partitionName === null) {
      group.lastPopAt = this.now;
      return;
    }
    const partition = this.#partition(queue, partitionName);
    partition.touchedAt = this.now;
    readerOf(partition, groupName).lastPopAt = this.now;
  }

  // What comes into being when it is named.

  #queue(name: string): ModelQueue {
    let queue = this.queues.get(name);
    if (queue === undefined) {
      queue = {
        name,
        declared: false,
        options: this.#effective(null),
        partitions: new Map(),
        groups: new Map(),
        drops: { bounds: 0, ttl: 0, retry: 0 },
        touchedAt: this.now,
      };
      this.queues.set(name, queue);
    }
    return queue;
  }

  #partition(queue: ModelQueue, name: string): Partition {
    let partition = queue.partitions.get(name);
    if (partition === undefined) {
      partition = { name, held: [], readers: new Map(), touchedAt: this.now };
      queue.partitions.set(name, partition);
      for (const group of queue.groups.keys()) this.#admit(partition, group);
    }
    return partition;
  }

  #group(queue: ModelQueue, name: string): Group {
    let group = queue.groups.get(name);
    if (group === undefined) {
      group = { name, lastPopAt: this.now, lastSeenAt: this.now, skipped: 0 };
      queue.groups.set(name, group);
      for (const partition of queue.partitions.values()) this.#admit(partition, name);
    }
    return group;
  }

  /** A group starts at the oldest message still held. */
  #admit(partition: Partition, group: string): void {
    if (partition.readers.has(group)) return;
    partition.readers.set(group, { fresh: [...partition.held], delivered: [], lastPopAt: this.now });
  }

  #partitionsOf(queue: ModelQueue, name: string | null): Partition[] {
    return [...queue.partitions.values()].filter((partition) => name === null || partition.name === name);
  }

  #message(payload: string): Held {
    const bytes = new TextEncoder().encode(payload).length;
    const isLatin1 = [...payload].every((character) => character <= "\u00ff");
    const width = isLatin1 ? payload.length : 2 * payload.length;
    return { order: this.#order++, payload, bytes, width, pushedAt: this.now, id: null };
  }

  #effective(declared: DeclaredOptions | null): QueueOptions {
    const { queueMaxLength, queueMaxBytes, leaseSeconds, retryLimit, groupIdleSeconds } = this.settings;
    return {
      maxLength: Math.min(declared?.maxLength || queueMaxLength, queueMaxLength),
      maxBytes: Math.min(declared?.maxBytes || queueMaxBytes, queueMaxBytes),
      policy: declared?.policy ?? "reject",
      ttlSeconds: declared?.ttlSeconds ?? 0,
      leaseSeconds: declared?.leaseSeconds || leaseSeconds,
      retryLimit: declared?.retryLimit ?? retryLimit,
      windowBuffer: { ms: declared?.windowBuffer?.ms ?? 0, count: declared?.windowBuffer?.count ?? 0 },
      groupIdleSeconds: declared?.groupIdleSeconds ?? (declared === null ? groupIdleSeconds : 3600),
    };
  }

  /** What everything that exists should weigh. */
  get memoryBytes(): number {
    let bytes = this.parked.length * COST.waiter;
    for (const { key } of this.keys) bytes += COST.key + 2 * key.length;
    for (const queue of this.queues.values()) {
      bytes += COST.queue + queue.groups.size * COST.group + queue.partitions.size * COST.ring;
      for (const { held, readers } of queue.partitions.values()) {
        bytes += readers.size * COST.cursor;
        for (const { width } of held) bytes += width + COST.message;
      }
    }
    return bytes;
  }

  /** Messages that a group could be handed in a partition; everything held where the group is not known. */
  pendingIn(queue: ModelQueue, partitionName: string, group: string): number {
    const partition = this.#partition(queue, partitionName);
    const reader = partition.readers.get(group);
    return reader === undefined ? partition.held.length : line(reader).length;
  }

  pending(queue: ModelQueue, group: string): number {
    let pending = 0;
    for (const { readers } of queue.partitions.values()) {
      const reader = readers.get(group);
      if (reader !== undefined) pending += line(reader).length;
    }
    return pending;
  }
}

/** What a reader would be handed, in order: redeliveries with the lowest first, then what is new. */
function line(reader: Reader): { message: Held; attempts: number }[] {
  const back = reader.delivered.filter(({ state }) => state !== "leased");
  back.sort((a, b) => a.message.order - b.message.order);
  return [...back, ...reader.fresh.map((message) => ({ message, attempts: 0 }))];
}

/** A message goes once every group that there is has settled it; with no group all is kept. */
function free(partition: Partition): void {
  const readers = [...partition.readers.values()];
  if (readers.length === 0) return;
  partition.held = partition.held.filter((message) =>
    readers.some(
      ({ fresh, delivered }) => fresh.includes(message) || delivered.some((other) => other.message === message),
    ),
  );
}

function expel(partition: Partition, group: string): void {
  partition.readers.delete(group);
  free(partition);
}

function readerOf(partition: Partition, group: string): Reader {
  const reader = partition.readers.get(group);
  if (reader === undefined) throw new Error(`${group} has no cursor in ${partition.name}`);
  return reader;
}

export function heldIn(queue: ModelQueue): Held[] {
  return [...queue.partitions.values()].flatMap(({ held }) => held);
}

export function bytesOf(messages: readonly Held[]): number {
  return messages.reduce((sum, { bytes }) => sum + bytes, 0);
}

function hasWindow({ options }: ModelQueue): boolean {
  return options.windowBuffer.ms > 0 || options.windowBuffer.count > 0;
}

function without<T>(items: readonly T[], gone: T): T[] {
  return items.filter((item) => item !== gone);
}

/** The incarnation in an id `e:<incarnation>:<partition>:<seq>`, or null when the text is no id. */
function incarnationOf(id: string): string | null {
  const parts = id.split(":");
  const [kind, incarnation] = parts;
  const seq = parts.at(-1);
  const partition = parts.slice(2, -1).join(":");
  if (parts.length < 4 || kind !== "e" || incarnation === undefined || seq === undefined || partition === "")
    return null;
  if (incarnation === "" || incarnation.length > 16 || [...incarnation].some((c) => !"0123456789abcdef".includes(c)))
    return null;
  return String(Number(seq)) === seq && /^\d+$/.test(seq) ? incarnation : null;
}
