import type { Env } from "../config.ts";
import { deliver } from "../delivery/deliver.ts";
import type { Delivery, Flight } from "../durable/cursor.ts";
import type { Partition } from "../durable/partition.ts";
import type { Verdict } from "../durable/push.ts";

/** A batch that was taken whole, with nothing to follow it, is put down together with the next write, or after so long. */
const TOGETHER_MS = 5;

/**
 * A drain pauses for a moment this often. Into a Worker of the same process it would otherwise keep the loop of `workerd`
 * from ever reading a socket, for as long as there is a backlog.
 */
const PAUSE_EVERY_MS = 20;

/** A batch that has come back. */
interface Landed {
  flight: Flight;
  verdict: Verdict;
  /** Delays of retries count from here. */
  at: number;
}

/** Takes batches to their consumers, and keeps what has become of them until it is put down in a turn. */
export class Deliveries {
  readonly #env: Env;
  readonly #turn: () => void;
  /** A crash now has these delivered again. */
  #landed: Landed[] = [];
  #pausedAt = 0;
  /** Grows when everything on its way is forgotten. */
  #era = 0;

  /** `turn` = there is something to put down. */
  constructor(env: Env, turn: () => void) {
    this.#env = env;
    this.#turn = turn;
  }

  /** Part of every turn: what has come back since the last one counts from now on. */
  putDown(partition: Partition): void {
    for (const { flight, verdict, at } of this.#landed.splice(0)) partition.finish(flight, verdict, at);
  }

  /** The queue was deleted: nobody asks any more what becomes of its batches. */
  forget(): void {
    this.#landed = [];
    this.#era++;
  }

  /** Hands a batch over. Never rejects. */
  async send(partition: Partition, { flight, messages }: Delivery): Promise<void> {
    const era = this.#era;
    const { push } = flight.cursor;
    const batch = { queue: partition.config.name, metrics: partition.backlog(), messages };
    const verdict: Verdict =
      push === null
        ? { kind: "unreachable", reason: "the consumer was removed" }
        : await deliver(push, this.#env, batch);
    if (this.#era !== era) return;
    const at = Date.now();
    this.#landed.push({ flight, verdict, at });
    // A flush of the disk holds up whoever sends next; what he writes can go with this.
    if (isTaken(verdict) && !partition.hasReady(flight.cursor, at)) {
      setTimeout(() => this.#landed.length > 0 && this.#turn(), TOGETHER_MS);
      return;
    }
    if (at - this.#pausedAt >= PAUSE_EVERY_MS) {
      this.#pausedAt = at;
      await scheduler.wait(0);
    }
    this.#turn();
  }
}

/** Whether a consumer has taken every message of its batch. */
function isTaken(verdict: Verdict): boolean {
  return verdict.kind === "done" && verdict.decisions.every(({ kind }) => kind === "ack");
}
