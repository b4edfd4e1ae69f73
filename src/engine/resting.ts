import { COST } from "./context.ts";
import { RANK, type Due } from "./deadlines.ts";
import type { Queue } from "./queue.ts";
import { restoreRing } from "./restore.ts";
import type { Ring } from "./ring.ts";
import { isHeld, type RingState } from "./snapshot.ts";
import { messagesOf, type StoredPart } from "./stored.ts";

/**
 * A partition as an earlier life left it, which nobody has asked for since. It counts like one that is awake, its
 * messages lie as they were read: an owner that starts with a large backlog answers before it has put all of it in order.
 * The first of its deadlines wakes it.
 */
export class RestingRing implements Due {
  dueAt = 0;
  slot = -1;
  readonly rank = RANK.ring;
  readonly queue: Queue;
  readonly state: RingState;
  readonly parts: readonly StoredPart[];
  /** How many messages are held, and how many of each part. */
  length = 0;
  readonly #held: number[] = [];
  bytes = 0;
  #width = 0;
  /** When its oldest message was pushed; `Infinity` = it holds none. */
  oldestAt = Infinity;

  /** Every group of `state` must be known to the queue. */
  constructor(queue: Queue, state: RingState, parts: readonly StoredPart[]) {
    this.queue = queue;
    this.state = state;
    this.parts = parts;
    const wasHeld = isHeld(state);
    for (const part of parts) this.#held.push(this.#tally(part, wasHeld));
    this.#count(1);
    this.#watch();
  }

  #tally({ columns, from, count, isWide }: StoredPart, wasHeld: (seq: number) => boolean): number {
    const { seqs, pushedAt, bytes, lengths } = columns;
    let held = 0;
    for (let i = from; i < from + count; i++) {
      if (!wasHeld(seqs[i] ?? -1)) continue;
      if (this.length + held === 0) this.oldestAt = pushedAt[i] ?? 0;
      held++;
      this.bytes += bytes[i] ?? 0;
      this.#width += (lengths[i] ?? 0) * (isWide ? 2 : 1);
    }
    this.length += held;
    return held;
  }

  /** Counts what is held here, or counts it no more. A group is never without a cursor in between. */
  #count(sign: 1 | -1): void {
    const { queue, length, state } = this;
    const memory = COST.ring + this.#width + COST.message * length;
    queue.held(sign * length, sign * this.bytes, sign * memory);
    queue.stored += sign * length;
    for (const [i, { segment }] of this.parts.entries()) segment.live += sign * (this.#held[i] ?? 0);
    for (const { group } of state.cursors) queue.groups.get(group)?.countCursors(sign);
  }

  /** Arms what would come first if it were awake: the end of the oldest message, or a look at whether a group has gone. */
  #watch(): void {
    const { context, options, groups } = this.queue;
    const { ttlSeconds, groupIdleSeconds } = options;
    let dueAt = ttlSeconds > 0 ? this.oldestAt + ttlSeconds * 1000 : Infinity;
    for (const { group, lastPopAt } of this.state.cursors) {
      if (groupIdleSeconds === 0) break;
      const lastAt = Math.max(lastPopAt, groups.get(group)?.lastPopAt ?? 0);
      dueAt = Math.min(dueAt, lastAt + groupIdleSeconds * 1000);
    }
    if (dueAt < Infinity) context.deadlines.arm(this, dueAt);
  }

  onDue(): void {
    this.queue.rings.get(this.state.partition);
  }

  wake(): Ring {
    this.queue.context.deadlines.disarm(this);
    const ring = restoreRing(this.queue, this.state, messagesOf(this.parts));
    this.#count(-1);
    return ring;
  }
}
