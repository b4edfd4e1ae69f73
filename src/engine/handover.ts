import { LISTENING_MS } from "../contract/limits.ts";
import { exportRing, joined, renumber, type RingExport } from "./adopt.ts";
import type { EngineContext } from "./context.ts";
import type { Queue } from "./queue.ts";
import type { Queues } from "./queues.ts";
import { RestingRing } from "./resting.ts";
import { restoreQueue, restoreRing, takenOver, type Restored } from "./restore.ts";
import type { Ring } from "./ring.ts";
import { isHeld, type QueueState, type RingState, type Snapshot } from "./snapshot.ts";
import { messagesOf, type StoredMessage, type StoredPart } from "./stored.ts";
import { clientName, inTransit, isInTransit } from "./transit.ts";

/** How contents come into an engine otherwise than by a push: from an earlier life, and from another owner. */
export class HandOver {
  readonly #context: EngineContext;
  readonly #queues: Queues;
  readonly #isHere: (queue: string, partition: string) => boolean;

  constructor(context: EngineContext, queues: Queues, isHere: (queue: string, partition: string) => boolean) {
    this.#context = context;
    this.#queues = queues;
    this.#isHere = isHere;
  }

  /**
   * Takes up what an earlier life wrote. Called once, before anything else. Partitions that belong to another owner by
   * now are kept apart, in transit.
   */
  restore(
    { queues, rings, nextSeq, keys = [] }: Snapshot,
    parts: (queue: string, partition: string) => StoredPart[],
    restored: Restored,
    now: number,
  ): void {
    this.#context.now = now;
    this.#context.nextSeq = nextSeq;
    this.#context.keys.restore(keys);
    if (!restored.timesAreExact) this.#context.unsureUntil = now + LISTENING_MS;
    const states = new Map(queues.map((state) => [clientName(state.queue), state]));
    for (const state of queues) if (!isInTransit(state.queue)) this.#restoreQueue(state.queue, state, restored);
    /** What comes of it is to be written, unlike all the rest. */
    const news: (() => void)[] = [];
    for (const state of rings.toSorted((a, b) => Number(isInTransit(a.queue)) - Number(isInTransit(b.queue)))) {
      const { partition } = state;
      const queue = clientName(state.queue);
      const key = this.#isHere(state.queue, partition) ? queue : inTransit(queue);
      const known = states.get(queue);
      if (known === undefined) continue;
      const held = this.#queues.get(key) ?? this.#restoreQueue(key, known, restored);
      const stored = parts(queue, partition);
      // Two parts of a partition are joined: one had come back before the other had left.
      if (held.rings.has(partition)) news.push(() => this.#join(held, { state, messages: heldOf(state, stored) }));
      else this.#rest(held, takenOver(held, state, restored), stored);
      if (key === queue && isInTransit(state.queue)) news.push(() => admitAll(held.rings.get(partition)));
    }
    this.#context.ledger.settle();
    for (const happens of news) happens();
  }

  #rest(queue: Queue, state: RingState, parts: readonly StoredPart[]): void {
    const ring = new RestingRing(queue, state, parts);
    queue.rings.rest(ring);
    // With no message there is nothing to be put off.
    if (ring.length === 0) queue.rings.get(state.partition);
  }

  #restoreQueue(key: string, state: QueueState, restored: Restored): Queue {
    const queue = restoreQueue(this.#context, { ...state, queue: key }, this.#queues.isHome(key), restored);
    this.#queues.set(key, queue);
    return queue;
  }

  /** Takes over a partition from another owner. The queue must be known here. */
  adopt(queueName: string, older: RingExport): void {
    this.#context.counters.adopted++;
    if (older.keys !== undefined) this.#context.keys.restore([{ ...older.keys, queue: queueName }]);
    const queue = this.#queues.get(queueName) ?? this.#queues.create(queueName);
    for (const { group } of older.state.cursors) queue.addGroup(group);
    if (queue.rings.has(older.state.partition)) this.#join(queue, older);
    else this.#rebuild(queue, renumber(older, this.#context.nextSeq));
    for (const group of queue.groups.values()) {
      const cursor = queue.rings.get(older.state.partition)?.cursors.get(group.name);
      if (cursor !== undefined) group.messagesCame(cursor);
    }
  }

  /** Puts an older part of a partition in front of what is here; deliveries that are out come again. */
  #join(queue: Queue, older: RingExport): void {
    const ring = queue.rings.get(older.state.partition);
    if (ring === undefined) return;
    const front = renumber(older, this.#context.nextSeq);
    const newer = renumber(exportRing(ring), this.#context.nextSeq + front.messages.length);
    const parked = this.#queues.unpark((waiter) => waiter.cursor?.ring === ring);
    queue.removeRing(ring);
    this.#rebuild(queue, joined(front, newer));
    this.#queues.repark(parked);
  }

  #rebuild(queue: Queue, { state, messages }: RingExport): void {
    const stored = messages.map((message) => ({ ...message, segment: null }));
    const tail = (messages.at(-1)?.seq ?? -1) + 1;
    admitAll(restoreRing(queue, { ...state, tail }, stored));
    queue.changed();
  }

  /** Forgets a partition that another owner has taken over. */
  surrender(key: string, partition: string): void {
    const queue = this.#queues.get(key);
    const ring = queue?.rings.get(partition);
    if (queue === undefined || ring === undefined) return;
    queue.removeRing(ring);
    if (queue.rings.size === 0 && isInTransit(key)) this.#queues.forget(queue);
  }
}

/** Groups of the queue that a partition did not know where it was start at its oldest message, as on any that is new. */
function admitAll(ring: Ring | undefined): void {
  for (const group of ring?.queue.groups.values() ?? []) if (!ring?.cursors.has(group.name)) ring?.admit(group);
}

function heldOf(state: RingState, parts: readonly StoredPart[]): StoredMessage[] {
  const wasHeld = isHeld(state);
  return Array.from(messagesOf(parts)).filter(({ seq }) => wasHeld(seq));
}
