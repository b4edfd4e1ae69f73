import { refuse, type Refusal } from "../contract/errors.ts";
import { COST, type EngineContext } from "./context.ts";
import type { Queue } from "./queue.ts";

/** How many queues one reclaim looks at: the cost of a full house is bounded per request. */
const LOOKS = 256;
/** An inbox that was used this recently is left alone by a reclaim. */
const QUIET_MS = 5000;

/** Whether memory allows what a request would create. */
export class Room {
  readonly #context: EngineContext;
  readonly #queues: Map<string, Queue>;
  readonly #hasRoom: (bytes: number) => boolean;
  /** Goes round all queues, a few at each reclaim. */
  #hand: Iterator<Queue>;

  constructor(context: EngineContext, queues: Map<string, Queue>, hasRoom: (bytes: number) => boolean) {
    this.#context = context;
    this.#queues = queues;
    this.#hasRoom = hasRoom;
    this.#hand = queues.values();
  }

  /** Makes sure that there is memory for `extra` bytes and for what would have to be created. */
  reserve(name: string, partition: string | null, group: string | null, extra: number): Refusal | null {
    const queue = this.#queues.get(name);
    const need = extra + (queue === undefined ? costOfNew(partition, group) : queue.costOf(partition, group));
    if (need <= 0 || this.#hasRoom(need)) return null;
    this.#reclaim(name);
    if (this.#hasRoom(need)) return null;
    return refuse(
      "ephemeral_unavailable",
      "this broker holds as many ephemeral messages as it may (EPHEMERAL_MAX_BYTES); consume some, or try again later",
    );
  }

  /** Forgets spent inboxes before their time, so that a burst of them is not turned away while they hold nothing. */
  #reclaim(spare: string): void {
    for (let looks = 0; looks < LOOKS; looks++) {
      const { value: queue, done } = this.#hand.next();
      if (done) {
        this.#hand = this.#queues.values();
        return;
      }
      const isQuiet = this.#context.now - queue.touchedAt >= QUIET_MS;
      if (isQuiet && queue.isIdle && queue.name !== spare) this.#context.collect(queue);
    }
  }
}

function costOfNew(partition: string | null, group: string | null): number {
  const cursor = partition === null || group === null ? 0 : COST.cursor;
  return COST.queue + (partition === null ? 0 : COST.ring) + (group === null ? 0 : COST.group) + cursor;
}
