import { exportRing, joined, renumber, type RingExport } from "./adopt.ts";
import type { EngineContext } from "./context.ts";
import type { Queue } from "./queue.ts";
import type { Queues } from "./queues.ts";
import { restoreQueue, restoreRing, type Restored, type StoredMessage } from "./restore.ts";
import type { Ring } from "./ring.ts";
import { isHeld, type QueueState, type Snapshot } from "./snapshot.ts";
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
    { queues, rings, nextSeq }: Snapshot,
    messages: (queue: string, partition: string) => Iterable<StoredMessage>,
    restored: Restored,
    now: number,
  ): void {
    this.#context.now = now;
    this.#context.nextSeq = nextSeq;
    const states = new Map(queues.map((state) => [clientName(state.queue), state]));
    for (const state of queues) if (!isInTransit(state.queue)) this.#restoreQueue(state.queue, state, restored);
    const twice: { ring: Ring; older: RingExport }[] = [];
    for (const state of rings.toSorted((a, b) => Number(isInTransit(a.queue)) - Number(isInTransit(b.queue)))) {
      const { partition } = state;
      const queue = clientName(state.queue);
      const key = this.#isHere(state.queue, partition) ? queue : inTransit(queue);
      const known = states.get(queue);
      if (known === undefined) continue;
      const held = this.#queues.get(key) ?? this.#restoreQueue(key, known, restored);
      const stored = messages(queue, partition);
      const wasHeld = isHeld(state);
      const ring = held.rings.get(partition);
      if (ring === undefined) restoreRing(held, state, stored, restored);
      else twice.push({ ring, older: { state, messages: [...stored].filter(({ seq }) => wasHeld(seq)) } });
    }
    this.#context.ledger.settle();
    // A partition that came back before it had left: its parts are joined, and written anew.
    for (const { ring, older } of twice) this.#join(ring, older);
  }

  #restoreQueue(key: string, state: QueueState, restored: Restored): Queue {
    const queue = restoreQueue(this.#context, { ...state, queue: key }, this.#queues.isHome(key), restored);
    this.#queues.set(key, queue);
    return queue;
  }

  /** Takes over a partition from another owner. The queue must be known here. */
  adopt(queueName: string, older: RingExport): void {
    this.#context.counters.adopted++;
    const queue = this.#queues.get(queueName) ?? this.#queues.create(queueName);
    for (const { group } of older.state.cursors) queue.addGroup(group);
    const ring = queue.rings.get(older.state.partition);
    if (ring === undefined) this.#rebuild(queue, renumber(older, this.#context.nextSeq));
    else this.#join(ring, older);
    for (const group of queue.groups.values()) {
      const cursor = queue.rings.get(older.state.partition)?.cursors.get(group.name);
      if (cursor !== undefined) group.messagesCame(cursor);
    }
  }

  /** Puts an older part of a partition in front of what is here; deliveries that are out come again. */
  #join(ring: Ring, older: RingExport): void {
    const { queue } = ring;
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
    const ring = restoreRing(queue, { ...state, tail }, stored, { timesAreExact: true });
    // Groups of the queue that neither part knew start at the oldest message, as on any partition that is new to them.
    for (const group of queue.groups.values()) if (!ring.cursors.has(group.name)) ring.admit(group);
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
